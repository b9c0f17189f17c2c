// How far the functions may be from the true value. Documentation, tests and reports read this one table.
#pragma once

#include <cstdint>

#include <detreduce/math/parts.hpp>

namespace detreduce::math {

enum class Function : std::uint8_t { exp, expm1, log, log1p, sigmoid, softplus, tanh, rsqrt };

struct Properties {
    Function function;
    const char* name;
    double max_ulp_f32, max_ulp_f64;
};

inline constexpr Properties functions[] = {
    {Function::exp, "exp", 1, 1},     {Function::expm1, "expm1", 1, 1},     {Function::log, "log", 1, 1},
    {Function::log1p, "log1p", 1, 1}, {Function::sigmoid, "sigmoid", 1, 1}, {Function::softplus, "softplus", 1, 1},
    {Function::tanh, "tanh", 1, 1},   {Function::rsqrt, "rsqrt", 1, 1},
};

template <Real T>
[[nodiscard]] constexpr double max_ulp(Function f) {
    const Properties& p = functions[static_cast<int>(f)];
    return sizeof(T) == 4 ? p.max_ulp_f32 : p.max_ulp_f64;
}

} // namespace detreduce::math
