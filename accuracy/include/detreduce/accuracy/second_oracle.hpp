// The second oracle: the same sum by GNU MPFR, sharing no code with the first, so that each can
// catch an error of the other.
// Some twelve times slower: for tests.
#pragma once

#include <memory>
#include <span>

#include <detreduce/fp/convert.hpp>

namespace detreduce::accuracy {

/// A sum of numbers of any of the formats in 2300 bits, which holds every partial sum of up to 2^64
/// terms exactly; an inexact step would throw std::logic_error. Special values follow from IEEE 754
/// arithmetic, which MPFR implements.
class MpfrSum {
  public:
    MpfrSum();
    ~MpfrSum();
    MpfrSum(MpfrSum&&) noexcept;
    MpfrSum& operator=(MpfrSum&&) noexcept;

    void add(double x);
    /// The other formats convert without rounding. Unlike the first oracle, which takes the fields
    /// of x apart, by fp::widen.
    template <class T>
    void add(T x) {
        add(static_cast<double>(fp::widen(x)));
    }
    template <class T>
    void add(std::span<const T> xs) {
        for (const T x : xs)
            add(x);
    }

    /// Rounded once, to nearest, ties to even.
    template <class T>
    [[nodiscard]] T round() const;

  private:
    struct Number;
    std::unique_ptr<Number> number_;
};

template <class T>
[[nodiscard]] T mpfr_sum(std::span<const T> xs) {
    MpfrSum sum;
    sum.add(xs);
    return sum.round<T>();
}

} // namespace detreduce::accuracy
