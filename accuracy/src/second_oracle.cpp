#include <detreduce/accuracy/second_oracle.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <mpfr.h>

namespace detreduce::accuracy {

struct MpfrSum::Number {
    // 2^-1074 … 2^1024 and 64 bits for the number of terms need 2162.
    static constexpr mpfr_prec_t precision = 2300;

    Number() {
        mpfr_init2(value, precision);
        mpfr_set_zero(value, -1); // −0 is the neutral element of IEEE addition: only −0s leave it as it is
    }
    ~Number() { mpfr_clear(value); }
    Number(const Number&) = delete;
    Number& operator=(const Number&) = delete;

    mpfr_t value;
    bool empty = true;
};

MpfrSum::MpfrSum() : number_(std::make_unique<Number>()) {}
MpfrSum::~MpfrSum() = default;
MpfrSum::MpfrSum(MpfrSum&&) noexcept = default;
MpfrSum& MpfrSum::operator=(MpfrSum&&) noexcept = default;

void MpfrSum::add(double x) {
    number_->empty = false;
    if (mpfr_add_d(number_->value, number_->value, x, MPFR_RNDN) != 0)
        throw std::logic_error("MpfrSum: a partial sum did not fit in the working precision");
}

namespace {

/// value rounded once to T, subnormals and overflow included, as a double, which holds it exactly.
/// Rounds to T's precision in MPFR's own wide range first; then T's range is set, and MPFR corrects
/// what lies outside it by what it knows of the first rounding.
template <class T>
double rounded_to_range(mpfr_srcptr value) {
    using F = fp::Format<T>;
    const mpfr_exp_t lowest = mpfr_get_emin(), highest = mpfr_get_emax();
    mpfr_t rounded;
    mpfr_init2(rounded, F::precision);
    int inexact = mpfr_set(rounded, value, MPFR_RNDN);
    mpfr_set_emin(F::min_exponent + 1); // MPFR's mantissas lie in [1/2, 1)
    mpfr_set_emax(F::max_exponent + 1);
    inexact = mpfr_check_range(rounded, inexact, MPFR_RNDN);
    mpfr_subnormalize(rounded, inexact, MPFR_RNDN);
    mpfr_set_emin(lowest);
    mpfr_set_emax(highest);
    const double result = mpfr_get_d(rounded, MPFR_RNDN);
    mpfr_clear(rounded);
    return result;
}

/// The bits of a double that is a value of T.
template <class T>
T encoded(double x) {
    using F = fp::Format<T>;
    constexpr int smallest_normal = 1 - F::bias;
    if (std::isnan(x)) return fp::from_bits<T>(F::canonical_nan);
    const int exponent = x == 0 ? smallest_normal : std::max(std::ilogb(x), smallest_normal);
    const auto significand = static_cast<std::uint64_t>(std::ldexp(std::fabs(x), F::precision - 1 - exponent));
    const auto field = static_cast<std::uint64_t>(exponent - smallest_normal) << (F::precision - 1); // + hidden bit
    if (std::isinf(x) || field + significand > F::largest) return fp::beyond<T>(std::signbit(x));
    const auto magnitude = static_cast<fp::Bits<T>>(field + significand);
    return fp::from_bits<T>(static_cast<fp::Bits<T>>(magnitude | (std::signbit(x) ? fp::sign_mask<T> : 0)));
}

} // namespace

template <class T>
T MpfrSum::round() const {
    if (number_->empty) return fp::from_bits<T>(0);
    if constexpr (fp::is_f64<T>) {
        return mpfr_get_d(number_->value, MPFR_RNDN);
    } else if constexpr (fp::is_f32<T>) {
        return mpfr_get_flt(number_->value, MPFR_RNDN);
    } else {
        return encoded<T>(rounded_to_range<T>(number_->value));
    }
}
#define DETREDUCE_INSTANTIATE(name, c_name, type) template type MpfrSum::round<type>() const;
DETREDUCE_FORMATS(DETREDUCE_INSTANTIATE)
#undef DETREDUCE_INSTANTIATE

} // namespace detreduce::accuracy
