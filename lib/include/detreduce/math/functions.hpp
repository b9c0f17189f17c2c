// How far the functions may be from the true value. Documentation, tests and reports read this one
// table.
#pragma once

#include <cstdint>

#include <detreduce/math/parts.hpp>

namespace detreduce::math {

enum class Function : std::uint8_t { exp, expm1, log, log1p, sigmoid, softplus, tanh, rsqrt };

struct Properties {
    Function function;
    const char* name;
    double max_ulp_f32; ///< holds for each of the 2^32 inputs
    double max_ulp_f64; ///< measured, with a margin; not proved
};

// Beside each line, what was measured: the largest error of all floats, and of two million doubles
// (proptests/math/accuracy_tests.cpp).
inline constexpr Properties functions[] = {
    {Function::exp, "exp", 0.66, 0.7},           // 0.65461, 0.63674
    {Function::expm1, "expm1", 0.57, 0.6},       // 0.56380, 0.54297
    {Function::log, "log", 0.67, 0.7},           // 0.66183, 0.61635
    {Function::log1p, "log1p", 0.67, 0.7},       // 0.66183, 0.65070
    {Function::sigmoid, "sigmoid", 0.52, 0.53},  // 0.51664, 0.50627
    {Function::softplus, "softplus", 0.7, 0.75}, // 0.69120, 0.64751
    {Function::tanh, "tanh", 0.55, 0.56},        // 0.54483, 0.52642
    {Function::rsqrt, "rsqrt", 0.5, 0.501},      // 0.50000: correctly rounded, 0.50000
};

/// The largest error that f may have, in units of the last place of T at the true value, subnormal
/// or not.
template <Real T>
[[nodiscard]] constexpr double max_ulp(Function f) {
    const Properties& p = functions[static_cast<int>(f)];
    return fp::is_f32<T> ? p.max_ulp_f32 : p.max_ulp_f64;
}

} // namespace detreduce::math
