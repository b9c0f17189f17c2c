// Fixed-point numbers of a few words in registers: what the sums of a window's bins make together.
#pragma once

#include <detreduce/acc/exact_rounding.hpp>

#include "multiset/exact/words.cuh"

namespace detreduce::cuda::exact {

/// A two's complement number of 64·Limbs bits, the lowest limb first.
template <int Limbs>
struct Fixed {
    static constexpr int limbs = Limbs;
    std::uint64_t limb[Limbs] = {};

    /// Adds value · 2^Shift; the sum must fit.
    template <int Shift>
    __device__ __forceinline__ void add(__int128 value) {
        unsigned carry = 0;
#pragma unroll
        for (int i = 0; i < Limbs; ++i) {
            const int from = 64 * i - Shift; // the bit of the value that is this limb's lowest
            if (from <= -64) continue;
            const auto bits = static_cast<std::uint64_t>(from < 0     ? static_cast<unsigned __int128>(value) << -from
                                                         : from < 127 ? static_cast<unsigned __int128>(value >> from)
                                                                      : static_cast<unsigned __int128>(value >> 127));
            const std::uint64_t sum = limb[i] + bits, more = sum + carry;
            carry = (sum < bits) | (more < sum);
            limb[i] = more;
        }
    }
    /// Adds other · 2^shift, 0 ≤ shift ≤ 64; the sum must fit.
    template <int Others>
    __device__ __forceinline__ void add(const Fixed<Others>& other, int shift) {
        static_assert(Others < Limbs);
        const auto sign = static_cast<std::uint64_t>(static_cast<std::int64_t>(other.limb[Others - 1]) >> 63);
        unsigned carry = 0;
#pragma unroll
        for (int i = 0; i < Limbs; ++i) {
            const std::uint64_t at = i < Others ? other.limb[i] : sign, below = i == 0        ? 0
                                                                                : i <= Others ? other.limb[i - 1]
                                                                                              : sign;
            const std::uint64_t bits = shift == 0 ? at : shift == 64 ? below : at << shift | below >> (64 - shift);
            const std::uint64_t sum = limb[i] + bits, more = sum + carry;
            carry = (sum < bits) | (more < sum);
            limb[i] = more;
        }
    }
    [[nodiscard]] __device__ __forceinline__ bool is_zero() const {
        std::uint64_t any = 0;
#pragma unroll
        for (const std::uint64_t l : limb)
            any |= l;
        return any == 0;
    }
    /// The leading bits of a number that is not zero, in units of 2^unit.
    [[nodiscard]] __device__ __forceinline__ acc::exact::Leading leading(int unit) const {
        const bool negative = static_cast<std::int64_t>(limb[Limbs - 1]) < 0;
        std::uint64_t m[Limbs];
        unsigned carry = negative;
#pragma unroll
        for (int i = 0; i < Limbs; ++i) {
            m[i] = (negative ? ~limb[i] : limb[i]) + carry;
            carry = carry != 0 && m[i] == 0;
        }
#pragma unroll
        for (int iteration = 1; iteration < Limbs; ++iteration) { // until the highest limb is not zero
            if (m[Limbs - 1] != 0) continue;
#pragma unroll
            for (int i = Limbs - 1; i > 0; --i)
                m[i] = m[i - 1];
            m[0] = 0;
            unit -= 64;
        }
        const int lead = __clzll(static_cast<long long>(m[Limbs - 1]));
        unsigned __int128 first = static_cast<unsigned __int128>(m[Limbs - 1]) << 64;
        if constexpr (Limbs > 1) first |= m[Limbs - 2];
        first <<= lead;
        bool sticky = false;
        if constexpr (Limbs > 2) {
            first |= m[Limbs - 3] >> 1 >> (63 - lead);
            sticky = m[Limbs - 3] << lead != 0;
        }
#pragma unroll
        for (int i = 0; i + 3 < Limbs; ++i)
            sticky = sticky || m[i] != 0;
        return {negative, first, unit + 64 * (Limbs - 2) - lead, sticky};
    }
};

} // namespace detreduce::cuda::exact
