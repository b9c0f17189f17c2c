// The digits of a number in text, as many as there are: to tell on which side of a floating-point
// number it lies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace detreduce::program {

/// 0.d₀d₁d₂… · base^exponent with d₀ ≠ 0 and no zeros at the end; no digits for zero. The base
/// is 10, or 2 for hexadecimal text: one form for each number.
struct Digits {
    std::string digits;
    std::int64_t exponent = 0;
};

/// Of `text`, a number without sign and 0x.
[[nodiscard]] Digits digits_of(std::string_view text, bool hex);

/// Is the number `text` below (−1), equal to (0) or above (1) x > 0? For x = k·2^e with k < 2^12
/// and −134 ≤ e < 128, as are all numbers of the 16-bit formats and those halfway between two of
/// them: their decimals have at most 98 digits.
[[nodiscard]] int compare_with(std::string_view text, bool hex, double x);

/// The number after e or p, held within ±10^15: no line is long enough for its digits to make up
/// for more.
[[nodiscard]] std::int64_t exponent_of(std::string_view text);

} // namespace detreduce::program
