// Formats of 8 bits. Every number of theirs is one of binary16, and they are reduced in the same
// order (lib/SPEC.md, section 1), so that results are those of the same numbers in f16; which has
// laws of its own.
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <detreduce/accuracy/oracle.hpp>
#include <detreduce/accuracy/second_oracle.hpp>

#include <support/catch.hpp>

#include "laws/suite.hpp"

namespace detreduce::proptests {
namespace {

/// Any bits; numbers alone; small numbers alone; few different ones, with zeros of both signs;
/// numbers of a middle size, and one in eight of the smallest.
template <class T>
std::vector<T> eight_bits(std::size_t n, std::uint64_t seed) {
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t word = accuracy::hash(seed, i);
        const auto bits =
            static_cast<std::uint8_t>(seed % 5 == 4   ? (word >> 8) % 8 == 0 ? word & 0x87 : (word & 0x8f) | 0x50
                                      : seed % 4 == 2 ? word & 0x9f
                                      : seed % 4 == 3 ? word & 0x84
                                                      : word);
        x[i] = T::from_bits(bits);
        if (seed % 4 == 1 && !fp::is_finite(x[i])) x[i] = fp::from_bits<T>(fp::Format<T>::largest);
    }
    return x;
}
/// −0 everywhere but in one place; or ones, with infinities (of e4m3 NaN) of one sign or of both in
/// a few.
template <class T>
std::vector<T> with_specials(std::size_t n, std::uint64_t seed) {
    using F = fp::Format<T>;
    const unsigned which = seed % 5;
    std::vector<T> x(n, which < 2 ? T::from_bits(F::sign) : T(1.0f));
    for (std::size_t i = accuracy::hash(seed, n) % n; i < n; i += n / 3 + 1) {
        const unsigned sign = which == 2 ? 0 : which == 3 ? F::sign : i % 2 * F::sign;
        if (which == 1) x[i] = T(0.0f);
        if (which > 1) x[i] = T::from_bits(static_cast<std::uint8_t>(sign | (F::largest + 1u)));
    }
    return x;
}
template <class T>
std::vector<float16> in_f16(const std::vector<T>& x) {
    std::vector<float16> wide(x.size());
    std::transform(x.begin(), x.end(), wide.begin(), [](T v) { return float16(float(v)); });
    return wide;
}

/// Is what the request gives for x, and y, of T the same in f16, as elements of Out, or as
/// integers?
template <class Out, class T>
bool as_in_f16(const Request& request, const std::vector<T>& x, const std::vector<T>& y,
               const std::vector<std::uint64_t>& offsets, const Draw& draw) {
    const auto x16 = in_f16(x), y16 = in_f16(y);
    const auto same = [&]<class R>(R) {
        const auto got =
            TestBackend::reduce_groups<R>(request, std::span<const T>(x), std::span<const T>(y), offsets, draw);
        const auto expected = TestBackend::reduce_groups<R>(request, std::span<const float16>(x16),
                                                            std::span<const float16>(y16), offsets, draw);
        return std::equal(got.begin(), got.end(), expected.begin(), expected.end(), [](R a, R b) {
            if constexpr (std::is_same_v<R, std::uint64_t>) {
                return a == b;
            } else {
                return same_bits(a, b);
            }
        });
    };
    return info(request.op).gives_integer ? same(std::uint64_t{}) : same(Out{});
}

bool is_offered(Request request, const Launch& launch = {}) {
    request.launch = launch;
    request.dtype = DType::f8e4m3;
    request.device = {TestBackend::kind, -1};
    return make_plan(request).status().ok();
}

constexpr const char* not_here = "this backend has no float8";

template <class T, class Check>
void for_ops(std::uint64_t n, std::uint64_t seed, Request request, const Check& check) {
    request.n = n;
    for (const OpInfo& op : ops()) {
        for (const Method method : offered(true)) {
            request.op = op.op;
            request.method = method;
            request.nan = op.kind == Kind::order && seed % 2 ? NanPolicy::ignore : NanPolicy::propagate;
            request.ddof = op.kind == Kind::moments && n > 1 ? seed % 2 : 0;
            if (!is_offered(request)) continue;
            INFO(name(op.op) << ' ' << name(method) << ' ' << name(request.shape) << " n " << n << " seed " << seed);
            Draw draw = draw_from(method, accuracy::hash(seed, static_cast<std::uint64_t>(op.op)));
            if (!is_offered(request, draw.launch)) draw.launch = {}; // as it is for flat sums
            REQUIRE(check(request, draw));
        }
    }
}

} // namespace

TEMPLATE_TEST_CASE("8 bits: arrays have the bits of the same numbers in f16", "[laws][8]", float8_e4m3, float8_e5m2) {
    using T = TestType;
    if (!is_offered({.n = 1})) return skipped(not_here);
    std::uint64_t seed = 0;
    for (const std::size_t n : {0, 1, 2, 7, 64, 255, 256, 257, 2047, 2049, 5000, 16384, 16385, 70001}) {
        for (int repeat = 0; repeat < 4; ++repeat) {
            const auto x = eight_bits<T>(n, ++seed), y = eight_bits<T>(n, seed + 4000);
            for_ops<T>(n, seed, {}, [&](const Request& r, const Draw& draw) {
                return as_in_f16<float>(r, x, y, {}, draw) &&
                       (r.method == Method::exact || info(r.op).kind == Kind::order
                            ? as_in_f16<T>(r, x, y, {}, draw) && as_in_f16<double>(r, x, y, {}, draw)
                            : true);
            });
        }
    }
}

TEMPLATE_TEST_CASE("8 bits: rows, columns and segments have the bits of the same numbers in f16", "[laws][8][groups]",
                   float8_e4m3, float8_e5m2) {
    using T = TestType;
    if (!is_offered({.n = 1})) return skipped(not_here);
    std::uint64_t seed = 0;
    for (const std::uint64_t n : {0u, 1u, 33u, 300u, 2500u}) {
        for (const std::uint64_t groups : {1u, 19u}) {
            for (const std::uint64_t gap : {0u, 3u}) {
                const std::uint64_t extent = (n + gap) * (groups + gap);
                const auto x = eight_bits<T>(extent, ++seed), y = eight_bits<T>(extent, seed + 400);
                const auto check = [&](const Request& r, const Draw& draw) {
                    return as_in_f16<float>(r, x, y, {}, draw);
                };
                if (n * groups < 10000) {
                    for_ops<T>(n, seed, {.shape = Shape::rows, .groups = groups, .stride = n + gap}, check);
                    for_ops<T>(n, seed, {.shape = Shape::columns, .groups = groups, .stride = groups + gap}, check);
                }
                const std::vector<std::uint64_t> offsets{0, n / 3, n / 3, n - n / 4, n};
                for_ops<T>(n, seed, {.shape = Shape::segments, .groups = 4}, [&](const Request& r, const Draw& draw) {
                    return as_in_f16<float>(r, x, y, offsets, draw);
                });
            }
        }
    }
}

TEMPLATE_TEST_CASE("8 bits: the bits are those of the naive evaluation of SPEC.md", "[laws][8]", float8_e4m3,
                   float8_e5m2) {
    using T = TestType;
    if (!is_offered({.n = 1})) return skipped(not_here);
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const auto x = eight_bits<T>(accuracy::hash(seed, 1) % (seed % 3 == 0 ? 40000 : 600), seed);
        const std::span<const T> all(x);
        for (const Method method : offered(true)) {
            INFO(name(method) << " n " << x.size() << " seed " << seed);
            const Draw draw = draw_from(method, seed);
            REQUIRE(same_bits(TestBackend::reduce<T>(all, method, draw), reference::sum<T>(all, method)));
            REQUIRE(same_bits(TestBackend::reduce<float>(all, method, draw), reference::sum<float>(all, method)));
            REQUIRE(same_bits(TestBackend::reduce<float16>(all, method, draw), reference::sum<float16>(all, method)));
        }
    }
}

/// Rows of which a warp has several, wherever they begin; long rows and arrays, which are cut into
/// parts.
TEMPLATE_TEST_CASE("8 bits: many rows and long arrays have the bits of the same numbers in f16", "[laws][8][sanitizer]",
                   float8_e4m3, float8_e5m2) {
    using T = TestType;
    if (!is_offered({.n = 1})) return skipped(not_here);
    std::uint64_t seed = 0;
    for (const auto& [n, groups, gap] :
         {std::array<std::uint64_t, 3>{257, 300, 1}, {4096, 60, 0}, {400'003, 1, 0}, {70'001, 3, 6}}) {
        for (int repeat = 0; repeat < 10; ++repeat) {
            const std::uint64_t extent = (n + gap) * groups;
            const auto x = ++seed % 10 < 5 ? eight_bits<T>(extent, seed) : with_specials<T>(extent, seed);
            const Request r{.shape = groups == 1 ? Shape::flat : Shape::rows,
                            .n = n,
                            .groups = groups,
                            .stride = groups == 1 ? 0 : n + gap};
            Draw draw;
            draw.offset = static_cast<unsigned>(3 * repeat);
            if (TestBackend::kind == Backend::cuda) draw.launch.grid = static_cast<std::uint32_t>(repeat % 3);
            for (const Op op : {Op::sum, Op::mean, Op::asum, Op::sumsq, Op::nrm2, Op::max, Op::minmax, Op::nrminf}) {
                Request one = r;
                one.op = op;
                one.nan = seed % 2 != 0 && info(op).kind == Kind::order ? NanPolicy::ignore : NanPolicy::propagate;
                INFO(name(op) << " n " << n << " seed " << seed);
                REQUIRE(as_in_f16<double>(one, x, x, {}, draw));
            }
        }
    }
}

/// Sums near a multiple of half a unit in the last place, and those near the ends of the format.
TEMPLATE_TEST_CASE("8 bits: an exact sum is rounded once, as two oracles say", "[laws][8]", float8_e4m3, float8_e5m2) {
    using T = TestType;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        const std::uint64_t word = accuracy::hash(seed, 0);
        const T start = T::from_bits(static_cast<std::uint8_t>(word & 0x7f));
        if (!fp::is_finite(start)) continue;
        const T next = T::from_bits(static_cast<std::uint8_t>(start.bits - (start.bits > 0 ? 1 : 0)));
        const double step = double(start) - double(next), beside = word >> 8 & 1 ? step * 0x1p-40 : 0;
        const double sign = word >> 9 & 1 ? -1 : 1;
        const std::vector<double> x{sign * double(start), sign * step / 2, sign * (word >> 10 & 1 ? beside : -beside)};
        const std::span<const double> all(x);
        const T expected = accuracy::exact_sum(all).template round<T>();
        accuracy::MpfrSum second;
        second.add(all);
        REQUIRE(same_bits(second.template round<T>(), expected));
        REQUIRE(same_bits(TestBackend::reduce<T>(all, Method::exact), expected));
    }
}

TEMPLATE_TEST_CASE("8 bits: what is beyond the format is infinite, or NaN where there is no infinity", "[laws][8]",
                   float8_e4m3, float8_e5m2) {
    using T = TestType;
    if (!is_offered({.n = 1})) return skipped(not_here);
    const T last = fp::from_bits<T>(fp::Format<T>::largest);
    for (const Method method : offered(true)) {
        for (const T x : {last, fp::negated(last)}) {
            const std::vector<T> two{x, x};
            REQUIRE(
                same_bits(TestBackend::reduce<T>(std::span<const T>(two), method), fp::beyond<T>(fp::is_negative(x))));
            const std::vector<T> none{x, fp::negated(x)};
            REQUIRE(same_bits(TestBackend::reduce<T>(std::span<const T>(none), method), T(0.0f)));
        }
    }
}

TEMPLATE_TEST_CASE("8 bits: states are those of the same numbers in f16", "[laws][8]", float8_e4m3, float8_e5m2) {
    using T = TestType;
    if (TestBackend::kind == Backend::cuda) {
        ExactState state;
        const T x(1.0f);
        const Status refused = cuda::add(&state, dtype_of<T>, &x, 1);
        REQUIRE(refused.code == StatusCode::unsupported);
        return;
    }
    for (const std::size_t n : {0, 1, 100, 5000, 20001}) {
        const auto x = eight_bits<T>(n, n);
        const auto x16 = in_f16(x);
        ExactState a, b;
        TestBackend::add(a, std::span<const T>(x));
        TestBackend::add(b, std::span<const float16>(x16));
        REQUIRE(std::equal(a.words().begin(), a.words().end(), b.words().begin()));
        REQUIRE(same_bits(TestBackend::round<T>(a), b.round<T>()));
    }
}

} // namespace detreduce::proptests
