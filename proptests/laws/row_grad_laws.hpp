// Laws of the gradients of row ops: how near they are to the true ones, what is summed over the
// rows, and what may be written over. Included by row_laws.hpp.
#pragma once

#include <numeric>

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

/// The gradients of scale and shift, by plain code.
template <class Out, class T>
std::vector<std::vector<Out>> expected_of_columns(const RowRequest& r, const RowData<T>& data) {
    using V = fp::Arithmetic<T>;
    std::vector<std::vector<Out>> both(2);
    for (std::uint64_t j = 0; j < r.n; ++j) {
        std::vector<V> products;
        std::vector<T> upstream;
        for (std::uint64_t i = 0; i < r.rows; ++i) {
            const std::uint64_t at = i * r.n + j;
            const V mean = data.mean.empty() ? V(0) : data.mean[i];
            products.push_back(fp::widen(data.upstream[at]) * ((fp::widen(data.x[at]) - mean) * data.rstd[i]));
            upstream.push_back(data.upstream[at]);
        }
        both[0].push_back(reduce_as<Out>(Op::sum, products, r.method));
        if (r.op == RowOp::layernorm_gradient) both[1].push_back(reduce_as<Out>(Op::sum, upstream, r.method));
    }
    return both;
}

/// Runs a gradient with those of scale and, if there is one and it is wanted, shift; over upstream
/// if it is to be.
template <class Out, class T>
std::vector<std::vector<Out>> run_of_columns(RowRequest r, const RowData<T>& data, unsigned offset, bool in_place,
                                             std::vector<Out>& dx, bool wants_shift = true) {
    r.dtype = dtype_of<T>;
    r.output = dtype_of<Out>;
    r.device = RowBackend::device;
    r.parameters = true;
    const RowPlan plan = make_row_plan(r);
    throw_if_error(plan.status());
    const auto array = [&]<class N>(const std::vector<N>& x, unsigned by) { return RowBackend::Array<N>(x, by); };
    const std::uint64_t upstream_stride = r.upstream_stride ? r.upstream_stride : r.n;
    const auto x = array(spread(data.x, r.n, r.rows, plan.stride(), quiet_nan<T>), offset);
    const auto upstream = array(spread(data.upstream, r.n, r.rows, upstream_stride, quiet_nan<T>), offset);
    const auto scale = array(data.scale, offset / 2);
    const auto mean = array(data.mean, offset), rstd = array(data.rstd, offset / 2);
    const auto out = array(std::vector<Out>(r.rows * r.n), offset);
    const std::vector<Out> blank(r.n, number<Out>(77));
    const auto of_scale = array(blank, offset % 5),
               of_shift =
                   array(wants_shift && r.op == RowOp::layernorm_gradient ? blank : std::vector<Out>(), offset % 3);
    RowBackend::execute(plan, {.x = x.data(),
                               .out = in_place ? static_cast<void*>(upstream.data()) : out.data(),
                               .scale = scale.data(),
                               .mean = mean.data(),
                               .rstd = rstd.data(),
                               .upstream = upstream.data(),
                               .scale_gradient = of_scale.data(),
                               .shift_gradient = of_shift.data()});
    if (in_place) {
        if constexpr (std::is_same_v<Out, T>)
            dx = gathered(upstream.fetched(), r.n, r.rows, upstream_stride, quiet_nan<T>);
    } else {
        dx = out.fetched();
    }
    return {of_scale.fetched(), of_shift.fetched()};
}

template <class Out>
void require_columns(const std::vector<std::vector<Out>>& got, const std::vector<std::vector<Out>>& expected) {
    REQUIRE(got.size() == expected.size());
    for (std::size_t k = 0; k < got.size(); ++k)
        require_same(RowResults<Out, float>{got[k], {}, {}, {}}, RowResults<Out, float>{expected[k], {}, {}, {}});
}

TEMPLATE_TEST_CASE("row gradients: those of scale and shift are sums over the rows", "[rows][gradients]", float16,
                   bfloat16, float, double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    for (const RowOp op : norm_gradient_ops) {
        if (!is_offered(op)) continue;
        for (const auto& [n, rows] :
             {std::pair<std::uint64_t, std::uint64_t>{1, 1}, {1, 9000}, {33, 700}, {1000, 7}, {5123, 2}, {5, 0}}) {
            for (const Method method : batch_methods) {
                const auto word =
                    accuracy::hash(n + 5, static_cast<std::uint64_t>(method) * 2 + (op == RowOp::rmsnorm_gradient));
                RowRequest r{.op = op, .n = n, .rows = rows, .reduction = Reduction::none, .method = method};
                const auto launches = RowBackend::launches();
                r.launch = launches[word % launches.size()];
                if (word / 16 % 2) r.stride = n + 3;
                const bool in_place = word / 32 % 2;
                if (word / 64 % 2) r.upstream_stride = n + 1;
                if (in_place) r.output_stride = r.upstream_stride;
                const RowVariant v{.scale = word / 128 % 2 == 1};
                auto data = row_data<T>(r, v, word);
                if (word / 256 % 2) mend(data, r);
                INFO(shown(r, v) << " in place " << in_place);
                RowRequest alone = r;
                alone.stride = alone.upstream_stride = alone.output_stride = 0;
                const auto check = [&]<class Out>(Out) {
                    if (method != Method::exact && !std::is_same_v<Out, V>) return;
                    const bool over = in_place && std::is_same_v<Out, T>;
                    RowRequest with = r;
                    if (!over) with.output_stride = 0;
                    std::vector<Out> dx;
                    require_columns(run_of_columns<Out>(with, data, static_cast<unsigned>(word / 512 % 5), over, dx),
                                    expected_of_columns<Out>(r, data));
                    const auto expected = RowBackend::template expected<Out>(alone, data).out;
                    require_same(RowResults<Out, V>{dx, {}, {}, {}}, RowResults<Out, V>{expected, {}, {}, {}});
                };
                for_outputs<T>(check);
            }
        }
    }
}

/// Columns whose terms lie near each other, but for one in one column; or which begin with −0.
TEMPLATE_TEST_CASE("row gradients: those of scale and shift by exact, of terms near each other and one that is not",
                   "[rows][gradients][sanitizer]", float16, bfloat16, float, double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    const double far = std::is_same_v<T, double> ? 0x1p-200 : std::is_same_v<T, float16> ? 0x1p-14 : 0x1p-90;
    for (const RowOp op : norm_gradient_ops) {
        if (!is_offered(op)) continue;
        for (const auto& [n, rows] : {std::pair<std::uint64_t, std::uint64_t>{1, 9},
                                      {2, 16},
                                      {6, 17},
                                      {130, 63},
                                      {7, 300},
                                      {70, 520},
                                      {4, 9001}}) {
            for (int kind = 0; kind < 6; ++kind) {
                RowRequest r{.op = op, .n = n, .rows = rows, .reduction = Reduction::none, .method = Method::exact};
                if (kind % 3 == 1) r.stride = n + 1;
                if (kind % 3 == 2) r.upstream_stride = n + 3;
                auto data = row_data<T>(r, {}, n + rows);
                const auto near = [&](std::uint64_t i) {
                    const std::uint64_t word = accuracy::hash(i, n);
                    return number<T>((word % 2 ? 1.0 : -1.0) * (1 + static_cast<double>(word / 2 % 128) / 128));
                };
                for (std::uint64_t i = 0; i < rows * n; ++i) {
                    data.x[i] = near(i);
                    data.upstream[i] = near(i + rows * n);
                }
                for (std::uint64_t i = 0; i < rows; ++i) {
                    if (!data.mean.empty()) data.mean[i] = V(4);
                    data.rstd[i] = V(1 + static_cast<double>(i % 8) / 8);
                }
                const std::uint64_t one = rows / 2 * n + n / 2;
                if (kind == 1) data.upstream[one] = number<T>(far);
                if (kind == 2) data.upstream[n / 3] = number<T>(-0.0);
                if (kind == 3) data.x[one] = quiet_nan<T>;
                if (kind == 4) data.rstd[rows - 1] = V(far);
                if (kind == 5) std::fill(data.upstream.begin(), data.upstream.end(), number<T>(-0.0));
                INFO(shown(r, {}) << " kind " << kind);
                for_outputs<T>([&]<class Out>(Out) {
                    std::vector<Out> dx;
                    auto expected = expected_of_columns<Out>(r, data);
                    require_columns(run_of_columns<Out>(r, data, kind == 4 ? 1 : 0, false, dx), expected);
                    expected[1].clear(); // that of shift is not wanted
                    require_columns(run_of_columns<Out>(r, data, 0, false, dx, false), expected);
                });
            }
        }
    }
}

TEMPLATE_TEST_CASE("row gradients: those of scale are within their bounds", "[rows][gradients][error]", float16,
                   bfloat16, float, double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    for (const RowOp op : norm_gradient_ops) {
        if (!is_offered(op)) continue;
        for (const std::uint64_t rows : {1, 7, 3000}) {
            RowRequest r{.op = op, .n = 9, .rows = rows, .reduction = Reduction::none};
            auto data = row_data<T>(r, {}, rows);
            mend(data, r);
            const auto mean = doubles(data.mean), rstd = doubles(data.rstd);
            for (const Method method : batch_methods) {
                r.method = method;
                std::vector<V> dx;
                const auto got = run_of_columns<V>(r, data, 0, false, dx).at(0);
                Within within;
                for (std::uint64_t j = 0; j < r.n; ++j) {
                    std::vector<double> x, upstream;
                    for (std::uint64_t i = 0; i < rows; ++i) {
                        x.push_back(static_cast<double>(fp::widen(data.x[i * r.n + j])));
                        upstream.push_back(static_cast<double>(fp::widen(data.upstream[i * r.n + j])));
                    }
                    const accuracy::GradColumn column{x, upstream, mean, rstd};
                    INFO(shown(r, {}) << " column " << j);
                    within(accuracy::scale_gradient_error(column, static_cast<double>(got.at(j))),
                           accuracy::scale_gradient_bound(method, dtype_of<T>, dtype_of<V>, column));
                }
                REQUIRE(within.checked() == r.n);
            }
        }
    }
}

TEMPLATE_TEST_CASE("row gradients: by exact, those of scale and shift do not know the order of the rows",
                   "[rows][gradients]", bfloat16, float) {
    using T = TestType;
    for (const RowOp op : norm_gradient_ops) {
        if (!is_offered(op)) continue;
        const RowRequest r{.op = op, .n = 70, .rows = 300, .reduction = Reduction::none};
        auto data = row_data<T>(r, {.scale = true}, 5);
        mend(data, r);
        std::vector<T> dx;
        const auto whole = run_of_columns<T>(r, data, 0, false, dx);
        RowData<T> turned = data;
        for (std::uint64_t i = 0; i < r.rows; ++i) {
            const std::uint64_t from = r.rows - 1 - i;
            for (std::uint64_t j = 0; j < r.n; ++j) {
                turned.x[i * r.n + j] = data.x[from * r.n + j];
                turned.upstream[i * r.n + j] = data.upstream[from * r.n + j];
            }
            if (!data.mean.empty()) turned.mean[i] = data.mean[from];
            turned.rstd[i] = data.rstd[from];
        }
        require_columns(run_of_columns<T>(r, turned, 0, false, dx), whole);
    }
}

/// May results be written over this array?
inline bool is_in_place(RowOp op, Over over, const RowVariant& v) {
    switch (over) {
    case Over::upstream:
        return has_upstream(op);
    case Over::probabilities:
        return op == RowOp::cross_entropy_gradient && v.probabilities;
    default:
        return op == RowOp::cross_entropy_gradient || op >= RowOp::softmax_gradient;
    }
}

TEMPLATE_TEST_CASE("row gradients: over what they are made of they are the same", "[rows][gradients]", float16,
                   bfloat16, float, double) {
    using T = TestType;
    std::uint64_t checked = 0;
    for_requests<T>(6, [&](RowRequest r, const RowVariant& v, std::uint64_t word) {
        choose(r, word);
        r.stride = r.upstream_stride = r.probability_stride = r.output_stride = word / 8 % 2 ? r.n + 5 : 0;
        if (!has_upstream(r.op)) r.upstream_stride = 0;
        if (!of_entropy(r.op)) r.probability_stride = 0;
        for (const Over over : {Over::x, Over::upstream, Over::probabilities}) {
            if (!is_in_place(r.op, over, v)) continue;
            const auto data = row_data<T>(r, v, word >> 20);
            INFO(shown(r, v) << " over " << static_cast<int>(over));
            RowRequest alone = r;
            require_same(run_rows<T>(r, data, static_cast<unsigned>(word % 5), true, over),
                         run_rows<T>(alone, data, static_cast<unsigned>(word % 3)));
            ++checked;
        }
    });
    REQUIRE(checked > 0);
}

TEMPLATE_TEST_CASE("row gradients: that of the mean with respect to probabilities is divided by the rows",
                   "[rows][gradients]", bfloat16, float, double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    if (!is_offered(RowOp::cross_entropy_target_gradient)) {
        SUCCEED();
        return;
    }
    for (const std::uint64_t rows : {1, 5, 300}) {
        for (const bool factor : {false, true}) {
            RowRequest r{
                .op = RowOp::cross_entropy_target_gradient, .n = 37, .rows = rows, .reduction = Reduction::none};
            auto data = row_data<T>(r, {.weights = true, .factor = factor}, rows);
            RowData<T> divided = data;
            const double by = factor ? static_cast<double>(data.factor[0]) : 1;
            divided.factor = {fp::round_to<V>(by / static_cast<double>(rows))};
            const auto expected = run_rows<T>(r, divided, 0), sum = run_rows<T>(r, data, 0);
            r.reduction = Reduction::mean;
            require_same(run_rows<T>(r, data, 1), expected);
            r.reduction = Reduction::sum;
            require_same(run_rows<T>(r, data, 1), sum);
        }
    }
}

TEST_CASE("row gradients: what overlaps is refused by name", "[rows][gradients][status]") {
    constexpr auto invalid = StatusCode::invalid_argument;
    // Of a GPU's plan pointers are looked at before anything runs.
    constexpr std::uint64_t n = 8, rows = 3;
    const RowBackend::Array<float> memory(std::vector<float>(400), 0);
    float* const p = memory.data();
    RowArrays good{.x = p,
                   .out = p + 50,
                   .scale = p + 100,
                   .mean = p + 120,
                   .rstd = p + 130,
                   .upstream = p + 150,
                   .scale_gradient = p + 200,
                   .shift_gradient = p + 220};
    RowRequest r{.op = RowOp::layernorm_gradient,
                 .n = n,
                 .rows = rows,
                 .parameters = true,
                 .reduction = Reduction::none,
                 .device = RowBackend::device};
    if (!is_offered(r.op)) {
        SUCCEED();
        return;
    }
    std::vector<double> workspace(1 << 16);
    const auto status = [&](const RowArrays& arrays) {
        const RowPlan plan = make_row_plan(r);
        throw_if_error(plan.status());
        // A workspace that is refused comes after all arrays.
        const Status got = run(plan, arrays, reinterpret_cast<char*>(workspace.data()) + 4);
        return got.argument == std::string_view("workspace") ? Status{} : got;
    };
    const auto wrong = [&](auto RowArrays::*member, float* value, const char* argument) {
        RowArrays bad = good;
        bad.*member = value;
        INFO(argument << " at " << value - p);
        expect(status(bad), invalid, argument);
    };
    const auto right = [&](auto RowArrays::*member, float* value) {
        RowArrays other = good;
        other.*member = value;
        INFO("at " << value - p);
        REQUIRE(status(other).ok());
    };
    REQUIRE(status(good).ok());
    right(&RowArrays::out, p);
    right(&RowArrays::out, p + 150);
    right(&RowArrays::out, p + 24);
    for (float* const at : {p + 1, p + 23, p + 100, p + 122, p + 132, p + 149, p + 173, p + 107, p + 99})
        wrong(&RowArrays::out, at, "out");
    for (float* const at : {p, p + 23, p + 50, p + 73, p + 107, p + 121, p + 131, p + 150, p + 45})
        wrong(&RowArrays::scale_gradient, at, "scale_gradient");
    for (float* const at : {p, p + 50, p + 150, p + 207, p + 193})
        wrong(&RowArrays::shift_gradient, at, "shift_gradient");
    wrong(&RowArrays::scale_gradient, nullptr, "scale_gradient");
    right(&RowArrays::shift_gradient, nullptr);
    right(&RowArrays::shift_gradient, p + 192);
    // Rows between rows: of the same stride, and not so close that one reaches the next.
    r.stride = r.output_stride = 20;
    good.out = p + 70;
    good.scale = good.scale_gradient = good.shift_gradient = nullptr;
    good.mean = p + 350;
    good.rstd = p + 360;
    good.upstream = p + 200;
    r.parameters = false;
    for (float* const at : {p, p + 8, p + 12, p + 28, p + 48})
        right(&RowArrays::out, at);
    for (float* const at : {p + 7, p + 13, p + 27, p + 33, p + 47})
        wrong(&RowArrays::out, at, "out");
    r.output_stride = 21;
    wrong(&RowArrays::out, p + 8, "out");
    wrong(&RowArrays::out, p, "out");
    // Results of another size are not written over elements.
    r = {.op = RowOp::softmax_gradient,
         .dtype = DType::bf16,
         .output = DType::f32,
         .n = n,
         .rows = rows,
         .device = RowBackend::device};
    good = {.x = p, .out = p, .upstream = p + 100};
    expect(status(good), invalid, "out");
    r = {.op = RowOp::logsumexp_gradient, .n = n, .rows = rows, .device = RowBackend::device};
    good = {.x = p, .out = p, .upstream = p + 100};
    REQUIRE(status(good).ok());
    wrong(&RowArrays::upstream, p + 23, "out");
    wrong(&RowArrays::out, p + 100, "out"); // one number a row
}

} // namespace detreduce::proptests
