#include <detreduce/accuracy/row_oracle.hpp>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <vector>

#include "real.hpp"

namespace detreduce::accuracy {
namespace {

double off(const Real& truth, double result) {
    if (!(result - result == 0)) return std::numeric_limits<double>::infinity();
    return abs(truth - result).nearest();
}

double weight(const RowTarget& t, std::size_t j) {
    return t.weights.empty() ? 1 : t.weights[j];
}

/// What each of n classes counts.
class Shares {
  public:
    Shares(const RowTarget& target, std::size_t n)
        : t_(target), n_(n), of_target_(1 - Real(t_.smoothing)), of_all_(Real(t_.smoothing) / static_cast<double>(n)) {}
    [[nodiscard]] Real of(std::size_t j) const {
        const double q = !t_.probabilities.empty() ? t_.probabilities[j] : j == t_.y ? 1 : 0;
        return (q == 0 ? of_all_ : of_target_ * q + of_all_) * weight(t_, j);
    }
    /// Of a target without weights 1.
    [[nodiscard]] Real sum() const {
        if (t_.weights.empty() && t_.probabilities.empty()) return 1;
        Real all;
        for (std::size_t i = 0; i < n_; ++i)
            all = all + of(i);
        return all;
    }

  private:
    const RowTarget& t_;
    std::size_t n_;
    Real of_target_, of_all_;
};

} // namespace

double relative_error_of_exp(double z, double term, int k) {
    thread_local mpfr_t y;
    thread_local const bool made = (mpfr_init2(y, 120), true);
    (void)made;
    mpfr_set_d(y, z, MPFR_RNDN);
    mpfr_exp(y, y, MPFR_RNDN);
    mpfr_d_div(y, term, y, MPFR_RNDN);
    mpfr_mul_2si(y, y, k, MPFR_RNDN);
    mpfr_sub_ui(y, y, 1, MPFR_RNDN);
    mpfr_abs(y, y, MPFR_RNDN);
    return mpfr_get_d(y, MPFR_RNDN);
}

struct RowOracle::Numbers {
    std::vector<double> x;
    double maximum;
    std::vector<Real> terms, softmaxes; // e^(x − the maximum), and over their sum, of different x
    std::vector<std::uint32_t> term_of; // number of an element's term
    Real sum, log;
    std::size_t peak;
    Real others; // the sum but for the maximum

    [[nodiscard]] const Real& term(std::size_t i) const { return terms[term_of[i]]; }
    [[nodiscard]] const Real& softmax(std::size_t i) const { return softmaxes[term_of[i]]; }
    [[nodiscard]] Real log_softmax(std::size_t i) const { return Real(x[i]) - maximum - log; }

    /// The loss with element j off by h.
    [[nodiscard]] Real loss(const RowTarget& t, std::size_t j, const Real& h) const {
        Real total = log;
        if (h.nearest() != 0) total = accuracy::log(sum - term(j) + exp(Real(x[j]) - maximum + h));
        const auto neg_log_prob = [&](std::size_t i) {
            return total + (Real(maximum) - x[i]) - (i == j ? h : Real(0));
        };
        Real whole = (total + maximum) * (total + maximum) * t.z_loss;
        if (t.smoothing == 0 && t.probabilities.empty()) return whole + weight(t, t.y) * neg_log_prob(t.y);
        const Shares shares(t, x.size());
        for (std::size_t i = 0; i < x.size(); ++i)
            whole = whole + shares.of(i) * neg_log_prob(i);
        return whole;
    }
};

RowOracle::RowOracle(std::span<const double> x) {
    auto n = std::make_unique<Numbers>();
    n->x.assign(x.begin(), x.end());
    n->maximum = *std::max_element(x.begin(), x.end());
    std::unordered_map<double, std::uint32_t> numbers;
    for (const double v : x) {
        const auto [of_x, is_new] = numbers.try_emplace(v, static_cast<std::uint32_t>(n->terms.size()));
        if (is_new) n->terms.push_back(exp(Real(v) - n->maximum));
        n->term_of.push_back(of_x->second);
        n->sum = n->sum + n->terms[of_x->second];
    }
    n->peak = static_cast<std::size_t>(std::max_element(x.begin(), x.end()) - x.begin());
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (i != n->peak) n->others = n->others + n->term(i);
    }
    for (const Real& term : n->terms)
        n->softmaxes.push_back(term / n->sum);
    mpfr_log1p(n->log.value, n->others.value, MPFR_RNDN); // which may be less than the last digit of the sum
    of_ = std::move(n);
}
RowOracle::~RowOracle() = default;

double RowOracle::maximum() const {
    return of_->maximum;
}
double RowOracle::log_sum(double c) const {
    return (of_->log + (Real(of_->maximum) - c)).nearest();
}
double RowOracle::log_others() const {
    return of_->log.nearest();
}
double RowOracle::rest(std::size_t i) const {
    return (i == of_->peak ? of_->others / of_->sum : (of_->sum - of_->term(i)) / of_->sum).nearest();
}
double RowOracle::softmax(std::size_t i) const {
    return of_->softmax(i).nearest();
}
double RowOracle::log_softmax(std::size_t i) const {
    return of_->log_softmax(i).nearest();
}
double RowOracle::logsumexp_error(double result) const {
    return off(of_->log + of_->maximum, result);
}
double RowOracle::softmax_error(std::size_t i, double result) const {
    return off(of_->softmax(i), result);
}
double RowOracle::log_softmax_error(std::size_t i, double result) const {
    if (of_->x[i] - of_->x[i] != 0) return result == of_->x[i] ? 0 : std::numeric_limits<double>::infinity();
    return off(of_->log_softmax(i), result);
}
double RowOracle::loss_error(const RowTarget& t, double result) const {
    return off(of_->loss(t, 0, 0), result);
}
std::vector<double> RowOracle::slope_errors(const RowTarget& t, std::span<const double> results,
                                            std::span<const std::size_t> elements) const {
    const Shares shares(t, of_->x.size());
    const Real all = shares.sum(), rest = of_->others / of_->sum;
    const Real of_logsumexp = 2 * t.z_loss * (of_->log + of_->maximum);
    std::vector<double> errors;
    for (const std::size_t j : elements) {
        const Real share = shares.of(j), p = of_->softmax(j);
        const Real slope = j == of_->peak ? all - share - rest * all : p * all - share;
        errors.push_back(off((slope + of_logsumexp * p) * t.factor, results[j]));
    }
    return errors;
}
double RowOracle::mean_loss_error(std::span<const Loss> losses, double result) {
    Real sum, weights;
    for (const Loss& l : losses) {
        sum = sum + l.row->of_->loss(l.target, 0, 0);
        weights = weights + (l.target.probabilities.empty() ? weight(l.target, l.target.y) : 1);
    }
    return off(sum / weights, result);
}
double RowOracle::difference_error(const RowTarget& t, std::size_t j, double result) const {
    Real h(1);
    mpfr_mul_2si(h.value, h.value, -150, MPFR_RNDN);
    return off((of_->loss(t, j, h) - of_->loss(t, j, 0 - h)) / (2 * h) * t.factor, result);
}

struct NormOracle::Numbers {
    std::vector<double> x;
    Real mean, m2, squares, sizes, rstd;
};

NormOracle::NormOracle(std::span<const double> x, double epsilon, bool centred) {
    auto n = std::make_unique<Numbers>();
    n->x.assign(x.begin(), x.end());
    const auto count = static_cast<double>(x.size());
    for (const double v : x) {
        n->sizes = n->sizes + abs(Real(v));
        n->squares = n->squares + Real(v) * v;
        if (centred) n->mean = n->mean + Real(v) / count;
    }
    for (const double v : x)
        n->m2 = n->m2 + (Real(v) - n->mean) * (Real(v) - n->mean);
    n->rstd = 1 / square_root(n->m2 / count + epsilon);
    of_ = std::move(n);
}
NormOracle::~NormOracle() = default;

double NormOracle::mean() const {
    return of_->mean.nearest();
}
double NormOracle::rstd() const {
    return of_->rstd.nearest();
}
double NormOracle::deviation(std::size_t i) const {
    return abs(Real(of_->x[i]) - of_->mean).nearest();
}
double NormOracle::abs_sum() const {
    return of_->sizes.nearest();
}
double NormOracle::squares() const {
    return of_->squares.nearest();
}
double NormOracle::m2() const {
    return of_->m2.nearest();
}
double NormOracle::mean_error(double result) const {
    return off(of_->mean, result);
}
double NormOracle::rstd_error(double result) const {
    return off(of_->rstd, result);
}
double NormOracle::error(std::size_t i, double scale, double shift, double result) const {
    return off((Real(of_->x[i]) - of_->mean) * of_->rstd * scale + shift, result);
}

} // namespace detreduce::accuracy
