// Sums of bins, and their rounding without a state.
#pragma once

#include "exact/terms.cuh"

namespace detreduce::cuda::exact {

/// What the bins of a window hold of a group: of the values, and of what products of doubles lost. Each sum is low + 2^32·high, so that sums of many
/// parts can be added up.
template <class BinsOf>
struct BinSums {
    static constexpr int bins = BinsOf::window_bins, count = BinsOf::has_errors ? 2 * bins : bins;
    Word low[count], high[count];
    int top;

    __device__ __forceinline__ void set(int k, Word sum) {
        low[k] = sum & 0xffffffff;
        high[k] = sum >> 32;
    }
    __device__ __forceinline__ void add(int k, Word sum) {
        low[k] += sum & 0xffffffff;
        high[k] += sum >> 32;
    }
};

/// Rounds a group of n elements from the sums of its bins. None of them was NaN or infinite, nor were all −0. Not inlined, and by value, as
/// what a call has the address of is kept in memory.
template <class BinsOf>
__device__ __noinline__ void round_sums(BinSums<BinsOf> sums, std::uint64_t n, Finish finish) {
    using Sums = BinSums<BinsOf>;
    // In units of the finest bin's; where the others are is known at compile time.
    constexpr int lowest = BinsOf::relative_unit(Sums::count - 1), above = BinsOf::relative_unit(0) - lowest,
                  digits = (above + 96) / 32 + 2;
    Word digit[digits] = {};
#pragma unroll
    for (int k = 0; k < Sums::count; ++k) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int unit = BinsOf::relative_unit(k) - lowest + 32 * half;
            const acc::exact::Deposit d =
                acc::exact::split(half ? sums.high[k] : sums.low[k], unit + acc::exact::lowest_exponent);
#pragma unroll
            for (int i = 0; i < 3; ++i)
                digit[d.first + i] += d.digit[i];
        }
    }
    acc::exact::Scratch<digits> scratch;
    acc::exact::Leading a =
        acc::exact::leading(acc::exact::Long{digit, sums.top + lowest, nullptr}, 0, digits, scratch);
    const bool zero = a.significand == 0;
    if (!zero && finish.finalize != Finalize::sum) a = acc::exact::ended(a, finish.finalize, n);
    acc::store_as(finish.out, finish.output, [&](auto t) {
        using T = decltype(t);
        return zero ? T{} : acc::exact::rounded<T>(a);
    });
}

} // namespace detreduce::cuda::exact
