// Columns by `exact`: strips of them, cut at any place, and those that need more than their bins.
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

/// Numbers whose exponents span `range` below 2^3; of every fifth column the zeros of both signs,
/// or −0 alone; and in some columns one number beyond all the others.
template <class T>
std::vector<T> numbers(std::size_t n, std::size_t stride, unsigned range) {
    std::vector<T> x(n * stride);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t row = i / stride, column = i % stride;
        const std::uint64_t word = accuracy::hash(range, i);
        const int exponent = 3 - static_cast<int>((word >> 8) % range);
        x[i] = from_fields<T>({word % 2 == 0, std::max(exponent, -largest_exponent<T>), word * 0x9e3779b97f4a7c15u});
        if (column % 5 == 4) x[i] = fp::from_bits<T>(column % 2 == 0 || row != n / 2 ? fp::sign_mask<T> : 0);
        if (row != n - 1) continue;
        if (column % 67 == 13) x[i] = from_fields<T>({false, largest_exponent<T> - 1, word});
        if (column % 67 == 21) x[i] = infinity<T>;
        if (column % 67 == 22) x[i] = quiet_nan<T>;
    }
    return x;
}

} // namespace

TEMPLATE_TEST_CASE("exact columns: as many sums of one column", "[ops]", float, double, float16, bfloat16) {
    const std::size_t columns[] = {2, 3, 7, 9, 63, 65, 255, 256, 257, 519}, rows[] = {1, 2, 15, 16, 17, 33, 64, 100};
    for (const std::size_t groups : columns) {
        for (const std::size_t n : rows) {
            for (const unsigned range : {2u, 30u, 300u}) {
                const std::size_t stride = groups + (range == 2 ? 0 : n % 3);
                const std::vector<TestType> x = numbers<TestType>(n, stride, range);
                std::vector<TestType> expected, column(n);
                for (std::size_t g = 0; g < groups; ++g) {
                    for (std::size_t i = 0; i < n; ++i)
                        column[i] = x[i * stride + g];
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

} // namespace detreduce::proptests
