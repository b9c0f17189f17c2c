// Section 1: logsumexp, cross entropy and losses with functions, against GNU MPFR.
#include <memory>

#include <fmt/format.h>

#include <detreduce/accuracy/loss_oracle.hpp>
#include <detreduce/accuracy/row_bounds.hpp>
#include <detreduce/accuracy/row_oracle.hpp>
#include <detreduce/losses.hpp>
#include <detreduce/row_ops.hpp>
#include <detreduce/spec/exp_term.hpp>

#include "op_error.hpp"

namespace detreduce::report {
namespace {

using accuracy::Family;
using accuracy::RowOracle;

constexpr std::size_t row_length = 256; // of cross entropy

template <class T>
std::vector<double> doubles(std::span<const T> x) {
    std::vector<double> to;
    for (const T v : x)
        to.push_back(static_cast<double>(fp::widen(v)));
    return to;
}

/// A row's oracle, and the ways in which its sum of exponentials may have been made (lib/SPEC.md, 17.1): from 0, or from the greatest element,
/// or, near the limits, either.
template <class T>
class Row {
  public:
    using V = ResultOf<T>;
    explicit Row(std::span<const T> row) : oracle(doubles(row)) {
        using C = spec::ExpTermConstants<V>;
        const double log = oracle.log_sum(0), least = std::log(static_cast<double>(C::least_sum)),
                     most = std::log(static_cast<double>(C::greatest_sum));
        if (log > least - 0.01 && log < most + 0.01) cases_.push_back({dtype_of<T>, row.size(), 0, 0});
        if (log > least + 0.01 && log < most - 0.01) return;
        double reach = 0;
        for (const double v : doubles(row))
            if (const double z = oracle.greatest() - v; z <= -static_cast<double>(C::lowest))
                reach = std::max(reach, z);
        cases_.push_back({dtype_of<T>, row.size(), oracle.greatest(), reach});
    }
    [[nodiscard]] double logsumexp_bound(DType output) const {
        return greatest([&](const auto& c) {
            return accuracy::logsumexp_bound(c, output, std::fabs(oracle.log_sum(c.reference)));
        });
    }
    /// Of −log_softmax at y, in the format of the arithmetic.
    [[nodiscard]] double bound_at(double x) const {
        return greatest([&](const auto& c) {
            return accuracy::log_softmax_bound(c, dtype_of<V>, std::fabs(oracle.log_sum(c.reference)),
                                               std::fabs(x - c.reference));
        });
    }
    const RowOracle oracle;

  private:
    template <class Bound>
    [[nodiscard]] double greatest(const Bound& of) const {
        double most = 0;
        for (const auto& c : cases_)
            most = std::max(most, of(c));
        return most;
    }
    std::vector<accuracy::ExpSumCase> cases_;
};

/// What the library makes of rows; nothing where it does not offer the method.
template <class T>
std::optional<ResultOf<T>> row_result(RowRequest r, const std::vector<T>& x, const std::vector<std::int64_t>& targets) {
    r.dtype = dtype_of<T>;
    r.output = dtype_of<ResultOf<T>>;
    const RowPlan plan = make_row_plan(r);
    if (!offered(plan.status(), name(r.op))) return std::nullopt;
    std::vector<HostArray> arrays{array_of(x)};
    if (!targets.empty()) arrays.push_back(array_of(targets));
    ResultOf<T> result{};
    run_on(r.device, arrays, &result, sizeof result, plan.workspace_bytes(),
           [&](std::span<const void* const> in, void* out, void* workspace) {
               const void* const y = in.size() > 1 ? in[1] : nullptr;
               return run(plan, {.x = in[0], .out = out, .targets = static_cast<const std::int64_t*>(y)}, workspace);
           });
    return result;
}

/// By its error: no true value lies half-way between two numbers.
Judged judged_by_error(DType output, double result, double truth, double error, double limit) {
    return {result, truth, error, limit, error <= last_place(output, truth) / 2};
}

template <class T>
Judge judge_of_logsumexp(std::vector<T> x) {
    const auto row = std::make_shared<const Row<T>>(std::span<const T>(x));
    return [row, x = std::move(x)](const Contender& c) -> std::optional<Judged> {
        constexpr DType out = dtype_of<ResultOf<T>>;
        if (c.method != Method::tree) return std::nullopt; // it has this one order
        const auto result = row_result<T>({.op = RowOp::logsumexp, .n = x.size(), .device = c.device}, x, {});
        if (!result) return std::nullopt;
        return judged_by_error(out, *result, row->oracle.log_sum(0), row->oracle.logsumexp_error(*result),
                               row->logsumexp_bound(out));
    };
}

/// A batch of rows with their targets, and what the bound of their mean is made of.
template <class T>
struct Batch {
    std::vector<T> x;
    std::vector<std::int64_t> targets;
    std::vector<std::unique_ptr<const Row<T>>> rows;
    std::vector<RowOracle::Loss> losses;
    accuracy::MeanSizes sizes{};

    Batch(std::vector<T> elements, std::uint64_t seed) : x(std::move(elements)) {
        for (std::size_t at = 0; at < x.size(); at += row_length) {
            const std::size_t y = accuracy::hash(seed, at) % row_length;
            const auto& row =
                *rows.emplace_back(std::make_unique<const Row<T>>(std::span<const T>(x).subspan(at, row_length)));
            targets.push_back(static_cast<std::int64_t>(y));
            losses.push_back({&row.oracle, {.y = y}});
            const double size = std::fabs(row.oracle.log_softmax(y)),
                         bound = row.bound_at(static_cast<double>(fp::widen(x[at + y])));
            sizes.losses += size;
            sizes.bounds +=
                accuracy::cross_entropy_bound(dtype_of<T>, dtype_of<ResultOf<T>>, row_length, {size, bound, size});
        }
        sizes.weights = static_cast<double>(rows.size());
        sizes.mean = sizes.losses / sizes.weights;
    }
};

template <class T>
Judge judge_of_cross_entropy(std::vector<T> x, std::uint64_t seed) {
    const auto batch = std::make_shared<const Batch<T>>(std::move(x), seed);
    return [batch](const Contender& c) -> std::optional<Judged> {
        constexpr DType out = dtype_of<ResultOf<T>>;
        const std::size_t rows = batch->rows.size();
        const auto result = row_result<T>({.op = RowOp::cross_entropy,
                                           .n = row_length,
                                           .rows = rows,
                                           .reduction = Reduction::mean,
                                           .method = c.method,
                                           .device = c.device},
                                          batch->x, batch->targets);
        if (!result) return std::nullopt;
        return judged_by_error(out, *result, batch->sizes.mean, RowOracle::mean_loss_error(batch->losses, *result),
                               accuracy::mean_loss_bound(c.method, dtype_of<T>, out, rows, batch->sizes));
    };
}

/// A loss with a function, whose terms are rounded: predictions, targets, and the true terms.
template <class T>
struct LossData {
    using V = ResultOf<T>;
    Loss loss;
    std::vector<T> x, target;
    accuracy::ExactSum sum;   // of the true losses
    double size = 0, off = 0; // of the terms, and how far they may be off together

    LossData(Loss l, std::size_t n, std::uint64_t seed)
        : loss(l), x(moved<T>(Family::normal, n, seed, 0, l == Loss::bce_with_logits ? 4 : 1)),
          target(accuracy::generate<T>(l == Loss::bce_with_logits ? Family::uniform : Family::normal, n, ~seed)) {
        for (std::size_t i = 0; i < n; ++i) {
            if (loss == Loss::bce_with_logits && fp::is_negative(target[i])) target[i] = fp::negated(target[i]);
            const auto term = accuracy::true_loss<V>({loss, V(1), fp::widen(x[i]), fp::widen(target[i])});
            sum.add(term.high);
            sum.add(term.low);
            size += term.high;
            off += losses[static_cast<std::size_t>(loss)].max_ulp * last_place(dtype_of<V>, term.size);
        }
    }
    /// The true mean, and what a result is away from it.
    [[nodiscard]] double mean() const { return accuracy::round_quotient(sum.scaled(), units()); }
    [[nodiscard]] double error(double result) const {
        if (!std::isfinite(result)) return INFINITY;
        const accuracy::cpp_int all = accuracy::scaled_value(result) * x.size();
        return accuracy::round_quotient(abs(accuracy::cpp_int(all - sum.scaled())), units());
    }

  private:
    [[nodiscard]] accuracy::cpp_int units() const {
        return accuracy::cpp_int(x.size()) << static_cast<unsigned>(-accuracy::ExactSum::lowest_exponent);
    }
};

/// The bound: that of the terms (loss_words.hpp) and that of their mean (lib/SPEC.md, 8.5).
template <class T>
Judge judge_of_loss(Loss loss, std::size_t n, std::uint64_t seed) {
    const auto data = std::make_shared<const LossData<T>>(loss, n, seed);
    return [data, loss, n](const Contender& c) -> std::optional<Judged> {
        constexpr DType out = dtype_of<ResultOf<T>>;
        const LossPlan plan = make_loss_plan(
            {.loss = loss, .method = c.method, .dtype = dtype_of<T>, .output = out, .n = n, .device = c.device});
        if (!offered(plan.status(), name(loss))) return std::nullopt;
        ResultOf<T> result{};
        const HostArray arrays[] = {array_of(data->x), array_of(data->target)};
        run_on(c.device, arrays, &result, sizeof result, plan.workspace_bytes(),
               [&](std::span<const void* const> in, void* to, void* workspace) {
                   return run(plan, {in[0], in[1]}, to, workspace);
               });
        const accuracy::ErrorBound bound = accuracy::error_bound(Op::mean, c.method, dtype_of<T>, out, n);
        const double off = data->off + bound.of_abs * (data->size + data->off) + bound.absolute;
        return judged_by_error(out, result, data->mean(), data->error(result),
                               limit_of_mean(out, data->mean(), off, n));
    };
}

struct Kind {
    const char* family;
    double around;
};
constexpr Kind row_kinds[] = {{"normal", 0}, {"normal + 1000", 1000}};
std::string family_of(RowOp op, const Kind& kind) {
    return op == RowOp::cross_entropy ? fmt::format("{}, rows of {}", kind.family, row_length) : kind.family;
}

constexpr RowOp row_ops[] = {RowOp::logsumexp, RowOp::cross_entropy};
constexpr Loss function_losses[] = {Loss::huber, Loss::bce_with_logits};

// MPFR takes microseconds an element.
std::vector<int> exponents(const Options& options) {
    return sizes_up_to(options, options.quick ? std::vector{8, 12} : std::vector{8, 14});
}

template <class T>
Judge judge_of_row(RowOp op, std::size_t n, double around, std::uint64_t seed) {
    auto x = moved<T>(Family::normal, n, seed, around);
    return op == RowOp::logsumexp ? judge_of_logsumexp(std::move(x)) : judge_of_cross_entropy(std::move(x), seed);
}

} // namespace

void measure_loss_error(const Options& options, std::span<const DType> dtypes, Progress& progress,
                        std::vector<ErrorRow>& rows) {
    const std::size_t kinds = std::size(row_ops) * std::size(row_kinds) + std::size(function_losses);
    progress.begin("error of losses", static_cast<int>(kinds * exponents(options).size() * dtypes.size()));
    // judge(T{}, n, seed) judges one data set
    const auto measure = [&](std::string_view op, DType dtype, const std::string& family, const auto& judge) {
        for (const int exponent : exponents(options)) {
            progress.step(fmt::format("{} {} {} n = 2^{}", op, name(dtype), family, exponent));
            const OpPoint point{std::string(op), family, std::uint64_t{1} << exponent, options.quick ? 2 : 4};
            const auto more =
                judged_rows(options, point, dtype, accuracy::accumulator_of(dtype), [&](std::uint64_t seed) {
                    return with_dtype(dtype, [&](auto type) { return judge(type, point.n, seed); });
                });
            rows.insert(rows.end(), more.begin(), more.end());
        }
    };
    for (const RowOp op : row_ops)
        for (const DType dtype : dtypes)
            for (const Kind& kind : row_kinds)
                measure(name(op), dtype, family_of(op, kind), [&]<class T>(T, std::size_t n, std::uint64_t seed) {
                    return judge_of_row<T>(op, n, kind.around, seed);
                });
    for (const Loss loss : function_losses)
        for (const DType dtype : dtypes)
            measure(name(loss), dtype, "normal",
                    [&]<class T>(T, std::size_t n, std::uint64_t seed) { return judge_of_loss<T>(loss, n, seed); });
}

} // namespace detreduce::report
