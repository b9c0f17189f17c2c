// Correct rounding of exact integers and quotients, written out: converting cpp_int to double is
// wrong in Boost 1.74 (ties) and aborts on overflow in 1.81.
#pragma once

#include <cstdint>

#include <boost/multiprecision/cpp_int.hpp>

#include <detreduce/fp/bits.hpp>

namespace detreduce::accuracy {

using boost::multiprecision::cpp_int;

/// A binary format of at most 64 bits, as numbers (fp::Format has them as types).
struct Layout {
    int size_in_bits, precision, min_exponent, max_exponent;
    bool has_inf; ///< or else the largest number is not all ones, and beyond it is NaN
};
template <class T>
inline constexpr Layout layout{8 * static_cast<int>(sizeof(T)), fp::Format<T>::precision, fp::Format<T>::min_exponent,
                               fp::Format<T>::max_exponent, fp::Format<T>::has_inf};

/// The bits of value·2^exponent2 rounded once to the format: to nearest, ties to even, subnormals
/// included; ±inf on overflow, or the NaN of all ones. Zero gives +0; a negative value too small
/// for the format gives −0, as IEEE 754 says.
[[nodiscard]] std::uint64_t rounded_bits(const cpp_int& value, int exponent2, const Layout& format);

template <class T>
[[nodiscard]] T round_scaled(const cpp_int& value, int exponent2) {
    return fp::from_bits<T>(static_cast<fp::Bits<T>>(rounded_bits(value, exponent2, layout<T>)));
}

/// The double nearest to numerator / denominator, both ≥ 0, denominator > 0.
[[nodiscard]] double round_quotient(const cpp_int& numerator, const cpp_int& denominator);

} // namespace detreduce::accuracy
