// The true results of row_ops.hpp, by GNU MPFR in more than 200 digits, straight from the formulas.
// Rows are finite, but where it is said. For tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace detreduce::accuracy {

/// |term·2^k / e^z − 1|.
[[nodiscard]] double relative_error_of_exp(double z, double term, int k);

/// What cross entropy is told beside the row: a class, or, if there are any, probabilities. No
/// weights: 1.
struct RowTarget {
    std::size_t y;
    std::span<const double> weights = {};
    double smoothing = 0, factor = 1;
    std::span<const double> probabilities = {};
    double z_loss = 0;
};

/// logsumexp, softmax, log_softmax and cross entropy of a row whose elements are finite, or −∞, but
/// not all. Sizes are the nearest doubles of true values. An exponential takes microseconds, and is
/// taken once of equal elements.
class RowOracle {
  public:
    explicit RowOracle(std::span<const double> x);
    RowOracle(const RowOracle&) = delete;
    ~RowOracle();

    [[nodiscard]] double maximum() const;
    /// log Σ e^(x − c).
    [[nodiscard]] double log_sum(double c) const;
    /// log(1 + Σ e^(x − m)) of all but the maximum, m.
    [[nodiscard]] double log_others() const;
    [[nodiscard]] double softmax(std::size_t i) const;
    /// 1 − softmax.
    [[nodiscard]] double rest(std::size_t i) const;
    [[nodiscard]] double log_softmax(std::size_t i) const;

    /// |result − the true value|; +∞ for a result that is none.
    [[nodiscard]] double logsumexp_error(double result) const;
    [[nodiscard]] double softmax_error(std::size_t i, double result) const;
    [[nodiscard]] double log_softmax_error(std::size_t i, double result) const;
    [[nodiscard]] double loss_error(const RowTarget& target, double result) const;
    /// The same of the sum of several rows' losses over that of the weights of their targets, 1
    /// each with probabilities.
    struct Loss {
        const RowOracle* row;
        RowTarget target;
    };
    [[nodiscard]] static double mean_loss_error(std::span<const Loss> losses, double result);
    /// The same of the derivatives of the loss with respect to these elements of all, times the
    /// factor, from their formula,
    [[nodiscard]] std::vector<double> slope_errors(const RowTarget& target, std::span<const double> results,
                                                   std::span<const std::size_t> elements) const;
    /// and that with respect to element j from central differences of the loss, so that a wrong
    /// formula is seen. Of rows of elements below 10³⁰.
    [[nodiscard]] double difference_error(const RowTarget& target, std::size_t j, double result) const;

  private:
    struct Numbers;
    std::unique_ptr<const Numbers> of_;
};

/// layernorm and, not centred, rmsnorm of a row of finite elements.
class NormOracle {
  public:
    NormOracle(std::span<const double> x, double epsilon, bool centred);
    NormOracle(const NormOracle&) = delete;
    ~NormOracle();

    /// Nearest doubles: the mean; 1 / √(… + ε); |x − mean|; Σ|x| and Σx²; Σ(x − mean)².
    [[nodiscard]] double mean() const;
    [[nodiscard]] double rstd() const;
    [[nodiscard]] double deviation(std::size_t i) const;
    [[nodiscard]] double abs_sum() const;
    [[nodiscard]] double squares() const;
    [[nodiscard]] double m2() const;

    [[nodiscard]] double mean_error(double result) const;
    [[nodiscard]] double rstd_error(double result) const;
    [[nodiscard]] double error(std::size_t i, double scale, double shift, double result) const;

  private:
    struct Numbers;
    std::unique_ptr<const Numbers> of_;
};

} // namespace detreduce::accuracy
