// `exact` of flat inputs of up to 1024 blocks of 16 KiB, or of 32 KiB of 16-bit elements to be
// summed, has kernels of its own (kernels/multiset/exact/small.cuh), where blocks leave sums of
// windows or words of states: what the one and the other, and both together, make of data that
// moves windows; a block alone rounds them itself. The CPU gives the bits.
#include <cmath>

#include <detreduce/accuracy/oracle.hpp>

#include <support/bits.hpp>
#include <support/catch.hpp>

#include "laws/device_memory.hpp"
#include "laws/extremes.hpp"
#include "laws/on_cpu.hpp"
#include "laws/suite.hpp"
#include "laws/test_backend.hpp"

namespace detreduce::proptests {
namespace {

constexpr Op some_ops[] = {Op::sum, Op::mean, Op::asum, Op::nrm2, Op::dot, Op::mse, Op::mae, Op::variance};
constexpr std::uint64_t most_blocks = 1024;

template <class T>
constexpr std::size_t block_elements = (std::size_t{16} << 10) / sizeof(T);

/// Blocks of numbers near 1 times 2^(step · i) for i = 0, 1, …, as far as that goes, and from the
/// beginning again.
template <class T>
std::vector<T> stairs(std::size_t n, int step, std::uint64_t seed) {
    std::vector<T> x(n);
    const int steps = std::min(largest_exponent<T> - 4, 100) / step;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t word = accuracy::hash(seed, i);
        const int at = static_cast<int>(i / block_elements<T> % static_cast<std::size_t>(steps + 1));
        x[i] = detail::with_exponent<T>(step * at + detail::between(-3, 3, word), word);
    }
    return x;
}

/// A block of each kind of extreme data, in the order of `seed`.
template <class T>
std::vector<T> mixed(std::size_t n, std::uint64_t seed) {
    std::vector<T> x;
    for (std::uint64_t b = 0; x.size() < n; ++b) {
        const auto kind = static_cast<Extreme>(accuracy::hash(seed, b) % extremes);
        const bool special = kind == Extreme::nonfinite || kind == Extreme::full;
        const auto piece = extreme<T>(special ? Extreme::outlier : kind, block_elements<T>, seed + b);
        x.insert(x.end(), piece.begin(), piece.end());
    }
    x.resize(n);
    return x;
}

template <class T>
void check(const std::vector<T>& x, const std::vector<T>& y, unsigned offset = 0) {
    for (const Op op : some_ops) {
        CAPTURE(name(op), x.size(), offset);
        const Request r{.op = op, .method = Method::exact, .dtype = dtype_of<T>, .output = DType::f64, .n = x.size()};
        const bool binary = info(op).inputs == 2;
        const auto second = binary ? std::span<const T>(y) : std::span<const T>();
        Draw draw;
        draw.offset = offset;
        const double got = TestBackend::reduce<double>(op, std::span<const T>(x), second, Method::exact, draw),
                     expected = on_cpu<double>(r, {x.data(), binary ? y.data() : nullptr})[0];
        REQUIRE(fp::to_bits(got) == fp::to_bits(expected));
    }
}

} // namespace

TEMPLATE_TEST_CASE("short exact: every kind of data in every block", "[gpu][exact][sanitizer]", DETREDUCE_ALL_TYPES) {
    constexpr std::size_t block = block_elements<TestType>;
    for (int kind = 0; kind < extremes; ++kind) {
        const std::size_t n = block * static_cast<std::size_t>(2 + kind % 3) + static_cast<std::size_t>(kind % 5) - 2;
        const auto seed = static_cast<std::uint64_t>(kind);
        INFO("kind " << kind);
        check(extreme<TestType>(static_cast<Extreme>(kind), n, seed),
              extreme<TestType>(static_cast<Extreme>(kind), n, seed + 50), static_cast<unsigned>(kind % 3));
    }
}

TEMPLATE_TEST_CASE("short exact: one kernel of one block, and no workspace", "[gpu][exact][sanitizer]",
                   DETREDUCE_ALL_TYPES) {
    constexpr std::size_t block = block_elements<TestType>;
    for (const std::size_t n :
         {std::size_t{1}, std::size_t{31}, std::size_t{32}, std::size_t{33}, std::size_t{1023}, std::size_t{1024},
          std::size_t{1025}, block / 2 + 8, block - 1, block, block + 1, 2 * block - 1, 2 * block}) {
        for (const Op op : {Op::sum, Op::mean, Op::asum, Op::nrm2, Op::dot}) {
            const bool twice = n > block; // which sums of elements alone have
            if (twice && op != Op::sum && op != Op::mean) continue;
            const Plan plan = make_plan({.op = op, .method = Method::exact, .dtype = dtype_of<TestType>, .n = n});
            REQUIRE(plan.launch().schedule == Schedule::last_block);
            REQUIRE(plan.launch().block == (twice ? 512 : 256));
            REQUIRE(plan.workspace_bytes() == 0);
        }
        for (int kind = 0; kind < extremes; ++kind) {
            const auto seed = static_cast<std::uint64_t>(kind) + n;
            INFO("kind " << kind);
            check(extreme<TestType>(static_cast<Extreme>(kind), n, seed),
                  extreme<TestType>(static_cast<Extreme>(kind), n, seed + 50), static_cast<unsigned>(kind % 3));
        }
        check(stairs<TestType>(n, 1, n), mixed<TestType>(n, n));
    }
}

/// Rows of each kind of data, `stride` elements apart, from `offset` elements behind 16 bytes on.
template <class T>
void check_rows(std::uint64_t n, std::uint64_t groups, std::uint64_t stride, unsigned offset, std::uint32_t threads) {
    std::vector<T> x;
    for (std::uint64_t row = 0; row < groups; ++row) {
        const auto kind = static_cast<Extreme>(row % extremes);
        const auto one = row % 3 == 2 ? mixed<T>(n, row) : extreme<T>(kind, n, row + n);
        x.insert(x.end(), one.begin(), one.end());
        x.resize((row + 1) * stride);
    }
    const OnDevice<T> on_device(x, offset);
    for (const Op op : {Op::sum, Op::mean}) {
        Request r{.op = op,
                  .method = Method::exact,
                  .dtype = dtype_of<T>,
                  .output = DType::f64,
                  .shape = Shape::rows,
                  .n = n,
                  .groups = groups,
                  .stride = stride};
        CAPTURE(name(op), n, groups, stride, offset);
        const Plan plan = make_plan(r);
        throw_if_error(plan.status());
        REQUIRE(plan.launch().block == threads);
        r.launch = plan.launch();
        REQUIRE(make_plan(r).launch().block == threads);
        const OnDevice<double> out(std::vector<double>(groups), 0);
        const DeviceBuffer workspace(plan.workspace_bytes());
        workspace.fill(0xff, workspace.bytes());
        throw_if_error(run(plan, on_device.data, out.data, workspace.data()));
        r.launch = {};
        const auto got = out.fetched(), expected = on_cpu<double>(r, x.data());
        for (std::uint64_t row = 0; row < groups; ++row) {
            CAPTURE(row);
            REQUIRE(fp::to_bits(got[row]) == fp::to_bits(expected[row]));
        }
    }
}

TEMPLATE_TEST_CASE("short exact: a block for each of few rows", "[gpu][exact][sanitizer]", DETREDUCE_ALL_TYPES) {
    constexpr std::uint64_t most = 2 * block_elements<TestType>;
    for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{33}, std::uint64_t{1000}, most - 1, most}) {
        for (const std::uint64_t groups : {1, 7, 33})
            check_rows<TestType>(n, groups, n + groups % 4, static_cast<unsigned>(groups % 3), 512);
    }
    check_rows<TestType>(40, 256, 40, 0, 512);
    check_rows<TestType>(40, 257, 40, 0, 128);
    check_rows<TestType>(most + 1, 2, most + 1, 0, 128);
}

TEMPLATE_TEST_CASE("exact: few long rows in more work items", "[gpu][exact]", DETREDUCE_ALL_TYPES) {
    for (const std::uint64_t n : {8193, 12288, 16385, 32768, 40000}) {
        check_rows<TestType>(std::max<std::uint64_t>(n, 2 * block_elements<TestType> + 1), 5, 50001, 1, 128);
        check_rows<TestType>(std::max<std::uint64_t>(n, 2 * block_elements<TestType> + 1), 64, 50000, 0, 128);
    }
}

TEMPLATE_TEST_CASE("short exact: blocks of different windows", "[gpu][exact][sanitizer]", DETREDUCE_ALL_TYPES) {
    constexpr std::size_t n = 9 * block_elements<TestType> + 3;
    for (const int step : {3, 15, 40}) { // near each other, and too far apart
        const int most = std::min(step, largest_exponent<TestType> - 4);
        check(stairs<TestType>(n, most, 1), stairs<TestType>(n, most, 2));
    }
    for (const std::uint64_t seed : {1, 2, 3})
        check(mixed<TestType>(n, seed), mixed<TestType>(n, seed + 100), 1);
    const auto above = fp::beyond<TestType>(false), below = fp::beyond<TestType>(true),
               nan = fp::from_bits<TestType>(fp::Format<TestType>::canonical_nan);
    for (const auto& [early, late] :
         {std::pair{above, TestType{}}, std::pair{above, above}, std::pair{below, above}, std::pair{TestType{}, nan}}) {
        auto x = stairs<TestType>(n, 3, 1);
        x[block_elements<TestType> + 9] = early;
        x[8 * block_elements<TestType> - 1] = late;
        check(x, stairs<TestType>(n, 3, 2));
    }
}

/// No window holds the first block, so that it leaves words. Its sums of products are as large as
/// they can be, above and below zero, or cancel.
TEMPLATE_TEST_CASE("short exact: a block in words of large products", "[gpu][exact][sanitizer]", DETREDUCE_ALL_TYPES) {
    constexpr std::size_t n = 2 * block_elements<TestType>;
    const TestType large = fp::from_bits<TestType>(fp::Format<TestType>::largest);
    const auto tiny = from_fields<TestType>({false, -std::min(60, largest_exponent<TestType> - 1), 0});
    std::vector<TestType> x(n, large), below(n, fp::negated(large));
    check(x, x); // in windows
    check(x, below);
    x[0] = below[0] = tiny;
    check(x, x);
    check(x, below);
    check(below, below);
}

/// Each block's sum is far below its elements, of any sign: what blocks leave is joined with
/// carries and borrows all the way.
TEMPLATE_TEST_CASE("short exact: blocks that cancel", "[gpu][exact][sanitizer]", DETREDUCE_ALL_TYPES) {
    constexpr std::size_t block = block_elements<TestType>, n = 6 * block;
    for (const int step : {1, 4, 16, 20}) {
        for (const int below : {0, 5, 11, 20, 40}) {
            for (const std::uint64_t seed : {1, 2, 3, 4}) {
                std::vector<TestType> x(n);
                for (std::size_t i = 0; i < n; ++i) {
                    const auto b = static_cast<int>(i / block);
                    const int high = std::min(step * b, largest_exponent<TestType> - 1),
                              low = std::max(high - below, 1 - largest_exponent<TestType>);
                    const auto large = from_fields<TestType>({i % 2 == 0, high, accuracy::hash(1, i / 2)});
                    x[i] = i % block < 2
                               ? from_fields<TestType>({accuracy::hash(seed, i / block) % 2 == 0, low, i % block})
                               : large;
                }
                const auto oracle = accuracy::exact_sum(std::span<const TestType>(x));
                CAPTURE(step, below, seed);
                REQUIRE(fp::to_bits(TestBackend::reduce<double>(std::span<const TestType>(x), Method::exact)) ==
                        fp::to_bits(oracle.template round<double>()));
            }
        }
    }
}

/// As in exact_laws.cpp, but among so many zeros that blocks share them.
TEST_CASE("short exact: what is far below a tie decides it", "[gpu][exact]") {
    std::vector<double> x(5 * block_elements<double>);
    const auto sum_of = [&x](double a, double b, double c) {
        x[7] = a;
        x[8] = b;
        x[9] = c;
        return TestBackend::reduce<double>(std::span<const double>(x), Method::exact);
    };
    const double half = std::ldexp(1.0, -53);
    for (int below = 54; below < 330; ++below) {
        CAPTURE(below);
        REQUIRE(sum_of(1, half, std::ldexp(1.0, -below)) == 1 + 2 * half);
        REQUIRE(sum_of(1, half, -std::ldexp(1.0, -below)) == 1);
    }
}

TEMPLATE_TEST_CASE("short exact: from one block to more than there may be", "[gpu][exact]", DETREDUCE_ALL_TYPES) {
    constexpr std::size_t block = block_elements<TestType>;
    constexpr std::size_t few = most_blocks * block, more = 2 * few; // or twice as many
    for (const std::size_t n : {block, block + 1, 2 * block, 2 * block + 1, 255 * block, 256 * block + 1, few, few + 1,
                                more - 1, more, more + 1}) {
        for (const Op op : {Op::sum, Op::asum, Op::nrm2, Op::dot}) {
            const Plan plan = make_plan({.op = op, .method = Method::exact, .dtype = dtype_of<TestType>, .n = n});
            const bool loads_more = fp::has_16_bits<TestType> && (op == Op::sum || op == Op::asum);
            const bool small = n <= (loads_more ? more : few), alone = n <= (op == Op::sum ? 2 : 1) * block;
            CAPTURE(name(op), n);
            REQUIRE(plan.launch().schedule == (small && !alone ? Schedule::two_pass : Schedule::last_block));
            REQUIRE(plan.launch().block == (!small ? 128 : alone && n > block ? 512 : 256));
        }
        if (n == more) continue; // more − 1 and more + 1 are enough sums of that size
        check(stairs<TestType>(n, 2, n), mixed<TestType>(n, n));
    }
    check(mixed<TestType>(more - 1, 1), stairs<TestType>(more - 1, 2, 1), 1);
    auto special = stairs<TestType>(few + block, 2, 1);
    special[few - 3] = fp::beyond<TestType>(true);
    check(special, special);
    check(stairs<TestType>(few + block + 3, std::min(40, largest_exponent<TestType> - 4), 1),
          mixed<TestType>(few + block + 3, 2));
}

TEMPLATE_TEST_CASE("short exact: results of every type, and those of moments", "[gpu][exact][sanitizer]",
                   DETREDUCE_ALL_TYPES) {
    const auto all = [](const std::vector<TestType>& x, auto output) {
        using Out = decltype(output);
        for (const Op op : {Op::sum, Op::mean, Op::nrm2, Op::moments, Op::stddev}) {
            CAPTURE(name(op), name(dtype_of<Out>), x.size());
            const Request r{
                .op = op, .method = Method::exact, .dtype = dtype_of<TestType>, .output = dtype_of<Out>, .n = x.size()};
            const auto got = TestBackend::results<Out>(r, std::span<const TestType>(x)),
                       expected = on_cpu<Out>(r, {x.data()});
            REQUIRE(got.size() == (op == Op::moments ? 2 : 1));
            REQUIRE(std::equal(got.begin(), got.end(), expected.begin(), expected.end(),
                               [](Out a, Out b) { return fp::to_bits(a) == fp::to_bits(b); }));
        }
    };
    for (const Extreme kind : {Extreme::overflow_on_the_way, Extreme::near_overflow, Extreme::subnormal,
                               Extreme::powers, Extreme::outlier, Extreme::drifting}) {
        for (const std::size_t n : {std::size_t{77}, 5 * block_elements<TestType> + 7}) {
            const auto x = extreme<TestType>(kind, n, 7);
            all(x, float16{});
            all(x, bfloat16{});
            all(x, float{});
            all(x, double{});
        }
    }
}

TEST_CASE("short exact: what a bin holds is all that a double has, and one more", "[gpu][exact]") {
    // Σx² = 256 − 2^-45: its root lies just below halfway from the largest double below 16 to 16.
    std::vector<float> x(2, 0x1p-23f);
    for (int k = 1; k <= 22; ++k)
        x.insert(x.end(), 3, std::ldexp(1.0f, k - 23));
    x.resize(1088, 0.5f);
    const std::span<const float> roots(x);
    REQUIRE(TestBackend::reduce<double>(Op::nrm2, roots, std::span<const float>(), Method::exact) ==
            0x1.fffffffffffffp+3);
    std::vector<float> rows;
    for (int r = 0; r < 70; ++r)
        rows.insert(rows.end(), x.begin(), x.end());
    const Request r{.op = Op::nrm2, .method = Method::exact, .shape = Shape::rows, .n = x.size(), .groups = 70};
    for (const double root : TestBackend::reduce_groups<double>(r, std::span<const float>(rows), {}, {}))
        REQUIRE(root == 0x1.fffffffffffffp+3);
    // The first bins of all blocks hold 2^63 − 1 together.
    std::vector<float> y(2342, 0x1.cp-48f);
    y.push_back(-0x1p-46f);
    y.resize(y.size() + (std::size_t{1} << 18), 0.5f);
    REQUIRE(TestBackend::reduce<double>(std::span<const float>(y), Method::exact) == 0x1p+17);
}

/// Of elements that are divided, or squared and of which the root is taken, to be a number halfway
/// between two of the format, or just beside that.
TEMPLATE_TEST_CASE("short exact: means and roots at a tie, and next to one", "[gpu][exact]", float16, bfloat16, float) {
    const auto check_result = [](Op op, const std::vector<float>& x) {
        const Request r{
            .op = op, .method = Method::exact, .dtype = DType::f32, .output = dtype_of<TestType>, .n = x.size()};
        const auto got = TestBackend::results<TestType>(r, std::span<const float>(x));
        REQUIRE(same_bits(got[0], on_cpu<TestType>(r, {x.data()})[0]));
        return got[0];
    };
    constexpr int p = fp::Format<TestType>::precision;
    for (int below = 30; below <= 90; below += 5) {
        for (const double sign : {-1.0, 0.0, 1.0}) {
            const auto beside = static_cast<float>(sign * std::ldexp(1.0, -below));
            for (const std::size_t n : {5, 100, 1000, 5000, 99999}) {
                for (const double places : {1.0, 3.0, 37.0}) { // odd: half of a last place remains
                    const double tie = 1 + places * std::ldexp(1.0, -p);
                    const float most = fp::from_bits<float>(fp::to_bits(static_cast<float>(tie)) & ~1u);
                    std::vector<float> x(n, most);
                    x[0] = x[n / 2] = 2 * most; // for the two that are of something else
                    x[1] = static_cast<float>(static_cast<double>(n) * (tie - static_cast<double>(most)));
                    x[n - 1] = beside;
                    CAPTURE(n, below, sign, places);
                    check_result(Op::mean, x);
                }
                std::vector<float> x(n);
                x[0] = 0x1p24f, x[1] = x[2] = 0x1p12f, x[3] = 1 - std::ldexp(sign < 0 ? 1.0f : 0.0f, -20);
                x[n - 1] = sign > 0 ? beside : 0.0f;
                CAPTURE(n, below, sign);
                const TestType root = check_result(Op::nrm2, x);
                if constexpr (std::is_same_v<TestType, float>) REQUIRE(root == (sign > 0 ? 0x1p24f + 2 : 0x1p24f));
                if constexpr (p == 8) { // a root of two numbers whose tie is an element
                    x.assign(n, 0.0f);
                    x[0] = 1 + 0x1p-8f;
                    x[n - 1] = beside;
                    check_result(Op::nrm2, x);
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("short exact: runs follow one another in a stream, with one workspace", "[graph][gpu][exact]",
                   bfloat16, float, double) {
    constexpr std::size_t n = 300 * block_elements<TestType> + 5, rounds = 60;
    const std::vector<TestType> data[] = {stairs<TestType>(n, 2, 1), stairs<TestType>(n, 5, 2), mixed<TestType>(n, 3)};
    constexpr Op ops[] = {Op::variance, Op::dot, Op::sum, Op::nrm2};
    std::vector<Plan> plans;
    std::vector<std::unique_ptr<DeviceBuffer>> inputs;
    for (const auto& x : data)
        inputs.push_back(upload(x));
    double expected[std::size(ops)][std::size(data)];
    std::size_t most = 0;
    for (std::size_t i = 0; i < std::size(ops); ++i) {
        const Request r{.op = ops[i],
                        .method = Method::exact,
                        .dtype = dtype_of<TestType>,
                        .output = DType::f64,
                        .n = n,
                        .device = current_gpu};
        plans.push_back(make_plan(r));
        throw_if_error(plans.back().status());
        most = std::max(most, plans.back().workspace_bytes());
        for (std::size_t k = 0; k < std::size(data); ++k)
            expected[i][k] =
                on_cpu<double>(r, {data[k].data(), info(ops[i]).inputs == 2 ? data[0].data() : nullptr})[0];
    }
    const DeviceBuffer workspace(most), out(rounds * std::size(ops) * sizeof(double));
    const StreamOwner owner;
    const auto run_all = [&](std::size_t round, cudaStream_t stream) {
        Status status;
        for (std::size_t i = 0; i < std::size(ops) && status.ok(); ++i) {
            const void* const y = info(ops[i]).inputs == 2 ? inputs[0]->data() : nullptr;
            status = run(plans[i], {inputs[(round + i) % std::size(data)]->data(), y},
                         out.data() + (round * std::size(ops) + i) * sizeof(double), workspace.data(), stream);
        }
        return status;
    };
    const auto check_round = [&](std::size_t round) {
        for (std::size_t i = 0; i < std::size(ops); ++i) {
            CAPTURE(name(ops[i]), round);
            REQUIRE(fp::to_bits(download<double>(out.data() + (round * std::size(ops) + i) * sizeof(double))) ==
                    fp::to_bits(expected[i][(round + i) % std::size(data)]));
        }
    };
    for (std::size_t round = 0; round < rounds; ++round)
        throw_if_error(run_all(round, owner.stream));
    CUDA_CHECK(cudaDeviceSynchronize());
    for (std::size_t round = 0; round < rounds; ++round)
        check_round(round);
    const Graph graph(owner.stream, [&](cudaStream_t stream) { return run_all(1, stream); });
    for (int i = 0; i < 5; ++i) {
        out.fill(0xff, rounds * std::size(ops) * sizeof(double));
        graph.launch();
        CUDA_CHECK(cudaDeviceSynchronize());
        check_round(1);
    }
}

} // namespace detreduce::proptests
