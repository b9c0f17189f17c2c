// Elements of an array whose dtype is known when it is read: as binary64, which holds all of them.
#pragma once

#include <cstdint>

#include <detreduce/acc/finish.hpp>
#include <detreduce/fp/convert.hpp>

namespace detreduce::spec {

/// Element i of an array of `dtype`, of 16 bits or more.
[[nodiscard]] DETREDUCE_HD double number_at(const void* p, DType dtype, std::uint64_t i) {
    switch (dtype) {
    case DType::f16:
        return static_cast<double>(fp::widen(static_cast<const float16*>(p)[i]));
    case DType::bf16:
        return static_cast<double>(fp::widen(static_cast<const bfloat16*>(p)[i]));
    case DType::f32:
        return static_cast<double>(static_cast<const float*>(p)[i]);
    default:
        return static_cast<const double*>(p)[i];
    }
}

/// Writes it: `value`, rounded once; NaN is the canonical one.
DETREDUCE_HD void put_number(void* p, DType dtype, std::uint64_t i, double value) {
    const std::uint64_t size = dtype == DType::f64 ? 8 : dtype == DType::f32 ? 4 : 2;
    acc::store_as(static_cast<char*>(p) + i * size, dtype, [&](auto t) { return fp::round_to<decltype(t)>(value); });
}

} // namespace detreduce::spec
