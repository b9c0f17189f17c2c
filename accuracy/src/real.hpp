// Real numbers as the oracles of losses and rows compute with them, by GNU MPFR.
#pragma once

#include <mpfr.h>

namespace detreduce::accuracy {

/// A number of 700 bits, more than 200 digits: sums of two doubles are mostly exact, and what is
/// not does not matter. Its digits are its own, without which allocations take a third of the time.
class Real {
  public:
    Real(double x = 0) : Real(Unset{}) { mpfr_set_d(value, x, MPFR_RNDN); }
    Real(const Real& other) : Real(Unset{}) { mpfr_set(value, other.value, MPFR_RNDN); }
    Real& operator=(const Real& other) {
        mpfr_set(value, other.value, MPFR_RNDN);
        return *this;
    }

    template <class Function>
    [[nodiscard]] Real applied(Function f) const {
        Real y(Unset{});
        f(y.value, value, MPFR_RNDN);
        return y;
    }
    template <class Function>
    [[nodiscard]] Real applied(Function f, const Real& b) const {
        Real y(Unset{});
        f(y.value, value, b.value, MPFR_RNDN);
        return y;
    }
    friend Real operator+(const Real& a, const Real& b) { return a.applied(mpfr_add, b); }
    friend Real operator-(const Real& a, const Real& b) { return a.applied(mpfr_sub, b); }
    friend Real operator*(const Real& a, const Real& b) { return a.applied(mpfr_mul, b); }
    friend Real operator/(const Real& a, const Real& b) { return a.applied(mpfr_div, b); }
    friend bool operator<(const Real& a, const Real& b) { return mpfr_less_p(a.value, b.value) != 0; }
    friend bool operator<=(const Real& a, const Real& b) { return mpfr_lessequal_p(a.value, b.value) != 0; }

    [[nodiscard]] double nearest() const { return mpfr_get_d(value, MPFR_RNDN); }

    mpfr_t value;

  private:
    static constexpr mpfr_prec_t bits = 700;
    struct Unset {};
    explicit Real(Unset) { mpfr_custom_init_set(value, MPFR_ZERO_KIND, 0, bits, digits_); }

    mp_limb_t digits_[(bits + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS];
};

inline Real abs(const Real& x) {
    return x < 0 ? 0 - x : x;
}
inline Real max(const Real& a, const Real& b) {
    return a < b ? b : a;
}
inline Real log(const Real& x) {
    return x.applied(mpfr_log);
}
inline Real log1p(const Real& x) {
    return x.applied(mpfr_log1p);
}
inline Real exp(const Real& x) {
    return x.applied(mpfr_exp);
}
inline Real square_root(const Real& x) {
    return x.applied(mpfr_sqrt);
}

} // namespace detreduce::accuracy
