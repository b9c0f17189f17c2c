// Numbers as text: reading them correctly rounded, writing them so that they read back to the same
// bits. T is the type of any dtype.
#pragma once

#include <string>
#include <string_view>

namespace detreduce::program {

enum class Parsed { ok, not_a_number, too_large };

/// Reads all of `text` as one number, rounded to nearest, ties to even: decimal (`-1.5e3`),
/// hexadecimal (`0x1.8p+1`), `nan`, `inf` or `infinity` in any case, each with an optional sign.
/// What lies below the smallest subnormal rounds like everything else; what rounds to infinity is
/// `too_large`. `value` is set only when the answer is ok.
template <class T>
[[nodiscard]] Parsed parse_number(std::string_view text, T& value);

/// The shortest decimal that reads back to the same bits, the nearest of those: `0.1`, `1e+22`,
/// `-0`, `nan`, `-inf`.
template <class T>
[[nodiscard]] std::string shortest_decimal(T value);

/// Hexadecimal float as C's %a writes it: `0x1.8p+1`, `-0x0p+0`, `nan`, `inf`.
template <class T>
[[nodiscard]] std::string hexadecimal(T value);

/// The bits as an integer: `0x40400000`.
template <class T>
[[nodiscard]] std::string bits_text(T value);

} // namespace detreduce::program
