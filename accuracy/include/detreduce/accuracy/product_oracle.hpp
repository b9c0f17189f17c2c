// The oracle of products: all bits of a product of floating-point numbers, and the one number of
// the format nearest to it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <detreduce/accuracy/bounds.hpp>
#include <detreduce/accuracy/oracle.hpp>
#include <detreduce/fp/convert.hpp>

namespace detreduce::accuracy {

/// A product without rounding: ±significand · 2^exponent, of at most 2^20 numbers of any formats
/// that double holds.
class ExactProduct {
  public:
    void add(double x);
    template <class T>
    void add(std::span<const T> x) {
        for (const T v : x)
            add(static_cast<double>(fp::widen(v)));
    }

    /// Neither infinities nor NaN nor zeros were among the numbers: only then do magnitude() and
    /// exponent() describe the product.
    [[nodiscard]] bool is_number() const noexcept { return !nan_ && !infinite_ && !zero_; }
    [[nodiscard]] bool negative() const noexcept { return negative_; }
    [[nodiscard]] cpp_int magnitude() const;
    [[nodiscard]] std::int64_t exponent() const noexcept { return exponent_; }

    /// The product, rounded once to nearest, ties to even. Special values: lib/SPEC.md, section 11.
    template <class T>
    [[nodiscard]] T round() const {
        return fp::from_bits<T>(static_cast<fp::Bits<T>>(round(layout<T>, fp::Format<T>::canonical_nan)));
    }

  private:
    [[nodiscard]] std::uint64_t round(const Layout& format, std::uint64_t nan) const;

    std::vector<std::uint64_t> significands_; ///< all odd
    std::int64_t exponent_ = 0;
    bool negative_ = false, zero_ = false, infinite_ = false, nan_ = false;
};

/// |result − Πx| ≤ the bound of product_bound(), decided in integers. A result that is not finite
/// must be right where NaN, infinities or zeros are among the numbers; an infinity of numbers alone
/// must be due to a product that the bound allows to be that large.
[[nodiscard]] bool within_product_bound(const Parts& result, bool infinite, const Layout& format,
                                        const ExactProduct& exact, const ErrorBound& bound);
template <class T>
[[nodiscard]] bool within_product_bound(T result, const ExactProduct& exact, const ErrorBound& bound) {
    if (!exact.is_number()) return fp::to_bits(result) == fp::to_bits(exact.round<T>());
    if (fp::is_nan(result) || fp::is_negative(result) != exact.negative()) return false;
    const bool infinite = !is_finite(result);
    return within_product_bound(infinite ? Parts{} : parts(result), infinite, layout<T>, exact, bound);
}

} // namespace detreduce::accuracy
