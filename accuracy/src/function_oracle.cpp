#include <detreduce/accuracy/function_oracle.hpp>

#include <algorithm>
#include <limits>

#include <mpfr.h>

#include <detreduce/fp/bits.hpp>

namespace detreduce::accuracy {

namespace {

using math::Function;

struct Number {
    explicit Number(mpfr_prec_t precision) { mpfr_init2(value, precision); }
    ~Number() { mpfr_clear(value); }
    Number(const Number&) = delete;
    Number& operator=(const Number&) = delete;
    mpfr_t value;
};

/// y = f(y), rounded to y's precision, or off by some few units of that.
void apply(Function f, mpfr_ptr y) {
    switch (f) {
    case Function::exp:
        mpfr_exp(y, y, MPFR_RNDN);
        return;
    case Function::expm1:
        mpfr_expm1(y, y, MPFR_RNDN);
        return;
    case Function::log:
        if (mpfr_zero_p(y)) mpfr_abs(y, y, MPFR_RNDN);
        mpfr_log(y, y, MPFR_RNDN);
        return;
    case Function::log1p:
        mpfr_log1p(y, y, MPFR_RNDN);
        return;
    case Function::sigmoid:
        mpfr_neg(y, y, MPFR_RNDN);
        mpfr_exp(y, y, MPFR_RNDN);
        mpfr_add_ui(y, y, 1, MPFR_RNDN);
        mpfr_ui_div(y, 1, y, MPFR_RNDN);
        return;
    case Function::softplus:
        if (mpfr_cmp_ui(y, 1000) > 0) return; // log(1 + e^-1000) is nothing beside x; of NaN false
        mpfr_exp(y, y, MPFR_RNDN);
        mpfr_log1p(y, y, MPFR_RNDN);
        return;
    case Function::tanh:
        mpfr_tanh(y, y, MPFR_RNDN);
        return;
    case Function::rsqrt: {
        const bool minus_zero = mpfr_zero_p(y) && mpfr_signbit(y); // C23 says −inf, MPFR +inf
        mpfr_rec_sqrt(y, y, MPFR_RNDN);
        if (minus_zero) mpfr_neg(y, y, MPFR_RNDN);
        return;
    }
    }
}

/// f(x) in the working precision; the same number, made again, for every call of a thread: making
/// one takes as long as some functions.
template <class T>
mpfr_ptr true_value(Function f, T x) {
    thread_local Number y(fp::Format<T>::precision + 50);
    mpfr_set_d(y.value, static_cast<double>(x), MPFR_RNDN);
    apply(f, y.value);
    return y.value;
}

double rounded(mpfr_srcptr y, double) {
    return mpfr_get_d(y, MPFR_RNDN);
}
float rounded(mpfr_srcptr y, float) {
    return mpfr_get_flt(y, MPFR_RNDN);
}

constexpr double wrong = std::numeric_limits<double>::infinity();

template <class T>
double error_of_number(mpfr_ptr y, T result) {
    using F = fp::Format<T>;
    if (fp::is_nan(result) || fp::is_negative(result) != (mpfr_signbit(y) != 0)) return wrong;
    const mpfr_exp_t last = mpfr_get_exp(y) - F::precision; // MPFR's mantissas lie in [1/2, 1)
    const mpfr_exp_t unit = std::clamp<mpfr_exp_t>(last, F::min_exponent, F::max_exponent + 1 - F::precision);
    if (fp::is_finite(result)) {
        mpfr_sub_d(y, y, static_cast<double>(result), MPFR_RNDN);
    } else if (mpfr_get_exp(y) > F::max_exponent + 1) {
        return 0; // both beyond the range
    } else {
        thread_local Number beyond(2);
        mpfr_set_si_2exp(beyond.value, fp::is_negative(result) ? -1 : 1, F::max_exponent + 1, MPFR_RNDN);
        mpfr_sub(y, y, beyond.value, MPFR_RNDN);
    }
    mpfr_mul_2si(y, y, -unit, MPFR_RNDN);
    mpfr_abs(y, y, MPFR_RNDN);
    return mpfr_get_d(y, MPFR_RNDN);
}

} // namespace

template <class T>
T nearest_value(Function f, T x) {
    const mpfr_ptr y = true_value(f, x);
    return fp::canonical(rounded(y, T{}));
}

template <class T>
double error_in_ulps(Function f, T x, T result) {
    const mpfr_ptr y = true_value(f, x);
    if (mpfr_regular_p(y)) return error_of_number(y, result);
    return fp::to_bits(result) == fp::to_bits(fp::canonical(rounded(y, T{}))) ? 0 : wrong;
}

template float nearest_value(Function, float);
template double nearest_value(Function, double);
template double error_in_ulps(Function, float, float);
template double error_in_ulps(Function, double, double);

} // namespace detreduce::accuracy
