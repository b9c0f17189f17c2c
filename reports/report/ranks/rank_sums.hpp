// What programs by many ranks (mpi_sums.cpp, nccl_sums.cpp) print for the determinism section
// (src/rank_sums.hpp): the same sum, of which each rank has a piece.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/detreduce.hpp>
#include <detreduce/fp/format.hpp>

namespace detreduce::report {

struct RankArguments {
    std::uint64_t n = 0, seed = 0;
    int ranks = 0; ///< of NCCL; MPI says itself
};
/// --n N --seed S [--ranks R]
[[nodiscard]] inline RankArguments rank_arguments(int argc, char** argv) {
    RankArguments a;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const std::uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
        if (name == "--n") a.n = value;
        if (name == "--seed") a.seed = value;
        if (name == "--ranks") a.ranks = static_cast<int>(value);
    }
    return a;
}

/// f({}) for each element type that the section has.
template <class F>
void for_each_dtype(const F& f) {
    for (const DType dtype : dtypes())
        if (!has_8_bits(dtype)) with_dtype_from_16_bits(dtype, f);
}

/// 16-bit elements are summed to f32, as in the section.
template <class T>
using RankSum = fp::Arithmetic<T>;

/// The piece of one rank, of the section's data.
template <class T>
[[nodiscard]] std::vector<T> piece_of(const RankArguments& a, int rank, int ranks) {
    const std::vector<T> all = accuracy::generate<T>(accuracy::Family::normal, a.n, a.seed);
    const auto cut = [&](int r) {
        return all.begin() +
               static_cast<std::ptrdiff_t>(a.n * static_cast<std::uint64_t>(r) / static_cast<std::uint64_t>(ranks));
    };
    return {cut(rank), cut(rank + 1)};
}

/// "f32 exact mpi 0x3f800000"
template <class T>
void print_sum(Method method, const char* way, RankSum<T> sum) {
    std::printf("%s %s %s 0x%0*llx\n", std::string(name(dtype_of<T>)).c_str(), std::string(name(method)).c_str(), way,
                static_cast<int>(2 * sizeof sum), static_cast<unsigned long long>(fp::to_bits(sum)));
}

} // namespace detreduce::report
