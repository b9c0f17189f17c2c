// How `exact` is fast: bins that turn additions of nearby numbers into integers without rounding.
// None of this changes a bit of a result; it is here since CPU and GPU use the same arithmetic.
//
// A bin of format B (p = precision − 1 bits below the leading one) starts as A = 1.5·2^p·Q, so that
// one unit in its last place is Q as long as it stays within its binade, which leaves 2^(p−1)·Q of
// room on either side. After
//     t = S + x;  q = t − S;  S = t;  r = x − q
// q is x rounded to a multiple of Q, r the exact remainder, at most Q/2; r goes on to the next bin,
// whose Q is smaller. The difference of the bit patterns of S and A is what the bin holds, as an
// integer in units of Q (Demmel & Nguyen 2013 and 2015 build on the same splitting; Malcolm 1971 on
// bins of integers).
#pragma once

#include <cstdint>

#include <detreduce/config.hpp>
#include <detreduce/fp/bits.hpp>

namespace detreduce::spec {

/// How many binades n ≥ 1 numbers of T may span if a double is to hold every sum of some of them.
/// All numbers but 0 are from 2^low to 2^high. Sums are below n · 2^high, and multiples of
/// 2^(low − precision + 1).
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr int plain_binades(std::uint64_t n) {
    int binades = fp::Format<double>::precision - fp::Format<T>::precision + 1;
    for (std::uint64_t most = 1; most < n && binades > 0; most *= 2)
        --binades;
    return binades;
}

/// Bins for numbers below 2^top in magnitude, `Bins` of them, read out after at most 2^LogAdds
/// additions to each.
template <class B, int Bins, int LogAdds>
struct ExactWindow {
    using F = fp::Format<B>;
    using Bits = fp::Bits<B>;
    static constexpr int p = F::precision - 1;
    static constexpr int bins = Bins;
    static constexpr int adds = 1 << LogAdds;
    static constexpr int first_step =
        p - 1 - LogAdds; ///< Q of bin 0 is 2^(top − first_step): 2^LogAdds numbers below 2^top fit
    static constexpr int step = p - LogAdds; ///< each further Q is 2^step finer: the remainders are at most Q/2
    /// Numbers of which an integer of 64 bits holds what they have in a bin: each at most
    /// 2^first_step, in units of its Q.
    static constexpr std::uint64_t most_held = (std::uint64_t{1} << (63 - first_step)) - 1;
    /// The last Q is 2^(top − span): multiples of it are summed exactly.
    static constexpr int span = first_step + step * (Bins - 1);
    /// Largest top: no bin overflows. Smallest: the last Q is the smallest number of B.
    static constexpr int highest_top = F::max_exponent - LogAdds - 2;
    static constexpr int lowest_top = F::min_exponent + span;

    /// Exponent of Q of bin k.
    [[nodiscard]] static DETREDUCE_HD constexpr int unit(int top, int k) { return top - first_step - step * k; }

    /// A of bin k.
    [[nodiscard]] static DETREDUCE_HD constexpr B anchor(int top, int k) {
        const int field = unit(top, k) + p + F::max_exponent;
        return fp::from_bits<B>(static_cast<Bits>(static_cast<Bits>(field) << p | Bits{1} << (p - 1)));
    }
};

} // namespace detreduce::spec
