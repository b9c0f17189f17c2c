// Laws of clip_grad_norm, on every backend. Included once a backend, after `ClipBackend` has been
// defined:
//     static constexpr Device device;
//     static void run(const ClipPlan&, Image&, void* norm, const State&)    by clip_by_state(), if the state is not empty;
//                                                              throws Error, or std::runtime_error for stray writes
//     static Launch launch(word)
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/accuracy/term_oracle.hpp>

#include <support/property.hpp>
#include <support/vectors.hpp>

#include "laws/any_vector.hpp"
#include "laws/clip_image.hpp"
#include "laws/expect_status.hpp"

namespace detreduce::proptests {

using AnyList = std::vector<AnyVector>;

/// A finite number other than zero as integer · 2^exponent.
struct Whole {
    accuracy::cpp_int integer;
    int exponent;
    Whole(double x, int bits) : exponent(0) {
        const double fraction = std::frexp(x, &exponent);
        exponent -= bits;
        integer = static_cast<std::int64_t>(std::nearbyint(std::ldexp(fraction, bits))); // ties to even
    }
};

/// What SPEC.md says becomes of x.
template <class T>
T naively_clipped(T x, double c) {
    const double value = fp::widen(x);
    if (!fp::is_finite(c) || !fp::is_finite(value) || c == 0) return fp::round_to<T>(value * c);
    if (value == 0) return x;
    const Whole a(value, 53), b(c, std::is_same_v<T, double> ? 53 : 24);
    return accuracy::round_scaled<T>(a.integer * b.integer, a.exponent + b.exponent);
}

struct Clipped {
    AnyList list;
    double norm;
    float norm32;
};

/// By c, whatever the norm is.
inline AnyList naively_clipped(AnyList list, double c) {
    for (AnyVector& t : list) {
        with_dtype_from_16_bits(t.dtype, [&]<class T>(T) {
            std::vector<T> x = t.as<T>();
            for (T& v : x)
                v = naively_clipped(v, c);
            t = AnyVector::of(x);
        });
    }
    return list;
}
inline Clipped naively_clipped(const AnyList& list, double max_norm, double epsilon) {
    accuracy::TermOracle sum(Transform::square);
    for (const AnyVector& t : list)
        with_dtype_from_16_bits(t.dtype,
                                [&]<class T>(T) { sum.add(std::span<const T>(t.as<T>()), std::span<const T>()); });
    const double norm = sum.round<double>(Finalize::root), c = max_norm / (norm + epsilon);
    const bool stays = c >= 1 || norm + epsilon == 0;
    return {stays ? list : naively_clipped(list, c), norm, sum.round<float>(Finalize::root)};
}

inline Clipped clipped(const AnyList& list, ClipRequest r, std::uint64_t word = 0, const State& state = {}) {
    Image image(list, word);
    r.n = image.elements();
    r.tensors = list.size();
    r.device = ClipBackend::device;
    r.launch = ClipBackend::launch(word);
    const ClipPlan plan = throwing::make_clip_plan(r);
    Clipped result{{}, 0, 0};
    ClipBackend::run(plan, image, r.norm == DType::f64 ? static_cast<void*>(&result.norm) : &result.norm32, state);
    result.list = image.tensors();
    return result;
}

inline AnyVector any_from(std::uint64_t word, const Style style, std::size_t n) {
    return with_dtype_from_16_bits(dtypes()[word % 4], [&]<class T>(T) {
        const Scope scope = word >> 8 & 31 ? finite_bits<T> : any_bits<T>; // whatever is not finite decides all
        return AnyVector::of(vector_from<T>(style, n, word, scope));
    });
}

/// Few tensors or many, of any dtypes, some empty; with f64 among them the norm is mostly theirs.
inline AnyList list_from(std::uint64_t word) {
    AnyList list(accuracy::hash(word, 1) % 13);
    const auto style = static_cast<Style>(accuracy::hash(word, 2) % styles);
    const std::uint64_t kinds = word % 3; // all, not f64, one
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::uint64_t draw = accuracy::hash(word, 10 + i), kind = kinds == 0   ? draw % 4
                                                                        : kinds == 1 ? draw % 3
                                                                                     : accuracy::hash(word, 3) % 4;
        list[i] = any_from(draw / 4 * 4 + kind, style, draw >> 40 & 7 ? (draw >> 20) % 300 : (draw >> 20) % 2 * 70001);
    }
    return list;
}

/// Limits about the norm, far below it, anywhere, and none.
inline double limit_from(double norm, std::uint64_t word) {
    const double unit = static_cast<double>(word >> 11) * 0x1p-53;
    const std::array<double, 8> limits{unit * norm,
                                       std::nextafter(norm, 0),
                                       norm,
                                       unit * norm * 0x1p-130, // c is no float
                                       unit * norm * 0x1p-1000,
                                       std::fabs(number_from<double>(word, finite_bits<double>)),
                                       0,
                                       1};
    const double limit = limits[word % limits.size()];
    return fp::is_finite(limit) ? limit : 1;
}

inline ClipRequest clip_from(const AnyList& list, std::uint64_t word) {
    const double norm = naively_clipped(list, 0, 1).norm;
    return {.max_norm = limit_from(norm, accuracy::hash(word, 5)),
            .epsilon = word >> 7 & 1 ? 0 : 1e-6,
            .norm = word >> 8 & 1 ? DType::f64 : DType::f32};
}

TEST_CASE("clip: the norm and every element are what SPEC.md says", "[clip][sanitizer]") {
    property("clip", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const AnyList list = list_from(word);
        const ClipRequest r = clip_from(list, word);
        const Clipped expected = naively_clipped(list, r.max_norm, r.epsilon), result = clipped(list, r, word);
        RC_LOG("max_norm " + hexadecimal(r.max_norm) + " norm " + hexadecimal(expected.norm));
        if (r.norm == DType::f64) RC_ASSERT(fp::to_bits(result.norm) == fp::to_bits(expected.norm));
        if (r.norm == DType::f32) RC_ASSERT(fp::to_bits(result.norm32) == fp::to_bits(expected.norm32));
        RC_ASSERT(result.list == expected.list);
    });
}

/// All elements of each dtype, one tensor behind the other.
inline AnyList joined(const AnyList& list) {
    AnyList all;
    for (const DType dtype : dtypes()) {
        all.push_back({dtype, {}});
        for (const AnyVector& t : list) {
            if (t.dtype == dtype) all.back().bytes.insert(all.back().bytes.end(), t.bytes.begin(), t.bytes.end());
        }
    }
    return all;
}

/// Where a piece of what joined() gives is.
struct Piece {
    std::size_t array, first, bytes;
};
inline std::vector<Piece> pieces_from(const AnyList& all, std::uint64_t word) {
    std::vector<Piece> pieces;
    for (std::size_t a = 0; a < all.size(); ++a) {
        const std::size_t n = all[a].n(), size = size_of(all[a].dtype);
        for (std::size_t first = 0; first < n;) {
            const std::size_t m = std::min(n - first, 1 + accuracy::hash(word, first) % (n / 2 + 1));
            if (m % 8 == 1) pieces.push_back({a, first * size, 0});
            pieces.push_back({a, first * size, m * size});
            first += m;
        }
    }
    for (std::size_t i = pieces.size(); i > 1; --i)
        std::swap(pieces[i - 1], pieces[accuracy::hash(word, 1000 + i) % i]);
    return pieces;
}

TEST_CASE("clip: how elements are dealt out to tensors, and in which order, means nothing", "[clip]") {
    property("regrouped", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const AnyList list = list_from(word), all = joined(list);
        const ClipRequest r = clip_from(list, word);
        const auto pieces = pieces_from(all, word);
        AnyList cut;
        for (const Piece& p : pieces) {
            const auto from = all[p.array].bytes.begin() + static_cast<std::ptrdiff_t>(p.first);
            cut.push_back({all[p.array].dtype, {from, from + static_cast<std::ptrdiff_t>(p.bytes)}});
        }
        const Clipped once = clipped(list, r, word), again = clipped(cut, r, word + 1);
        AnyList put_back = all;
        for (std::size_t i = 0; i < pieces.size(); ++i)
            std::copy(again.list[i].bytes.begin(), again.list[i].bytes.end(),
                      put_back[pieces[i].array].bytes.begin() + static_cast<std::ptrdiff_t>(pieces[i].first));
        RC_ASSERT(fp::to_bits(once.norm) == fp::to_bits(again.norm));
        RC_ASSERT(fp::to_bits(once.norm32) == fp::to_bits(again.norm32));
        RC_ASSERT(put_back == joined(once.list));
    });
}

TEST_CASE("clip: too little to clip is left as it is, bit for bit", "[clip]") {
    const AnyList list{AnyVector::of<float>({3, -0.0f, 4}), AnyVector::of<float16>({number<float16>(0x1p-24)})};
    for (const double limit : {6.0, 1e300, HUGE_VAL}) {
        const Clipped result = clipped(list, {.max_norm = limit});
        REQUIRE(result.norm == naively_clipped(list, 1, 0).norm);
        REQUIRE(result.list == list);
    }
    const AnyList zeros{AnyVector::of<double>({0, -0.0})}; // nothing is divided by nothing
    REQUIRE(clipped(zeros, {.max_norm = 0, .epsilon = 0}).list == zeros);
    REQUIRE(clipped(zeros, {.max_norm = 1, .epsilon = 0}).list == zeros);
    REQUIRE(clipped(zeros, {.max_norm = HUGE_VAL, .epsilon = 0}).list == zeros);
    const AnyList none, empty{AnyVector::of<float>({}), AnyVector::of<double>({})};
    for (const AnyList& nothing : {none, empty}) {
        REQUIRE(fp::to_bits(clipped(nothing, {.max_norm = 0}).norm) == 0);
        REQUIRE(clipped(nothing, {}).list == nothing);
    }
}

TEST_CASE("clip: as PyTorch's formula, by hand", "[clip]") {
    const AnyList list{AnyVector::of<double>({3}), AnyVector::of<double>({-4})};
    const Clipped result = clipped(list, {.max_norm = 2.5});
    const double c = 2.5 / (5 + 1e-6);
    REQUIRE(result.norm == 5);
    REQUIRE(result.list == AnyList{AnyVector::of<double>({3 * c}), AnyVector::of<double>({-4 * c})});
    // A power of two is what it is in every format.
    const AnyList half{AnyVector::of<float>({3, -4}), AnyVector::of<bfloat16>({number<bfloat16>(12)})};
    const AnyList halved{AnyVector::of<float>({1.5, -2}), AnyVector::of<bfloat16>({number<bfloat16>(6)})};
    REQUIRE(clipped(half, {.max_norm = 6.5, .epsilon = 0}).list == halved);
}

TEST_CASE("clip: what is rounded is rounded once, ties to even", "[clip]") {
    // The norm is a little above the middle of two floats, by less than a double can say.
    const AnyList two{AnyVector::of<double>({1 + 0x1p-24, 0x1p-40})};
    REQUIRE(clipped(two, {.max_norm = 2, .norm = DType::f64}).norm == 1 + 0x1p-24);
    REQUIRE(clipped(two, {.max_norm = 2, .norm = DType::f32}).norm32 == 1 + 0x1p-23f);
    // The factor in the middle of two numbers of 24 bits; f64 has all of it.
    const AnyList one{AnyVector::of<float>({1}), AnyVector::of<double>({0}), AnyVector::of<bfloat16>({})};
    for (const auto& [limit, expected] : {std::pair{0x1.000001p-1, 0x1p-1f}, std::pair{0x1.000003p-1, 0x1.000004p-1f}})
        REQUIRE(clipped(one, {.max_norm = limit, .epsilon = 0}).list[0] == AnyVector::of<float>({expected}));
    const Clipped full = clipped({AnyVector::of<double>({1})}, {.max_norm = 0x1.000001p-1, .epsilon = 0});
    REQUIRE(full.list == AnyList{AnyVector::of<double>({0x1.000001p-1})});
}

TEST_CASE("clip: norms of what cannot be squared", "[clip]") {
    const AnyList huge{AnyVector::of<double>({3e300, 4e300})};
    const Clipped large = clipped(huge, {.max_norm = 1});
    REQUIRE(large.norm == 5e300);
    REQUIRE(large.list == AnyList{AnyVector::of<double>({3e300 * (1 / 5e300), 4e300 * (1 / 5e300)})});
    const AnyList tiny{AnyVector::of<double>({0x3p-1074, 0x4p-1074}), AnyVector::of<float>({-0.0f})};
    const Clipped small = clipped(tiny, {.max_norm = 0x1p-1074, .epsilon = 0});
    REQUIRE(small.norm == 0x5p-1074);
    REQUIRE(small.list == AnyList{AnyVector::of<double>({0x1p-1074, 0x1p-1074}), AnyVector::of<float>({-0.0f})});
    // The norm of finite elements may be beyond binary64: then they are zeros, as by PyTorch.
    const double most = std::numeric_limits<double>::max();
    const Clipped beyond = clipped({AnyVector::of<double>({most, -most})}, {.max_norm = 1});
    REQUIRE(std::isinf(beyond.norm));
    REQUIRE(beyond.list == AnyList{AnyVector::of<double>({0, -0.0})});
}

TEST_CASE("clip: what is not finite", "[clip]") {
    const AnyVector odd_nan = AnyVector::of<float>({fp::from_bits<float>(0xff812345u), 2, -0.0f});
    const float nan = quiet_nan<float>;
    const Clipped with_nan = clipped({odd_nan, AnyVector::of<float16>({number<float16>(0)}),
                                      AnyVector::of<bfloat16>({number<bfloat16>(0)}), AnyVector::of<double>({0})},
                                     {.max_norm = 1});
    REQUIRE(fp::to_bits(with_nan.norm) == fp::Format<double>::canonical_nan);
    REQUIRE(with_nan.list ==
            AnyList{AnyVector::of<float>({nan, nan, nan}), AnyVector::of<float16>({quiet_nan<float16>}),
                    AnyVector::of<bfloat16>({quiet_nan<bfloat16>}), AnyVector::of<double>({quiet_nan<double>})});
    const AnyList list{AnyVector::of<float>({-infinity<float>, 2, -3}),
                       AnyVector::of<float16>({number<float16>(-1), infinity<float16>})};
    const Clipped with_inf = clipped(list, {.max_norm = 1});
    REQUIRE(with_inf.norm == infinity<double>);
    REQUIRE(with_inf.list == AnyList{AnyVector::of<float>({nan, 0, -0.0f}),
                                     AnyVector::of<float16>({number<float16>(-0.0), quiet_nan<float16>})});
    const Clipped without_limit = clipped(list, {.max_norm = HUGE_VAL}); // ∞ / ∞, as torch has it
    REQUIRE(without_limit.norm == infinity<double>);
    REQUIRE(without_limit.list == AnyList{AnyVector::of<float>({nan, nan, nan}),
                                          AnyVector::of<float16>({quiet_nan<float16>, quiet_nan<float16>})});
}

TEST_CASE("clip: every number of 16 bits", "[clip]") {
    const auto every = []<class T>(T) {
        std::vector<T> x;
        for (std::uint32_t bits = 0; bits < 65536; ++bits) {
            const T v = fp::from_bits<T>(static_cast<std::uint16_t>(bits));
            if (fp::is_finite(v)) x.push_back(v);
        }
        return AnyVector::of(x);
    };
    const AnyList list{every(float16{}), every(bfloat16{})};
    for (const double max_norm : {1.0, 0x1p100, 0x1.fffffep125, 1e38, 1e-10}) {
        const double epsilon = 1e-6;
        REQUIRE(clipped(list, {.max_norm = max_norm}, 3).list == naively_clipped(list, max_norm, epsilon).list);
    }
}

/// These tensors are no part of those, so that an infinite element here leaves the norm finite.
TEST_CASE("clip: by a norm of other tensors", "[clip][sanitizer]") {
    Image others({AnyVector::of<float>({30, 40}), AnyVector::of<double>({1200})}, 0);
    const Plan plan = make_plan({.op = Op::nrm2,
                                 .dtype = DType::f64,
                                 .shape = Shape::tensors,
                                 .n = 3,
                                 .groups = 2,
                                 .device = cpu,
                                 .state = true});
    throw_if_error(plan.status());
    State state(plan.state_words());
    throw_if_error(run(plan, others.list_at(others.data()).data(), state.data()));
    const auto some = []<class T>(T) {
        std::vector<T> x{infinity<T>, number<T>(1), number<T>(-3.7)};
        x.resize(70, number<T>(-INFINITY)); // whole packs of a GPU, and others
        x.push_back(quiet_nan<T>);
        return AnyVector::of(x);
    };
    const AnyList list{some(float16{}), some(bfloat16{}), some(float{}), some(double{})};
    for (const double max_norm : {300.25, 1e-3, 1e-40, 0.0}) {
        const Clipped result = clipped(list, {.max_norm = max_norm, .epsilon = 0}, 3, state);
        REQUIRE(result.norm == std::sqrt(1200.0 * 1200 + 2500));
        REQUIRE(result.list == naively_clipped(list, max_norm / result.norm));
    }
}

TEST_CASE("clip: what is wrong is said by name, and nothing is written", "[clip][status]") {
    const auto plan_of = [](const auto& change) {
        ClipRequest r{.n = 3, .tensors = 2, .device = ClipBackend::device};
        change(r);
        return make_clip_plan(r);
    };
    using R = ClipRequest;
    const auto bad = [&](const char* argument, const auto& change) {
        const ClipPlan plan = plan_of(change);
        expect(plan.status(), StatusCode::invalid_argument, argument);
        expect(run(plan, nullptr, nullptr), StatusCode::invalid_argument, argument);
    };
    for (const double x : {-1.0, -0x1p-1074, -HUGE_VAL, std::nan("")}) {
        bad("max_norm", [x](R& r) { r.max_norm = x; });
        bad("epsilon", [x](R& r) { r.epsilon = x; });
    }
    bad("epsilon", [](R& r) { r.epsilon = HUGE_VAL; });
    bad("norm", [](R& r) { r.norm = DType::bf16; });
    bad("norm", [](R& r) { r.norm = static_cast<DType>(77); });
    bad("n", [](R& r) { r.n = max_n + 1; });
    bad("tensors", [](R& r) { r.tensors = std::uint64_t{1} << 32; });
    bad("device.backend", [](R& r) { r.device.backend = static_cast<Backend>(9); });
    expect(ClipPlan().status(), StatusCode::invalid_argument, "plan");
    REQUIRE(plan_of([](R& r) { r.max_norm = -0.0; }).status().ok());
    REQUIRE(plan_of([](R& r) { r.max_norm = HUGE_VAL; }).status().ok());
    REQUIRE(ClipPlan::guarantee() == Guarantee::order);

    const ClipPlan plan = plan_of([](R&) {});
    REQUIRE(plan.status().ok());
    alignas(256) static char room[65536 * 4]; // no device memory: it is not looked at
    REQUIRE(plan.workspace_bytes() <= sizeof room);
    double norm = 77;
    float x[] = {3, 4, 5};
    const auto refused = [&](const char* argument, const std::vector<Tensor>& list, void* out, void* workspace) {
        expect(run(plan, list.empty() ? nullptr : list.data(), out, workspace), StatusCode::invalid_argument, argument);
        REQUIRE(norm == 77);
        REQUIRE((x[0] == 3 && x[1] == 4 && x[2] == 5));
    };
    const Tensor first{x, 2, DType::f32}, second{x + 2, 1, DType::f32};
    refused("list", {}, &norm, room);
    refused("list", {first, {x + 2, 2, DType::f32}}, &norm, room);
    refused("list", {first, {nullptr, 1, DType::f32}}, &norm, room);
    refused("list", {first, {reinterpret_cast<char*>(x) + 5, 1, DType::f32}}, &norm, room);
    refused("list", {first, {x + 2, 1, static_cast<DType>(9)}}, &norm, room);
    refused("norm_out", {first, second}, nullptr, room);
    refused("norm_out", {first, second}, reinterpret_cast<char*>(&norm) + 4, room);
    if (ClipBackend::device.backend == Backend::cpu) return;
    refused("workspace", {first, second}, &norm, nullptr);
    refused("workspace", {first, second}, &norm, room + 8);
}

} // namespace detreduce::proptests
