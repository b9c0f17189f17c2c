#include "golden/cases.hpp"

#include <array>

#include <detreduce/spec/tree_order.hpp>

namespace detreduce::golden {
namespace {

using accuracy::Family;

/// Those whose bits are promised and that every backend has.
constexpr std::array golden_methods{Method::exact, Method::compensated, Method::kahan, Method::tree};

constexpr bool is_narrow(DType dtype) {
    return size_of(dtype) == 2;
}

/// Where the order of the methods changes its course, for elements of one dtype.
struct Boundaries {
    std::uint64_t lanes, chunk, tile;
    std::uint64_t level; ///< beyond it there are two levels of tiles above the elements
};
Boundaries boundaries_of(DType dtype) {
    const std::uint64_t accumulator_bytes = is_narrow(dtype) ? 4 : size_of(dtype);
    const std::uint64_t in_tile = spec::rows_per_chunk * spec::chunks_per_tile; // rows
    const std::uint64_t lanes = spec::row_bytes / size_of(dtype), above = spec::row_bytes / accumulator_bytes * in_tile;
    return {lanes, spec::rows_per_chunk * lanes, in_tile * lanes, in_tile * lanes * above};
}

/// Inputs of one dtype in the making.
class Inputs {
  public:
    explicit Inputs(DType dtype, std::vector<Case>& cases) : dtype_(dtype), cases_(cases) {}

    /// Every method, to the elements' own dtype.
    void add(Family family, std::uint64_t n, std::uint64_t seed) {
        for (const Method method : golden_methods)
            cases_.push_back({method, dtype_, dtype_, family, n, seed});
    }

    /// The input that was added last once more, to every other output that a method gives.
    void add_other_outputs() {
        const Case last = cases_.back();
        for (const Method method : golden_methods) {
            for (const DType output : dtypes()) {
                const bool given = method == Method::exact || size_of(output) > size_of(dtype_);
                if (output != dtype_ && given)
                    cases_.push_back({method, dtype_, output, last.family, last.n, last.seed});
            }
        }
    }

  private:
    DType dtype_;
    std::vector<Case>& cases_;
};

/// Sizes at and beside every boundary, with families in turn whose sums stay finite, and large ones.
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

std::vector<Case> all_cases() {
    std::vector<Case> cases;
    for (const DType dtype : dtypes()) {
        Inputs inputs(dtype, cases);
        add_sizes(dtype, inputs);
        add_families(dtype, inputs);
    }
    return cases;
}

} // namespace detreduce::golden
