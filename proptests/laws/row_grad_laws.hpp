// Laws of the gradients of row ops: how near they are to the true ones, and what their elements sum
// to. Included by row_laws.hpp.
#pragma once

#include <detreduce/accuracy/row_grad_oracle.hpp>

namespace detreduce::proptests {

inline constexpr RowOp upstream_ops[] = {RowOp::softmax_gradient, RowOp::log_softmax_gradient,
                                         RowOp::layernorm_gradient, RowOp::rmsnorm_gradient};
inline constexpr RowOp norm_gradient_ops[] = {RowOp::layernorm_gradient, RowOp::rmsnorm_gradient};

/// Does the backend have it?
inline bool is_offered(RowOp op) {
    const auto ops = RowBackend::ops();
    return std::find(ops.begin(), ops.end(), op) != ops.end();
}

/// x as forward gives it: of softmax and log_softmax their results, of norms the row, with what is
/// kept of it.
template <class T>
RowData<T> forward_data(RowOp op, const std::vector<T>& row, std::uint64_t seed) {
    RowData<T> data{.x = row};
    if (op == RowOp::softmax_gradient) data.x = run_row<T>({.op = RowOp::softmax}, row).out;
    if (op == RowOp::log_softmax_gradient) data.x = run_row<T>({.op = RowOp::log_softmax}, row).out;
    if (of_norm_gradients(op)) {
        const bool layer = op == RowOp::layernorm_gradient;
        const auto kept = run_row<T>({.op = layer ? RowOp::layernorm : RowOp::rmsnorm}, row);
        data.mean = kept.mean;
        data.rstd = kept.rstd;
    }
    data.upstream = numbers_between<T>(-2, 2, row.size(), seed + 8);
    return data;
}

TEMPLATE_TEST_CASE("row gradients: are within their bounds", "[rows][gradients][error]", float16, bfloat16, float,
                   double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    for (const RowOp op : upstream_ops) {
        if (!is_offered(op)) continue;
        for_hard_rows<T>(false, [op](const std::vector<T>& row, const auto& within_of) {
            RowData<T> data = forward_data<T>(op, row, row.size());
            const auto x = doubles(data.x), upstream = doubles(data.upstream);
            // z and what is made of it, numbers of V?
            const double most = std::fabs(
                *std::max_element(x.begin(), x.end(), [](double a, double b) { return std::fabs(a) < std::fabs(b); }));
            const double limit = fp::is_f64<V> ? 1e290 : 1e30;
            for (const bool scaled : {false, true}) {
                if (scaled && !of_norm_gradients(op)) continue;
                if (scaled) data.scale = numbers_between<T>(-2, 2, row.size(), 3);
                const auto scale = doubles(data.scale);
                accuracy::GradRow of{op, x, upstream, scale};
                if (!data.mean.empty()) of.mean = static_cast<double>(data.mean[0]);
                if (!data.rstd.empty()) of.rstd = static_cast<double>(data.rstd[0]);
                if (!(most < limit && of.rstd < limit)) continue;
                const auto check = [&]<class Out>(Out) {
                    const auto got = doubles(run_row<Out>({.op = op}, data.x, data).out);
                    const auto errors = accuracy::row_gradient_errors(of, got),
                               bounds = accuracy::row_gradient_bounds(of, dtype_of<T>, dtype_of<Out>);
                    for (std::size_t i = 0; i < row.size(); ++i) {
                        if (std::fabs(got[i]) > 0.9 * static_cast<double>(fp::widen(largest<Out>)) || bounds[i] > limit)
                            continue;
                        within_of(Out{})(errors[i], bounds[i]);
                    }
                };
                for_outputs<T>(check);
            }
        });
    }
}

TEMPLATE_TEST_CASE("row gradients: those of logsumexp and of probabilities are within their bounds",
                   "[rows][gradients][error]", float16, bfloat16, float, double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    if (!is_offered(RowOp::logsumexp_gradient)) {
        SUCCEED();
        return;
    }
    for_hard_rows<T>(false, [](const std::vector<T>& row, const auto& within_of) {
        const JudgedRow<T> judged(row);
        const std::size_t n = row.size();
        const RowData<T> of_sum{.row_upstream = {V(-1.7)}};
        const RowRequest r{.op = RowOp::cross_entropy_target_gradient,
                           .label_smoothing = n % 2 ? 0.1 : 0,
                           .reduction = Reduction::none};
        const RowData<T> of_target{.weights = numbers_between<T>(0, 2, n, 1), .factor = {V(0.3)}};
        const auto weights = doubles(of_target.weights);
        const auto check = [&]<class Out>(Out) {
            const DType out = dtype_of<Out>;
            const auto slopes = doubles(run_row<Out>({.op = RowOp::logsumexp_gradient}, row, of_sum).out),
                       of_classes = doubles(run_row<Out>(r, row, of_target).out);
            const double upstream = static_cast<double>(V(-1.7)), factor = static_cast<double>(V(0.3));
            for (std::size_t i = 0; i < n; ++i) {
                const double p = judged.oracle.softmax(i), u = -judged.oracle.log_softmax(i);
                const double p_bound = accuracy::logsumexp_gradient_bound(judged.sum, out, p, upstream);
                within_of(Out{})(std::fabs(slopes[i] - p * upstream), p_bound * (1 + 0x1p-40) + p * 0x1p-51);
                const double counts = weights[i] * (1 - r.label_smoothing);
                if (!(u < 0.5 * static_cast<double>(fp::widen(largest<Out>)))) continue;
                const double bound = accuracy::target_gradient_bound(dtype_of<T>, out, counts, u,
                                                                     judged.log_softmax_bound(dtype_of<V>, i), factor);
                within_of(Out{})(std::fabs(of_classes[i] - counts * u * factor), bound + counts * u * 0x1p-50);
            }
        };
        for_outputs<T>(check);
    });
}

/// A formula that is wrong would be wrong in the oracle as well.
TEST_CASE("row gradients: are the derivatives of what forward gives", "[rows][gradients][error]") {
    Within within;
    for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{33}, std::size_t{300}}) {
        for (const RowKind kind : {RowKind::ordinary, RowKind::wide, RowKind::equal}) {
            const auto row = row_of<double>(kind, n, n);
            const auto scale = numbers_between<double>(-2, 2, n, 3);
            for (const auto& [forward, op] : {std::pair{RowOp::softmax, RowOp::softmax_gradient},
                                              {RowOp::log_softmax, RowOp::log_softmax_gradient},
                                              {RowOp::logsumexp, RowOp::logsumexp_gradient},
                                              {RowOp::layernorm, RowOp::layernorm_gradient},
                                              {RowOp::rmsnorm, RowOp::rmsnorm_gradient}}) {
                if (!is_offered(op)) continue;
                auto data = forward_data<double>(op, row, n);
                if (of_norm_gradients(op)) data.scale = scale;
                if (op == RowOp::logsumexp_gradient) data.upstream = {}, data.row_upstream = {1.25};
                const auto got = run_row<double>({.op = op}, data.x, data).out;
                const accuracy::ForwardRow of{forward, row,
                                              op == RowOp::logsumexp_gradient ? data.row_upstream : data.upstream,
                                              data.scale, 1e-5};
                // 1e3: of equal elements, √epsilon.
                const double size = data.rstd.empty() ? 1 : 20 * data.rstd[0] * (1 + data.rstd[0]);
                for (const std::size_t j : {std::size_t{0}, n / 2, n - 1}) {
                    INFO(name(op) << " n " << n << " kind " << static_cast<int>(kind) << " at " << j);
                    within(accuracy::row_difference_error(of, j, got[j]), 1e-11 * size);
                }
            }
        }
    }
    if (is_offered(RowOp::softmax_gradient)) REQUIRE(within.checked() == 4 * 3 * 5 * 3);
}

/// What every row of a softmax sums to does not depend on x.
TEMPLATE_TEST_CASE("row gradients: those of softmax and log_softmax sum to nothing", "[rows][gradients][error]",
                   float16, bfloat16, float, double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    for (const RowOp op : {RowOp::softmax_gradient, RowOp::log_softmax_gradient}) {
        if (!is_offered(op)) continue;
        for_hard_rows<T>(false, [op](const std::vector<T>& row, const auto& within_of) {
            const RowData<T> data = forward_data<T>(op, row, row.size() + 1);
            const auto x = doubles(data.x), upstream = doubles(data.upstream);
            const auto bounds = accuracy::row_gradient_bounds({op, x, upstream}, dtype_of<T>, dtype_of<V>);
            accuracy::ExactSum sum;
            double of_bounds = 0, all = 0, of_upstream = 0;
            for (const V v : run_row<V>({.op = op}, data.x, data).out)
                sum.add(static_cast<double>(v));
            for (std::size_t i = 0; i < row.size(); ++i) {
                of_bounds += bounds[i];
                all += op == RowOp::softmax_gradient ? x[i] : std::exp(x[i]);
                of_upstream += op == RowOp::softmax_gradient ? upstream[i] * x[i] : upstream[i];
            }
            // Of the y that there are the sum is Σ upstream·y·(1 − Σy), or Σ upstream·(1 − Σe^y).
            const double left = of_upstream * (1 - all);
            within_of(T{})(std::fabs(sum.template round<double>() - left), of_bounds + 0x1p-40 * (1 + all));
            if constexpr (fp::is_narrow<T>) within_of(float{})(0, 0);
        });
    }
}

} // namespace detreduce::proptests
