// Columns: strips of them, cut at any place, and those that need more than doubles or bins; longer
// than a tile; and sums of groups in every format.
#include "laws/suite.hpp"

namespace detreduce::proptests {
namespace {

/// Of `request`, but for what all sums here have in common.
template <class T>
std::vector<T> sums_of(Request request, Isa isa, const T* x) {
    request.op = Op::sum;
    request.method = Method::exact;
    request.dtype = dtype_of<T>;
    request.device = cpu;
    request.launch = {.threads = 1, .isa = isa};
    const Plan plan = make_plan(request);
    throw_if_error(plan.status());
    std::vector<T> sums(plan.results());
    throw_if_error(run(plan, x, sums.data()));
    return sums;
}

/// Numbers whose exponents span `range` below 2^3; in every third column half of them are those of
/// the other half with another sign, so that whatever was rounded shows; of every fifth column the
/// zeros of both signs, or −0 alone; and in some columns one number beyond all the others.
template <class T>
std::vector<T> numbers(std::size_t n, std::size_t stride, unsigned range) {
    std::vector<T> x(n * stride);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t row = i / stride, column = i % stride;
        const std::uint64_t word = accuracy::hash(range, i);
        const int exponent = 3 - static_cast<int>((word >> 8) % range);
        x[i] = from_fields<T>({word % 2 == 0, std::max(exponent, -largest_exponent<T>), word * 0x9e3779b97f4a7c15u});
        const std::size_t half = (n + 1) / 2 * stride;
        if (column % 3 == 1 && i >= half) x[i] = fp::from_bits<T>(fp::to_bits(x[i - half]) ^ fp::sign_mask<T>);
        if (column % 5 == 4) x[i] = fp::from_bits<T>(column % 2 == 0 || row != n / 2 ? fp::sign_mask<T> : 0);
        if (row != n - 1 || (range == 2 && column != 213)) continue; // one in a strip, or a few
        if (column % 67 == (range == 2 ? 12 : 13)) x[i] = from_fields<T>({false, largest_exponent<T> - 1, word});
        if (column % 67 == 21) x[i] = infinity<T>;
        if (column % 67 == 22) x[i] = quiet_nan<T>;
    }
    return x;
}

/// The results of one call, as bytes.
std::vector<char> results_of(const Request& request, const void* x, const void* y) {
    const Plan plan = make_plan(request);
    throw_if_error(plan.status());
    std::vector<char> results(plan.results() * plan.result_bytes());
    std::vector<std::uint64_t> workspace(plan.workspace_bytes() / sizeof(std::uint64_t) + 1);
    throw_if_error(run(plan, Inputs(x, y), results.data(), workspace.data()));
    return results;
}

template <class T>
std::vector<T> column_of(const std::vector<T>& x, std::size_t stride, std::size_t g) {
    std::vector<T> column;
    for (std::size_t i = g; i < x.size(); i += stride)
        column.push_back(x[i]);
    return column;
}

} // namespace

TEMPLATE_TEST_CASE("exact columns: as many sums of one column", "[ops]", float, double, float16, bfloat16,
                   float8_e4m3) {
    const std::size_t columns[] = {2, 3, 7, 9, 63, 65, 255, 256, 257, 519}, rows[] = {1, 2, 15, 16, 17, 33, 64, 100};
    for (const std::size_t groups : columns) {
        for (const std::size_t n : rows) {
            for (const unsigned range : {2u, 24u, 40u, 300u}) {
                const std::size_t stride = groups + (range == 2 ? 0 : n % 3);
                const std::vector<TestType> x = numbers<TestType>(n, stride, range);
                std::vector<TestType> expected;
                for (std::size_t g = 0; g < groups; ++g) {
                    const auto column = column_of(x, stride, g);
                    expected.push_back(sums_of<TestType>({.n = n}, Isa::baseline, column.data())[0]);
                }
                for (const Isa isa : available_isas()) {
                    INFO(groups << " columns of " << n << ", stride " << stride << ", range " << range << ", "
                                << name(isa));
                    const auto sums = sums_of<TestType>(
                        {.shape = Shape::columns, .n = n, .groups = groups, .stride = stride}, isa, x.data());
                    for (std::size_t g = 0; g < groups; ++g) {
                        INFO("column " << g);
                        REQUIRE(fp::to_bits(sums[g]) == fp::to_bits(expected[g]));
                    }
                }
            }
        }
    }
}

// Some ops take a strip of them a tile at a time, others a block.
TEMPLATE_TEST_CASE("columns longer than a tile: as many results of one column", "[ops]", float, double, bfloat16) {
    const std::size_t tile = spec::TreeOrder<sizeof(TestType)>::tile;
    for (const std::size_t groups : {2, 19}) {
        const std::size_t most = groups == 2 ? 65536 + 99 : 3 * tile + 77; // of which threads share a column
        for (const std::size_t n : {tile + 1, most}) {
            const std::size_t stride = groups + 1;
            const auto x = numbers<TestType>(n, stride, 30), y = numbers<TestType>(n, stride, 3);
            for (const OpInfo& op : ops()) {
                for (const Method method : {Method::exact, Method::tree, Method::compensated}) {
                    for (const std::uint32_t threads : {1u, 3u}) {
                        Request request{.op = op.op, .method = method, .dtype = dtype_of<TestType>, .n = n};
                        request.device = cpu;
                        request.launch.threads = threads;
                        if (!make_plan(request).status().ok()) continue; // not by this method
                        INFO(op.name << " by " << name(method) << ", " << groups << " columns of " << n << ", "
                                     << threads << " threads");
                        std::vector<char> expected;
                        for (std::size_t g = 0; g < groups; ++g) {
                            const auto column = column_of(x, stride, g), with = column_of(y, stride, g);
                            const auto one = results_of(request, column.data(), op.inputs == 2 ? with.data() : nullptr);
                            expected.insert(expected.end(), one.begin(), one.end());
                        }
                        request.shape = Shape::columns;
                        request.groups = groups;
                        request.stride = stride;
                        if (!make_plan(request).status().ok()) continue; // not of columns
                        REQUIRE(results_of(request, x.data(), op.inputs == 2 ? y.data() : nullptr) == expected);
                    }
                }
            }
        }
    }
}

// So many that the results of tiles, too, take much of a thread's room.
TEST_CASE("columns of hundreds of tiles: as many results of one column", "[ops]") {
    constexpr std::size_t n = 600 * spec::TreeOrder<sizeof(double)>::tile - 77, groups = 8;
    std::vector<double> x(n * groups);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<double>(accuracy::hash(5, i) >> 11) - 0x1p52;
    for (const Method method : {Method::tree, Method::compensated, Method::exact}) {
        Request request{.op = Op::nrm2, .method = method, .dtype = DType::f64, .n = n};
        request.device = cpu;
        request.launch.threads = 1;
        std::vector<char> expected;
        for (std::size_t g = 0; g < groups; ++g) {
            const auto one = results_of(request, column_of(x, groups, g).data(), nullptr);
            expected.insert(expected.end(), one.begin(), one.end());
        }
        request.shape = Shape::columns;
        request.groups = groups;
        INFO(name(method));
        REQUIRE(results_of(request, x.data(), nullptr) == expected);
    }
}

// The sum of a short group is rounded from a double that is exact, many at once.
TEMPLATE_TEST_CASE("sums of short groups are rounded once to every format", "[ops]", float, float16, bfloat16) {
    constexpr std::size_t groups = 4096, n = 3;
    std::vector<TestType> x(groups * n);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::uint64_t word = accuracy::hash(7, i);
        // Halfway between two numbers of a shorter format, and beside that; and the ends of
        // formats.
        const bool at_end = i / n % 8 == 0;
        const int exponent = (at_end ? (word & 64 ? largest_exponent<TestType> - 1 : -120) : 0) -
                             static_cast<int>(i % n * (word & 32 ? 8 : 13));
        x[i] = from_fields<TestType>({word % 2 == 0, std::max(exponent, -largest_exponent<TestType>),
                                      word & 4 ? 0 : word * 0x9e3779b97f4a7c15u});
    }
    for (const DType output : {DType::f16, DType::bf16, DType::f32, DType::f64, DType::f8e4m3, DType::f8e5m2}) {
        for (const Method method : {Method::exact, Method::tree}) {
            Request request{.op = Op::sum, .method = method, .dtype = dtype_of<TestType>, .output = output};
            request.device = cpu;
            request.n = n;
            if (!make_plan(request).status().ok()) continue; // not into this format
            std::vector<char> expected;
            for (std::size_t g = 0; g < groups; ++g) {
                const auto one = results_of(request, x.data() + g * n, nullptr);
                expected.insert(expected.end(), one.begin(), one.end());
            }
            request.groups = groups;
            std::vector<TestType> across(x.size());
            for (std::size_t i = 0; i < x.size(); ++i)
                across[i % n * groups + i / n] = x[i];
            for (const Isa isa : available_isas()) {
                INFO(name(output) << " by " << name(method) << ", " << name(isa));
                request.launch.isa = isa;
                request.shape = Shape::rows;
                REQUIRE(results_of(request, x.data(), nullptr) == expected);
                request.shape = Shape::columns;
                REQUIRE(results_of(request, across.data(), nullptr) == expected);
            }
        }
    }
}

} // namespace detreduce::proptests
