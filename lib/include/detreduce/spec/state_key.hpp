// Elements as the words of states (lib/SPEC.md, section 18.2): integers whose MAX, over any number
// of parts, is the word of all.
#pragma once

#include <cstdint>

#include <detreduce/config.hpp>
#include <detreduce/fp/bits.hpp>
#include <detreduce/spec/order_key.hpp>

namespace detreduce::spec {

struct StateKey {
    /// That of no elements, which is the lowest.
    static constexpr std::int64_t nothing = INT64_MIN;

    View view;
    NanPolicy policy;

    /// That of NaN: above all numbers where one is enough, below all where they are passed over.
    [[nodiscard]] DETREDUCE_HD constexpr std::int64_t of_nan() const {
        return policy == NanPolicy::propagate ? INT64_MAX : nothing + 1;
    }
    [[nodiscard]] DETREDUCE_HD constexpr std::int64_t of(double x) const {
        if (fp::is_nan(x)) return of_nan();
        return turned(static_cast<std::int64_t>(KeyMap<double>::turned(fp::to_bits(x))));
    }
    /// The element again. Not of nothing.
    [[nodiscard]] DETREDUCE_HD constexpr double element(std::int64_t key) const {
        if (key == of_nan()) return fp::from_bits<double>(fp::Format<double>::canonical_nan);
        return fp::from_bits<double>(KeyMap<double>::turned(static_cast<fp::Bits<double>>(turned(key))));
    }
    /// Is this a word that there may be?
    [[nodiscard]] DETREDUCE_HD constexpr bool has(std::int64_t key) const {
        if (key == nothing || key == of_nan()) return true;
        const double x = element(key);
        return !fp::is_nan(x) && !(view == View::magnitude && fp::is_negative(x));
    }

  private:
    [[nodiscard]] DETREDUCE_HD constexpr std::int64_t turned(std::int64_t key) const {
        return view == View::minimum ? ~key : key;
    }
};

} // namespace detreduce::spec
