// From an accumulator to the result: the ending of the op, rounded once to the dtype that was asked for.
#pragma once

#include <cstdint>

#include <detreduce/config.hpp>
#include <detreduce/fp/convert.hpp>
#include <detreduce/types.hpp>

namespace detreduce::acc {

/// A rounded sum of n terms and what its roundings lost, as lib/SPEC.md, section 8, ends it. The error of an overflow is no number, and that
/// of an exact sum is zero: then the sum stands as it is.
template <class T>
[[nodiscard]] DETREDUCE_HD T finish(fp::Eft<double> total, Ending ending, std::uint64_t n) {
    const double error = fp::is_finite(total.error) ? total.error : 0.0;
    fp::Eft<double> result{total.value, error};
    if (fp::is_finite(total.value)) {
        if (ending == Ending::mean) {
            const auto count = static_cast<double>(n);
            const double q = total.value / count;
            result = {q, (fp::fused(-q, count, total.value) + error) / count};
        } else if (ending == Ending::root) {
            const double q = fp::square_root(total.value);
            result = {q, (fp::fused(-q, q, total.value) + error) / (q + q)};
        }
    }
    if (!fp::is_finite(result.value) || !fp::is_finite(result.error) || result.error == 0)
        return fp::round_to<T>(result.value);
    return fp::sum_rounded_to<T>(result.value, result.error);
}

/// What f(T{}) gives for the T of `dtype`, to `out`.
template <class F>
DETREDUCE_HD void store_as(void* out, DType dtype, const F& f) {
    switch (dtype) {
#define DETREDUCE_CASE(name, c_name, type)                                                                             \
    case DType::name:                                                                                                  \
        *static_cast<type*>(out) = f(type{});                                                                          \
        break;
        DETREDUCE_FORMATS(DETREDUCE_CASE)
#undef DETREDUCE_CASE
    }
}

DETREDUCE_HD void finish_into(void* out, DType dtype, fp::Eft<double> total, Ending ending, std::uint64_t n) {
    store_as(out, dtype, [&](auto t) { return finish<decltype(t)>(total, ending, n); });
}

} // namespace detreduce::acc
