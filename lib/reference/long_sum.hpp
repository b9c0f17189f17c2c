// Exact sums as they are done on paper: two long columns of digits, one for what is positive and
// one for what is negative, and a rounding that looks at one bit after the other. Numbers are taken
// apart and put together by the fields of their formats.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include <detreduce/fp/half.hpp>

namespace detreduce::reference {

/// Fields of a format: sign, exponent, fraction, from the top.
template <class T>
struct Layout;
template <>
struct Layout<float16> {
    using Bits = std::uint16_t;
    static constexpr int exponent_bits = 5, fraction_bits = 10;
};
template <>
struct Layout<bfloat16> {
    using Bits = std::uint16_t;
    static constexpr int exponent_bits = 8, fraction_bits = 7;
};
template <>
struct Layout<float> {
    using Bits = std::uint32_t;
    static constexpr int exponent_bits = 8, fraction_bits = 23;
};
template <>
struct Layout<double> {
    using Bits = std::uint64_t;
    static constexpr int exponent_bits = 11, fraction_bits = 52;
};
template <>
struct Layout<float8_e4m3> {
    using Bits = std::uint8_t;
    static constexpr int exponent_bits = 4, fraction_bits = 3;
};
template <>
struct Layout<float8_e5m2> {
    using Bits = std::uint8_t;
    static constexpr int exponent_bits = 5, fraction_bits = 2;
};
/// SPEC 1: f8e4m3 has numbers where others have infinities and NaN, and NaN alone where all bits
/// but the sign are set.
template <class T>
inline constexpr bool has_infinities = !std::is_same_v<T, float8_e4m3>;

/// A number in pieces: ±significand · 2^exponent unless it is infinite or NaN.
struct Pieces {
    bool negative, infinite, nan;
    std::uint64_t significand;
    int exponent;
};

template <class T>
Pieces pieces_of(T x) {
    using L = Layout<T>;
    typename L::Bits raw;
    std::memcpy(&raw, &x, sizeof raw);
    const std::uint64_t bits = raw, top = (1u << L::exponent_bits) - 1;
    const std::uint64_t fraction = bits % (std::uint64_t{1} << L::fraction_bits);
    const std::uint64_t field = (bits >> L::fraction_bits) % (top + 1);
    const bool negative = bits >> (L::fraction_bits + L::exponent_bits) != 0;
    const int one = static_cast<int>(top / 2) + L::fraction_bits; // the field of 1 is top / 2
    if (field == top && has_infinities<T>) return {negative, fraction == 0, fraction != 0, 0, 0};
    if (field == top && fraction + 1 == std::uint64_t{1} << L::fraction_bits) return {negative, false, true, 0, 0};
    if (field == 0) return {negative, false, false, fraction, 1 - one};
    return {negative, false, false, fraction + (std::uint64_t{1} << L::fraction_bits), static_cast<int>(field) - one};
}

template <class T>
T from_raw(std::uint64_t bits) {
    const auto raw = static_cast<typename Layout<T>::Bits>(bits);
    T x;
    std::memcpy(&x, &raw, sizeof x);
    return x;
}
/// SPEC 2: positive, with only the quiet bit of the payload.
template <class T>
T canonical_nan() {
    using L = Layout<T>;
    const std::uint64_t top = (1u << L::exponent_bits) - 1;
    if (!has_infinities<T>) return from_raw<T>((std::uint64_t{1} << (L::exponent_bits + L::fraction_bits)) - 1);
    return from_raw<T>(top << L::fraction_bits | std::uint64_t{1} << (L::fraction_bits - 1));
}
/// What lies beyond all numbers.
template <class T>
T infinity_of(bool negative) {
    using L = Layout<T>;
    const std::uint64_t top = (1u << L::exponent_bits) - 1;
    if (!has_infinities<T>) return canonical_nan<T>();
    return from_raw<T>(((negative ? top + 1 : 0) + top) << L::fraction_bits);
}
template <class T>
T zero_of(bool negative) {
    using L = Layout<T>;
    return from_raw<T>((negative ? std::uint64_t{1} : 0) << (L::exponent_bits + L::fraction_bits));
}

/// The value of x, which double holds whatever the format. Not for the payloads of NaNs.
template <class T>
double value_of(T x) {
    const Pieces p = pieces_of(x);
    const double magnitude = p.nan        ? std::numeric_limits<double>::quiet_NaN()
                             : p.infinite ? std::numeric_limits<double>::infinity()
                                          : std::ldexp(static_cast<double>(p.significand), p.exponent);
    return p.negative ? -magnitude : magnitude;
}

/// A natural number in units of 2^lowest, by its limbs, digits to the base 2^32, the lowest first.
class Column {
  public:
    static constexpr int lowest = -1088;

    Column() : limbs_(75) {} // up to 2^1312: more than 2^64 of the largest doubles

    void add(std::uint64_t value, int exponent) {
        const auto place = static_cast<std::size_t>(exponent - lowest);
        std::size_t k = place / 32;
        const std::uint64_t low = value << 32 >> 32, high = value >> 32;
        std::uint64_t part = low << (place % 32), next = high << (place % 32), carry = 0;
        for (; part != 0 || next != 0 || carry != 0; ++k) {
            const std::uint64_t sum = limbs_[k] + (part & 0xffffffffu) + carry;
            limbs_[k] = static_cast<std::uint32_t>(sum);
            carry = sum >> 32;
            part = (part >> 32) + next;
            next = 0;
        }
    }
    [[nodiscard]] bool is_less_than(const Column& other) const {
        for (std::size_t k = limbs_.size(); k-- > 0;) {
            if (limbs_[k] != other.limbs_[k]) return limbs_[k] < other.limbs_[k];
        }
        return false;
    }
    /// other ≤ *this.
    void subtract(const Column& other) {
        std::uint64_t borrow = 0;
        for (std::size_t k = 0; k < limbs_.size(); ++k) {
            const std::uint64_t less = other.limbs_[k] + borrow;
            borrow = limbs_[k] < less;
            limbs_[k] = static_cast<std::uint32_t>(limbs_[k] - less);
        }
    }
    /// The bit that counts 2^exponent.
    [[nodiscard]] bool bit(int exponent) const {
        const auto place = static_cast<std::size_t>(exponent - lowest);
        return (limbs_[place / 32] >> (place % 32) & 1) != 0;
    }
    /// Exponent of the highest bit that is set; less than `lowest` when there is none.
    [[nodiscard]] int highest_bit() const {
        int exponent = lowest + 32 * static_cast<int>(limbs_.size()) - 1;
        while (exponent >= lowest && !bit(exponent))
            --exponent;
        return exponent;
    }

  private:
    std::vector<std::uint32_t> limbs_;
};

/// The column's number rounded to nearest, ties to even, with a sign.
template <class T>
T rounded(const Column& column, bool negative) {
    using L = Layout<T>;
    const int bias = (1 << (L::exponent_bits - 1)) - 1, highest = column.highest_bit();
    if (highest > bias + (has_infinities<T> ? 0 : 1)) return infinity_of<T>(negative);
    const bool subnormal = highest < 1 - bias;
    const int last = (subnormal ? 1 - bias : highest) - L::fraction_bits; // the place that counts units of the result
    std::uint64_t units = 0;
    for (int e = highest; e >= last; --e)
        units = 2 * units + column.bit(e);
    bool more_than_half = false;
    for (int e = last - 2; e >= Column::lowest && !more_than_half; --e)
        more_than_half = column.bit(e);
    const bool half = column.bit(last - 1), up = half && (more_than_half || units % 2 == 1);
    // A significand with all of its bits adds one to the exponent's field, which is therefore one
    // too small here. A carry into the field, up to infinity, does the right thing by itself.
    const std::uint64_t field = subnormal ? 0 : static_cast<std::uint64_t>(highest + bias - 1);
    const std::uint64_t sign = (negative ? std::uint64_t{1} : 0) << (L::exponent_bits + L::fraction_bits);
    const std::uint64_t magnitude = (field << L::fraction_bits) + units + (up ? 1 : 0);
    if (!has_infinities<T> && magnitude + 1 >= std::uint64_t{1} << (L::exponent_bits + L::fraction_bits))
        return canonical_nan<T>();
    return from_raw<T>(sign | magnitude);
}

/// A sum without rounding.
class LongSum {
  public:
    template <class T>
    void add(T x) {
        const Pieces p = pieces_of(x);
        ++count_;
        nan_ = nan_ || p.nan;
        if (p.infinite) (p.negative ? minus_infinity_ : plus_infinity_) = true;
        if (p.infinite || p.nan) return;
        if (p.significand == 0) {
            negative_zeros_ += p.negative;
        } else {
            (p.negative ? minus_ : plus_).add(p.significand, p.exponent);
        }
    }
    template <class T>
    [[nodiscard]] T round() const {
        if (nan_ || (plus_infinity_ && minus_infinity_)) return canonical_nan<T>();
        if (plus_infinity_ || minus_infinity_) return infinity_of<T>(minus_infinity_);
        const bool negative = plus_.is_less_than(minus_);
        Column magnitude = negative ? minus_ : plus_;
        magnitude.subtract(negative ? plus_ : minus_);
        if (magnitude.highest_bit() < Column::lowest)
            return zero_of<T>(count_ > 0 && negative_zeros_ == count_); // −0 only where there was nothing else
        return rounded<T>(magnitude, negative);
    }

  private:
    Column plus_, minus_;
    std::uint64_t count_ = 0, negative_zeros_ = 0;
    bool nan_ = false, plus_infinity_ = false, minus_infinity_ = false;
};

/// x rounded to T.
template <class T, class From>
T converted(From x) {
    LongSum sum;
    sum.add(x);
    return sum.round<T>();
}

} // namespace detreduce::reference
