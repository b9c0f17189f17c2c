// All that is known of a dtype, as traits. A new one is a line of DETREDUCE_FORMATS, its Format,
// and its conversion to the format in which it is added (fp/convert.hpp).
#pragma once

#include <cstdint>
#include <type_traits>

#include <detreduce/config.hpp>
#include <detreduce/fp/half.hpp>

/// X(enumerator and name, name in C, type) of every dtype, in the order of DType: those of row ops,
/// losses and kernels, and those of 8 bits.
#define DETREDUCE_FORMATS_FROM_16_BITS(X)                                                                              \
    X(f16, F16, float16)                                                                                               \
    X(bf16, BF16, bfloat16)                                                                                            \
    X(f32, F32, float)                                                                                                 \
    X(f64, F64, double)
#define DETREDUCE_FORMATS_OF_8_BITS(X)                                                                                 \
    X(f8e4m3, F8E4M3, float8_e4m3)                                                                                     \
    X(f8e5m2, F8E5M2, float8_e5m2)
#define DETREDUCE_FORMATS(X)                                                                                           \
    DETREDUCE_FORMATS_FROM_16_BITS(X)                                                                                  \
    DETREDUCE_FORMATS_OF_8_BITS(X)

namespace detreduce::fp {

/// What a binary format is made of, and what follows from it. AddedIn is the format in which its
/// elements are added.
template <class BitsT, class AddedIn, int Precision, int MinExponent, int MaxExponent, BitsT CanonicalNan>
struct BinaryFormat {
    using Bits = BitsT;
    using Arithmetic = AddedIn;
    static constexpr int bits = 8 * sizeof(Bits), elements_in_16_bytes = 128 / bits;
    static constexpr int precision =
        Precision; ///< significant bits, with the hidden one: unit roundoff u = 2^-precision
    static constexpr int min_exponent = MinExponent; ///< exponent of the smallest subnormal
    static constexpr int max_exponent = MaxExponent;
    static constexpr int bias = 2 - MinExponent - Precision; ///< the smallest normal number is 2^(1 − bias)
    /// Without infinities the highest exponent has numbers, and one NaN of each sign, all of whose
    /// bits are set.
    static constexpr bool has_inf = MaxExponent == bias;
    static constexpr Bits sign = static_cast<Bits>(Bits{1} << (bits - 1));
    static constexpr Bits largest = ///< the bits of the largest number
        static_cast<Bits>(static_cast<Bits>(~sign) - (has_inf ? Bits{1} << (Precision - 1) : Bits{1}));
    static constexpr Bits canonical_nan = CanonicalNan;
    static constexpr Bits nan_codes = ///< how many NaN there are of each sign
        static_cast<Bits>(static_cast<Bits>(~sign) - largest - has_inf);
};

template <class T>
struct Format;
template <>
struct Format<float16> : BinaryFormat<std::uint16_t, float, 11, -24, 15, 0x7e00u> {};
template <>
struct Format<bfloat16> : BinaryFormat<std::uint16_t, float, 8, -133, 127, 0x7fc0u> {};
template <>
struct Format<float> : BinaryFormat<std::uint32_t, float, 24, -149, 127, 0x7fc00000u> {};
template <>
struct Format<double> : BinaryFormat<std::uint64_t, double, 53, -1074, 1023, 0x7ff8000000000000ull> {};
template <>
struct Format<float8_e4m3> : BinaryFormat<std::uint8_t, float, 4, -9, 8, 0x7fu> {};
template <>
struct Format<float8_e5m2> : BinaryFormat<std::uint8_t, float, 3, -16, 15, 0x7eu> {};

/// What a BinaryFormat is where the dtype is known only when a program runs.
struct AnyFormat {
    int bits, precision, min_exponent, max_exponent;

    template <class T>
    [[nodiscard]] static DETREDUCE_HD constexpr AnyFormat of() {
        using F = Format<T>;
        return {F::bits, F::precision, F::min_exponent, F::max_exponent};
    }
    /// With infinities the largest exponent is the bias; without them it is one more.
    [[nodiscard]] DETREDUCE_HD constexpr bool has_inf() const { return max_exponent + min_exponent + precision == 2; }
    [[nodiscard]] DETREDUCE_HD constexpr std::uint64_t sign() const { return std::uint64_t{1} << (bits - 1); }
    [[nodiscard]] DETREDUCE_HD constexpr std::uint64_t largest() const {
        return sign() - 1 - (has_inf() ? std::uint64_t{1} << (precision - 1) : 1);
    }
    [[nodiscard]] DETREDUCE_HD constexpr std::uint64_t canonical_nan() const {
        return sign() - 1 - (has_inf() ? (std::uint64_t{1} << (precision - 2)) - 1 : 0);
    }
};
#define DETREDUCE_CHECK(name, c_name, type)                                                                            \
    static_assert(AnyFormat::of<type>().largest() == Format<type>::largest &&                                          \
                  AnyFormat::of<type>().canonical_nan() == Format<type>::canonical_nan &&                              \
                  AnyFormat::of<type>().has_inf() == Format<type>::has_inf);
DETREDUCE_FORMATS(DETREDUCE_CHECK)
#undef DETREDUCE_CHECK

template <class T>
using Bits = typename Format<T>::Bits;
/// The format in which elements of T are added.
template <class T>
using Arithmetic = typename Format<T>::Arithmetic;

/// Is every T a number of Wide, too?
template <class T, class Wide>
inline constexpr bool embeds_in = Format<T>::precision <= Format<Wide>::precision&& Format<T>::min_exponent >=
                                  Format<Wide>::min_exponent&& Format<T>::max_exponent <= Format<Wide>::max_exponent;
/// Are elements added in a wider format?
template <class T>
inline constexpr bool is_narrow = !std::is_same_v<T, Arithmetic<T>>;
template <class T>
inline constexpr bool is_f32 = std::is_same_v<T, float>;
template <class T>
inline constexpr bool is_f64 = std::is_same_v<T, double>;
template <class T>
inline constexpr bool has_8_bits = Format<T>::bits == 8;
/// Also of what is no format at all.
template <class T>
inline constexpr bool has_16_bits = false;
template <class T>
requires(Format<T>::bits == 16) inline constexpr bool has_16_bits<T> = true;
/// Is the product of any two elements a double, without rounding?
template <class T>
inline constexpr bool products_are_doubles = 2 * Format<T>::precision <= 53 && 2 * Format<T>::min_exponent >= -1074;

} // namespace detreduce::fp
