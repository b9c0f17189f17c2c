// From an accumulator to the result: the finalize of the op, rounded once to the dtype that was
// asked for.
#pragma once

#include <cstdint>
#include <type_traits>

#include <detreduce/config.hpp>
#include <detreduce/fp/convert.hpp>
#include <detreduce/types.hpp>

namespace detreduce::acc {

/// A result as the two doubles that it is rounded from to any format: the nearest one, which is
/// that of f64, and the one rounded to odd. So a kernel that is told the format when it runs
/// divides once, and not once a format: of a kernel that adds that was three quarters of its code.
struct Finished {
    double nearest, odd;

    template <class T>
    [[nodiscard]] DETREDUCE_HD T as() const {
        return fp::round_to<T>(std::is_same_v<T, double> ? nearest : odd);
    }
};

/// A rounded sum of n terms and what its roundings lost, as lib/SPEC.md, section 8, ends it. The
/// error of an overflow is no number, and that of an exact sum is zero: then the sum stands as it
/// is.
[[nodiscard]] DETREDUCE_HD Finished finished(fp::Eft<double> total, Finalize finalize, std::uint64_t n) {
    double value = total.value, error = fp::is_finite(total.error) ? total.error : 0.0;
    if (finalize != Finalize::sum && fp::is_finite(value)) {
        const bool mean = finalize == Finalize::mean;
        const auto count = static_cast<double>(n);
        const double q = mean ? value / count : fp::square_root(value);
        error = (fp::fused(-q, mean ? count : q, value) + error) / (mean ? count : q + q);
        value = q;
    }
    if (!fp::is_finite(value) || !fp::is_finite(error) || error == 0) return {value, value};
    return {value + error, fp::sum_rounded_to_odd(value, error)};
}
template <class T>
[[nodiscard]] DETREDUCE_HD T finish(fp::Eft<double> total, Finalize finalize, std::uint64_t n) {
    return finished(total, finalize, n).as<T>();
}

[[nodiscard]] DETREDUCE_HD fp::AnyFormat format_of(DType dtype) {
    switch (dtype) {
#define DETREDUCE_CASE(name, c_name, type)                                                                             \
    case DType::name:                                                                                                  \
        return fp::AnyFormat::of<type>();
        DETREDUCE_FORMATS(DETREDUCE_CASE)
#undef DETREDUCE_CASE
    }
    return {};
}
/// The bits that round(f) gives for the format f of `dtype`, to `out`: once, and not once a format.
template <class F>
DETREDUCE_HD void store_bits(void* out, DType dtype, const F& round) {
    const fp::AnyFormat f = format_of(dtype);
    const std::uint64_t bits = round(f);
    switch (f.bits) {
    case 8:
        *static_cast<std::uint8_t*>(out) = static_cast<std::uint8_t>(bits);
        break;
    case 16:
        *static_cast<std::uint16_t*>(out) = static_cast<std::uint16_t>(bits);
        break;
    case 32:
        *static_cast<float*>(out) = fp::from_bits<float>(static_cast<std::uint32_t>(bits));
        break;
    default:
        *static_cast<double*>(out) = fp::from_bits<double>(bits);
    }
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

DETREDUCE_HD void finish_into(void* out, DType dtype, fp::Eft<double> total, Finalize finalize, std::uint64_t n) {
    const Finished result = finished(total, finalize, n);
    store_as(out, dtype, [&](auto t) { return result.as<decltype(t)>(); });
}

} // namespace detreduce::acc
