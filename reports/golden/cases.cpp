#include "golden/cases.hpp"

#include <array>

#include "golden/boundaries.hpp"

namespace detreduce::golden {
namespace {

using accuracy::Family;

/// Inputs of one dtype in the making.
class Inputs {
  public:
    explicit Inputs(DType dtype, std::vector<Case>& cases) : dtype_(dtype), cases_(cases) {}

    /// Every method, to the elements' own dtype.
    void add(Family family, std::uint64_t n, std::uint64_t seed) {
        for (const Method method : golden_methods())
            cases_.push_back({method, dtype_, dtype_, family, n, seed});
    }

    /// The input that was added last once more, to every other output that a method gives.
    void add_other_outputs() {
        const Case last = cases_.back();
        for (const Method method : golden_methods()) {
            for (const DType output : dtypes()) {
                const bool given = method == Method::exact || embeds(dtype_, output);
                if (output != dtype_ && given && (has_8_bits(dtype_) || !has_8_bits(output)))
                    cases_.push_back({method, dtype_, output, last.family, last.n, last.seed});
            }
        }
    }

  private:
    DType dtype_;
    std::vector<Case>& cases_;
};

/// Sizes at and beside every boundary, with families in turn whose sums stay finite, and large
/// ones.
void add_sizes(DType dtype, Inputs& inputs) {
    constexpr std::array small{
        Family::normal,     Family::uniform, Family::boundary_mantissas, Family::ill_conditioned, Family::integers,
        Family::half_zeros, Family::wide};
    constexpr std::array large{Family::normal, Family::uniform, Family::alternating};
    const Boundaries b = boundaries_of(dtype);
    std::uint64_t seed = 1000;
    for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, b.lanes - 1,
                                  b.lanes, b.lanes + 1, 2 * b.lanes + 1, b.chunk - 1, b.chunk, b.chunk + 1,
                                  3 * b.chunk + 1, b.tile - 1, b.tile, b.tile + 1, 2 * b.tile, 2 * b.tile + 1}) {
        inputs.add(small[seed % small.size()], n, seed);
        ++seed;
    }
    for (const std::uint64_t n : {100 * b.tile + 1, std::uint64_t{1000003}, std::uint64_t{3000017}}) {
        inputs.add(large[seed % large.size()], n, seed);
        ++seed;
    }
    inputs.add(Family::uniform, b.level + b.tile + 1, seed); // uniform: of so many, numbers that are made quickly
}

/// Every family, with a tail in each part of the order.
void add_families(DType dtype, Inputs& inputs) {
    for (const Family family : accuracy::families()) {
        inputs.add(family, 12346, 1);
        const bool has_many_digits = family == Family::normal || family == Family::wide || family == Family::lognormal;
        if (is_narrow(dtype) || has_many_digits) inputs.add_other_outputs();
    }
    for (const std::uint64_t seed : {3, 4, 7}) // NaN, +inf, −inf; with seed 1 both infinities
        inputs.add(Family::nonfinite, 12345 + seed, seed);
}

} // namespace

std::uint64_t results_of(const Case& c) {
    const std::uint64_t groups = c.shape == Shape::tensors ? (c.each ? c.groups + 1 : 1) : c.groups;
    return groups * static_cast<std::uint64_t>(info(c.op).results);
}

bool same_input(const Case& a, const Case& b) {
    const bool same_elements = a.dtype == b.dtype && a.family == b.family && a.n == b.n && a.seed == b.seed;
    const bool same_place = a.shape == b.shape && a.groups == b.groups && a.stride == b.stride;
    return same_elements && same_place && (a.op == Op::prod) == (b.op == Op::prod);
}

std::vector<Method> golden_methods() {
    std::vector<Method> all;
    for (const MethodInfo& m : methods()) {
        if (m.guarantee != Guarantee::none && m.on_cpu && m.on_cuda) all.push_back(m.method);
    }
    return all;
}

std::vector<Case> sum_cases() {
    std::vector<Case> cases;
    for (const DType dtype : dtypes()) {
        Inputs inputs(dtype, cases);
        add_sizes(dtype, inputs);
        add_families(dtype, inputs);
    }
    return cases;
}

} // namespace detreduce::golden
