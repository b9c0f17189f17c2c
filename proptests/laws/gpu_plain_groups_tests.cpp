// Rows and segments of many bytes by `exact` on a GPU, and for moments their squares, are first
// added up as one or two doubles, as far as nothing is rounded
// (kernels/multiset/exact/plain_rows.cuh and plain.cuh). Here some of them are that, some just are
// not, and some never are, in every order; then short groups that no window holds, which a thread
// each adds (thread_sum.cuh). The CPU gives the bits.
#include <algorithm>
#include <bit>
#include <utility>

#include <support/bits.hpp>
#include <support/catch.hpp>

#include "laws/gpu_bytes.hpp"
#include "laws/suite.hpp"
#include "laws/test_backend.hpp"
#include "laws/window_edges.hpp"

namespace detreduce::proptests {
namespace {

/// More than policy::plain_bytes.
#ifdef DETREDUCE_PLAIN_BYTES
constexpr std::size_t bytes = DETREDUCE_PLAIN_BYTES + 1000;
#else
constexpr std::size_t bytes = std::size_t{33} << 20;
#endif
constexpr std::size_t cancelling = 16, across_threads = 34, kinds = 52; ///< the first of such kinds; and all

/// Large elements that cancel, and odd small ones, so many binades below, that are the sum. What
/// cancels an element is half a row behind it, and of the same thread; or, across threads, so far
/// that 32 threads meet it last.
template <class T>
std::vector<T> cancelling_row(int range, std::size_t n, bool across) {
    constexpr std::size_t half_warp = 16 * (16 / sizeof(T)); ///< elements that 16 threads load
    const int most = std::min(range, widest_range<T>), lowest = middle_of<T>(most);
    const std::size_t distance = across ? half_warp : n / 2;
    std::vector<T> x(n);
    for (std::size_t i = 0; i + distance < n; ++i) {
        if (i / std::max<std::size_t>(distance, 1) % 2 != 0) continue; // one that cancels
        const bool small = i % (across ? 2 * half_warp : 61) == 1;
        x[i] = from_fields<T>({false, small ? lowest : lowest + most, small ? i | 1 : ~std::uint64_t{0}});
        if (!small) x[i + distance] = fp::negated(x[i]);
    }
    return x;
}

/// Row number `kind` of n elements; those of kind 0 to 3 are close together.
template <class T>
std::vector<T> row_of(std::size_t kind, std::size_t n) {
    if (kind >= across_threads) return cancelling_row<T>(8 + 2 * static_cast<int>(kind - across_threads), n, true);
    if (kind >= cancelling) return cancelling_row<T>(10 + 3 * static_cast<int>(kind - cancelling), n, false);
    const int limit = std::min(widest_range<T>, fp::has_16_bits<T> ? 43 : 28);
    const auto edges = [&](int range, std::size_t negative_from) {
        const int most = std::clamp(range, 0, widest_range<T>);
        return at_both_edges<T>(n, middle_of<T>(most), most, negative_from);
    };
    std::vector<T> x = edges(static_cast<int>(kind) * 4, n - n * kind / 8);
    switch (kind) {
    case 4: // as many as one load has, all of one sign, and below and above what is a double
    case 5:
    case 6:
    case 7:
    case 8:
        return edges(limit - 6 + static_cast<int>(kind), n);
    case 9:
        return edges(widest_range<T>, n / 2);
    case 10:
        x.assign(n, number<T>(-0.0));
        break;
    case 11:
        x.assign(n, number<T>(-0.0));
        x[n / 2] = T{};
        break;
    case 12:
        x.assign(n, number<T>(3));
        for (std::size_t i = 0; i + 1 < n; i += 2)
            x[i] = number<T>(-3);
        break;
    case 13:
        x[n / 3] = number<T>(infinity<double>);
        break;
    case 14:
        x[n / 3] = fp::from_bits<T>(fp::Format<T>::canonical_nan);
        break;
    case 15: // the smallest numbers there are
        for (std::size_t i = 0; i < n; ++i)
            x[i] = fp::from_bits<T>(static_cast<fp::Bits<T>>(1 + i % 3));
        break;
    default:
        break;
    }
    return x;
}

/// Rows of n elements: enough bytes, and most kinds.
template <class T>
std::size_t groups_of(std::size_t n) {
    const std::size_t row = n * sizeof(T);
    return std::max(bytes / row + 3, std::min(4 * kinds, (std::size_t{1} << 20) / row));
}

/// Rows of n elements, which begin `stride` apart: first those that are close together, then those
/// that are not, then both.
template <class T>
std::vector<T> rows_of(std::size_t n, std::size_t stride, std::size_t groups) {
    std::vector<T> row[kinds], x(groups * stride);
    for (std::size_t kind = 0; kind < kinds; ++kind)
        row[kind] = row_of<T>(kind, n);
    for (std::size_t g = 0; g < groups; ++g) {
        const std::size_t word = accuracy::hash(11, g), part = 3 * g / groups;
        const auto& from = row[part == 0 ? word % 4 : part == 1 ? 8 + word % (kinds - 8) : word % kinds];
        std::copy(from.begin(), from.end(), x.begin() + static_cast<std::ptrdiff_t>(g * stride));
    }
    return x;
}

template <class Out, class T>
void check(Request r, const std::vector<T>& x, const std::vector<std::uint64_t>& offsets, unsigned offset,
           std::uint32_t grid = 0, const std::vector<T>& y = {}) {
    r.method = Method::exact;
    r.dtype = dtype_of<T>;
    r.output = dtype_of<Out>;
    CAPTURE(name(r.op), r.n, r.groups, r.stride, offset, name(dtype_of<Out>));
    Draw draw;
    draw.offset = offset;
    draw.launch.grid = grid;
    const auto got = TestBackend::reduce_groups<Out>(r, std::span<const T>(x), std::span<const T>(y), offsets, draw);
    const Inputs in{x.data(), y.empty() ? nullptr : y.data(), offsets.empty() ? nullptr : offsets.data()};

    const auto expected = on_cpu<Out>(r, in);
    REQUIRE(got.size() == expected.size());
    const auto [here, there] =
        std::mismatch(got.begin(), got.end(), expected.begin(), [](Out a, Out b) { return same_bits(a, b); });
    if (here != got.end()) {
        FAIL("group " << here - got.begin() << ": " << static_cast<double>(fp::widen(*here)) << " for "
                      << static_cast<double>(fp::widen(*there)));
    }
}

} // namespace

TEMPLATE_TEST_CASE("plain groups: rows of every kind", "[gpu][exact][groups]", float16, bfloat16, float, double) {
    for (const std::size_t n : {1, 8, 32, 63, 65, 100, 128, 256, 512, 1000, 1024, 1025, 2304, 4096, 30000, 70001}) {
        const std::size_t groups = groups_of<TestType>(n);
        const auto x = rows_of<TestType>(n, n, groups);
        const Request r{.shape = Shape::rows, .n = n, .groups = groups};
        const std::size_t bytes_of_row = n * sizeof(TestType);
        const bool as_loaded = std::has_single_bit(bytes_of_row) && bytes_of_row >= 64 && bytes_of_row <= 4096;
        const bool by_warps =
            sizeof(TestType) > 2 && bytes_of_row % 512 == 0 && bytes_of_row > 2048 && bytes_of_row <= 131072;
        const bool as_groups =
            bytes_of_row >= (sizeof(TestType) == 2 ? 2048 : 256) && bytes_of_row <= 131072 && sizeof(TestType) < 8;
        const bool takes = as_loaded || by_warps || as_groups;
        const Plan plan = make_plan(
            {.method = Method::exact, .dtype = dtype_of<TestType>, .shape = Shape::rows, .n = n, .groups = groups});
        REQUIRE((plan.workspace_bytes() > 0) == (takes || n > 65536));
        check<double>(r, x, {}, static_cast<unsigned>(n % 3));
        check<float>(r, x, {}, 0, 37);
        check<float>(r, x, {}, 0);
        check<TestType>(r, x, {}, 1);
        for (const Op op : {Op::mean, Op::asum, Op::variance, Op::moments}) {
            Request of_op = r;
            of_op.op = op;
            check<double>(of_op, x, {}, 0);
            check<float>(of_op, x, {}, 0);
        }
        check<TestType>({.op = Op::stddev, .shape = Shape::rows, .n = n, .groups = groups, .ddof = n / 2}, x, {}, 1);
    }
}

TEMPLATE_TEST_CASE("plain groups: rows as memory has them", "[gpu][exact][groups][sanitizer]", bfloat16, float,
                   double) {
    for (const std::size_t n : {32, 512, 4096}) {
        const std::size_t groups = groups_of<TestType>(n);
        const auto x = rows_of<TestType>(n, n, groups);
        check<TestType>({.shape = Shape::rows, .n = n, .groups = groups}, x, {}, 0);
        check<TestType>({.op = Op::moments, .shape = Shape::rows, .n = n, .groups = groups}, x, {}, 0);
    }
}

TEMPLATE_TEST_CASE("plain groups: rows with room between them", "[gpu][exact][groups]", float16, bfloat16, float) {
    for (const auto& [n, stride] :
         {std::pair<std::size_t, std::size_t>{32, 40}, {65, 67}, {500, 512}, {4096, 4104}, {1200, 1201}}) {
        const std::size_t groups = groups_of<TestType>(n);
        const auto x = rows_of<TestType>(n, stride, groups);
        for (const Op op : {Op::sum, Op::variance})
            check<float>({.op = op, .shape = Shape::rows, .n = n, .groups = groups, .stride = stride}, x, {}, 0);
    }
}

/// Squares of the first half of a row are just below the limit up to which PlainMoments adds them;
/// those of the second half are above it.
TEST_CASE("plain groups: squares as large as doubles are", "[gpu][exact][groups]") {
    constexpr std::size_t n = 64, groups = bytes / (n * sizeof(double)) + 3;
    std::vector<double> x(groups * n);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const int upper = 481 + static_cast<int>(i / n % 24);
        x[i] = from_fields<double>({accuracy::hash(i, 1) % 2 != 0, i % n < n / 2 ? 479 : upper, accuracy::hash(i, 2)});
    }
    for (const Op op : {Op::variance, Op::stddev})
        check<double>({.op = op, .shape = Shape::rows, .n = n, .groups = groups}, x, {}, 0);
}

/// Groups of as few elements as one thread adds, and of more. Their elements lie so far apart that
/// only a wide window of four or of six bins holds most of them, and none (but of f16) some; or are
/// −0, or NaN is among them.
TEMPLATE_TEST_CASE("short exact groups: most of a batch fit no window", "[gpu][exact][groups][sanitizer]", float16,
                   bfloat16, float, double) {
    using T = TestType;
    const auto element = [](std::size_t i, std::size_t group) {
        const std::uint64_t word = accuracy::hash(7, i), kind = accuracy::hash(8, group) % 16;
        if (kind == 0) return number<T>(-0.0);
        if (kind == 1 && word % 29 == 0) return fp::from_bits<T>(fp::Format<T>::canonical_nan);
        if (kind == 2 && !std::is_same_v<T, float16>) // 220 binades
            return from_fields<T>({word % 2 != 0, word / 2 % 2 != 0 ? 100 : -120, accuracy::hash(9, i)});
        const int range = std::min(30 + 10 * static_cast<int>(kind), widest_range<T>);
        return from_fields<T>({word % 2 != 0,
                               middle_of<T>(range) + static_cast<int>(word / 2 % static_cast<std::uint64_t>(range + 1)),
                               accuracy::hash(9, i)});
    };
    for (const std::size_t n : {1, 2, 7, 32, 100, 511, 512, 513}) {
        constexpr std::size_t groups = 150;
        std::vector<T> x(n * groups), y(n * groups);
        std::vector<std::uint64_t> offsets{0};
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] = element(i, i / n);
            y[i] = accuracy::hash(8, i / n) % 16 == 0 ? number<T>(3) : element(x.size() + i, i / n); // −0 · 3 is −0
        }
        while (offsets.back() < x.size())
            offsets.push_back(
                std::min<std::uint64_t>(offsets.back() + accuracy::hash(10, offsets.size()) % (2 * n + 1), x.size()));
        const Request rows{.shape = Shape::rows, .n = n, .groups = groups},
            segments{.shape = Shape::segments, .n = x.size(), .groups = offsets.size() - 1};
        check<T>({.shape = Shape::rows, .n = n, .groups = groups / 2, .stride = n + n / 2}, x, {}, 0);
        for (const Op op : {Op::sum, Op::mean, Op::asum, Op::nrm2, Op::dot, Op::mae, Op::mse, Op::variance}) {
            Request of_op = op == Op::sum || n % 2 == 0 ? rows : segments;
            of_op.op = op;
            const auto& of_groups = of_op.shape == Shape::rows ? std::vector<std::uint64_t>{} : offsets;
            const std::vector<T> second = info(op).inputs == 2 ? y : std::vector<T>{};
            check<T>(of_op, x, of_groups, 1, 0, second);
            check<double>(of_op, x, of_groups, 0, 0, second);
            of_op.method = Method::exact;
            of_op.dtype = dtype_of<T>;
            of_op.state = true;
            require_bytes_of_cpu(of_op, x, second, of_groups);
        }
    }
}

/// Sums of 16 bits keep their bins.
TEMPLATE_TEST_CASE("plain groups: segments of every length, and none", "[gpu][exact][groups][sanitizer]", bfloat16,
                   float) {
    constexpr std::size_t length = 200, most = 70000;
    const auto x = rows_of<TestType>(length, length, groups_of<TestType>(length));
    std::vector<std::uint64_t> offsets{0};
    for (std::uint64_t i = 0; offsets.back() < x.size(); ++i) {
        const std::uint64_t word = accuracy::hash(5, i);
        const std::uint64_t n = word % 9 == 0 ? 0 : i % 5000 == 7 ? most : word % 7 == 0 ? length : word % 700;
        offsets.push_back(std::min<std::uint64_t>(offsets.back() + n, x.size()));
    }
    for (const Op op : {Op::sum, Op::variance}) {
        const Request r{.op = op, .shape = Shape::segments, .n = x.size(), .groups = offsets.size() - 1};
        check<float>(r, x, offsets, 0);
        check<double>(r, x, offsets, 1);
    }
}

} // namespace detreduce::proptests
