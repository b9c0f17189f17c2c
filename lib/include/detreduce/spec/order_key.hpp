// Elements as integers in the order of lib/SPEC.md, section 9: every op that compares looks for the
// largest of these keys, on host and device.
#pragma once

#include <cstdint>
#include <type_traits>

#include <detreduce/config.hpp>
#include <detreduce/fp/bits.hpp>
#include <detreduce/types.hpp>

namespace detreduce::spec {

/// What is the largest: the element, the smallest of them, the largest magnitude.
enum class View : std::uint8_t { maximum, minimum, magnitude };

[[nodiscard]] constexpr View view_of(Op op) {
    if (op == Op::min || op == Op::argmin) return View::minimum;
    return op == Op::nrminf ? View::magnitude : View::maximum;
}

/// x as a key, and back. Bits of numbers with a plus sign are in order as signed integers; those of
/// others are once all bits but the sign are turned over. NaN are then at both ends, and adding as
/// many as there are of a sign moves them to one: above all numbers where one is enough, below all
/// numbers where they are ignored.
template <class T>
struct KeyMap {
    using Bits = fp::Bits<T>;
    using Key = std::make_signed_t<Bits>;
    static constexpr int sign_shift = 8 * sizeof(T) - 1;
    static constexpr Bits magnitude_mask = static_cast<Bits>(~fp::sign_mask<T>);
    static constexpr Bits nan_codes = fp::Format<T>::nan_codes;
    static constexpr Key lowest = static_cast<Key>(fp::sign_mask<T>), highest = static_cast<Key>(magnitude_mask);

    Bits keep = static_cast<Bits>(~Bits{0}); ///< bits that are looked at
    Bits flip = 0;                           ///< all of them where the minimum is wanted
    Bits add = 0;
    Key low = lowest, high = highest; ///< one of them is where all NaN are put: see settled()
    Key nan = highest;                ///< the key that stands for NaN

    [[nodiscard]] static DETREDUCE_HD constexpr KeyMap of(View view, NanPolicy policy) {
        KeyMap map;
        const bool propagates = policy == NanPolicy::propagate, magnitude = view == View::magnitude;
        if (magnitude) map.keep = magnitude_mask;
        if (view == View::minimum) map.flip = static_cast<Bits>(~Bits{0});
        if (propagates) {
            map.add = magnitude ? Bits{0} : static_cast<Bits>(Bits{0} - nan_codes);
            map.nan = map.high = static_cast<Key>(highest - (magnitude ? 1 : 2) * static_cast<Key>(nan_codes) + 1);
        } else {
            map.add = nan_codes;
            map.nan = map.low = static_cast<Key>(magnitude ? static_cast<Key>(nan_codes) - 1
                                                           : lowest + 2 * static_cast<Key>(nan_codes) - 1);
        }
        return map;
    }

    [[nodiscard]] static DETREDUCE_HD constexpr Bits turned(Bits b) {
        const Bits negative = static_cast<Bits>(static_cast<Key>(b) >> sign_shift);
        return static_cast<Bits>(b ^ (negative & magnitude_mask));
    }
    [[nodiscard]] DETREDUCE_HD constexpr Key key(T x) const {
        const Bits b = turned(static_cast<Bits>(fp::to_bits(x) & keep));
        return static_cast<Key>(static_cast<Bits>((b ^ flip) + add));
    }
    /// One key for every NaN.
    [[nodiscard]] DETREDUCE_HD constexpr Key settled(Key k) const { return k < low ? low : k > high ? high : k; }
    /// The element whose key it is, or its magnitude. NaN is the canonical one.
    [[nodiscard]] DETREDUCE_HD constexpr T element(Key settled_key) const {
        if (settled_key == nan) return fp::from_bits<T>(fp::Format<T>::canonical_nan);
        const Bits b = static_cast<Bits>(static_cast<Bits>(static_cast<Bits>(settled_key) - add) ^ flip);
        return fp::from_bits<T>(turned(b));
    }
};

/// An element that was found. Of equal keys the lower index is better.
template <class Key>
struct Found {
    Key key;
    std::uint64_t index;
    [[nodiscard]] DETREDUCE_HD constexpr bool beats(const Found& other) const {
        return key > other.key || (key == other.key && index < other.index);
    }
};

} // namespace detreduce::spec
