#include "row_judges.hpp"

#include <memory>

#include <detreduce/accuracy/row_bounds.hpp>
#include <detreduce/accuracy/row_oracle.hpp>

namespace detreduce::report {
namespace {

using accuracy::RowOracle;

template <class T>
std::vector<double> doubles(std::span<const T> x) {
    std::vector<double> to;
    for (const T v : x)
        to.push_back(static_cast<double>(fp::widen(v)));
    return to;
}

/// A row's oracle, and its bounds.
template <class T>
class Row {
  public:
    using V = ResultOf<T>;
    explicit Row(std::span<const T> row) : oracle(doubles(row)), sum_{dtype_of<T>, row.size()} {}
    [[nodiscard]] double logsumexp_bound(DType output) const {
        return accuracy::logsumexp_bound(sum_, output, oracle.log_others(), std::fabs(oracle.log_sum(0)));
    }
    /// Of −log_softmax at y, in the format of the arithmetic.
    [[nodiscard]] double bound_at(double x) const {
        return accuracy::log_softmax_bound(sum_, dtype_of<V>, oracle.log_others(), oracle.maximum() - x);
    }
    const RowOracle oracle;

  private:
    accuracy::ExpSumCase sum_;
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
            sizes.bounds += accuracy::cross_entropy_bound(dtype_of<T>, dtype_of<ResultOf<T>>, row_length,
                                                          {size, bound, size, true});
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

} // namespace

template <class T>
Judge judge_of_row(RowOp op, std::vector<T> x, std::uint64_t seed) {
    return op == RowOp::logsumexp ? judge_of_logsumexp(std::move(x)) : judge_of_cross_entropy(std::move(x), seed);
}
template Judge judge_of_row(RowOp, std::vector<float16>, std::uint64_t);
template Judge judge_of_row(RowOp, std::vector<bfloat16>, std::uint64_t);
template Judge judge_of_row(RowOp, std::vector<float>, std::uint64_t);
template Judge judge_of_row(RowOp, std::vector<double>, std::uint64_t);

} // namespace detreduce::report
