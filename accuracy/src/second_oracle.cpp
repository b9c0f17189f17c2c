#include <detreduce/accuracy/second_oracle.hpp>

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

template <>
double MpfrSum::round<double>() const {
    return number_->empty ? 0.0 : mpfr_get_d(number_->value, MPFR_RNDN);
}

template <>
float MpfrSum::round<float>() const {
    return number_->empty ? 0.0f : mpfr_get_flt(number_->value, MPFR_RNDN);
}

} // namespace detreduce::accuracy
