// What a sum by `exact` is rounded from.
#pragma once

#include <detreduce/acc/exact_variance.hpp>
#include <detreduce/acc/finish.hpp>

namespace detreduce::host {

/// A sum, and which of its limbs are not zero: few, as a rule.
struct Limbs {
    acc::exact::Long number;
    acc::exact::LimbRange range;

    static Limbs of(const acc::exact::Long& number, int count) {
        acc::exact::LimbRange range{0, count};
        while (range.last > 0 && number.limb[range.last - 1] == 0)
            --range.last;
        while (range.first < range.last && number.limb[range.first] == 0)
            ++range.first;
        return {number, range};
    }
    static Limbs of_state(const acc::exact::Word* words) {
        return of({words, acc::exact::lowest_exponent, words}, acc::exact::limbs);
    }
    /// Of products: those of the middle state, unless `joined` has to take what the others hold.
    static Limbs of_products(const acc::exact::Word* states, acc::exact::Word* joined) {
        const acc::exact::Word *const middle = states + acc::exact::words, *const upper = middle + acc::exact::words;
        acc::exact::Word others = 0;
        for (int k = 0; k < acc::exact::limbs; ++k)
            others |= states[k] | upper[k];
        if (others == 0) return of_state(middle);
        for (int k = 0; k < acc::exact::product_limbs; ++k)
            joined[k] = acc::exact::joined_limb(states, k);
        return of({joined, acc::exact::lowest_product_exponent, middle}, acc::exact::product_limbs);
    }

    void store(void* out, DType output, Finalize finalize) const {
        acc::exact::Scratch<acc::exact::product_limbs> scratch; // not initialized
        const auto outcome = acc::exact::outcome(number, range.first, range.last, finalize, scratch);
        acc::store_as(out, output, [&](auto t) { return acc::exact::rounded<decltype(t)>(outcome); });
    }
};

} // namespace detreduce::host
