// Plans of row ops: every check of what a caller may ask for is here.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <detreduce/row_ops.hpp>

#include "overlap.hpp"
#include "row_batch.hpp"
#include "run.hpp"

namespace detreduce {
namespace {

#define DETREDUCE_NAME(name, c_name) std::string_view(#name),
constexpr std::array row_op_names{DETREDUCE_ROW_OPS(DETREDUCE_NAME)};
#undef DETREDUCE_NAME

constexpr char no_row_ops[] = "row ops are not offered for f8e4m3 and f8e5m2; allowed are f16, bf16, f32 and f64";

bool has_probabilities(RowOp op) {
    return op == RowOp::cross_entropy || op == RowOp::cross_entropy_gradient;
}
/// Cross entropy, and its gradients.
bool is_entropy(RowOp op) {
    return has_probabilities(op) || op == RowOp::cross_entropy_target_gradient;
}
bool is_nll(RowOp op) {
    return op == RowOp::nll || op == RowOp::nll_gradient;
}
bool has_weights(RowOp op) {
    return is_entropy(op) || is_nll(op);
}
bool has_targets(RowOp op) {
    return has_probabilities(op) || is_nll(op);
}
/// Is what is known of a sum of exponentials kept, or given?
bool has_exp_sums(RowOp op) {
    return is_entropy(op) || op == RowOp::logsumexp || op == RowOp::logsumexp_gradient;
}
bool has_one_result(RowOp op) {
    return op == RowOp::logsumexp || op == RowOp::cross_entropy || op == RowOp::nll;
}
/// Is there one number of all rows?
bool is_reduced(const RowRequest& r) {
    return r.reduction != Reduction::none && (r.op == RowOp::cross_entropy || r.op == RowOp::nll);
}
bool is_norm(RowOp op) {
    return op == RowOp::layernorm || op == RowOp::rmsnorm;
}

Status check_state(const RowRequest& r) {
    if (!r.state) return {};
    if (r.op != RowOp::cross_entropy && r.op != RowOp::nll)
        return invalid("state", "must be false but for cross_entropy and nll: what rows give is not put together");
    if (r.reduction == Reduction::none)
        return invalid("reduction", "allowed for states are sum and mean; of none there is nothing to be put together");
    if (r.method == Method::exact) return {};
    return {StatusCode::unsupported, "method",
            "allowed for states is exact: the bits of other methods depend on where the rows are cut"};
}

Status check_reduction(const RowRequest& r) {
    if (name(*r.reduction) == "?") return invalid("reduction", allowed_reductions);
    if (name(r.method) == "?") return invalid("method", "allowed are automatic, exact, compensated, kahan and tree");
    if (const Status bad = check_state(r); !bad.ok()) return bad;
    if (r.reduction == Reduction::none && !r.parameters) return {};
    if (r.reduction != Reduction::none && !has_weights(r.op))
        return invalid("reduction", "must be none but for cross entropy, nll and their gradients");
    if (r.method == Method::serial || r.method == Method::atomic)
        return {StatusCode::unsupported, "method",
                r.parameters ? "allowed for sums over the rows are exact, compensated, kahan and tree"
                             : "allowed for losses are exact, compensated, kahan and tree"};
    if (r.reduction == Reduction::mean && r.rows == 0 && !is_loss_gradient(r.op) && !r.state)
        return invalid("rows", "nothing has no mean; allowed for it are 1 to 2^40");
    return {};
}

/// Gradients with respect to scale and shift.
Status check_parameters(const RowRequest& r) {
    if (!r.parameters) return {};
    if (!is_norm_gradient(r.op))
        return invalid("parameters", "must be false but for layernorm_gradient and rmsnorm_gradient");
    if (r.method != Method::exact && r.output.value_or(r.dtype) != arithmetic_of(r.dtype))
        return invalid("output", "allowed for sums over the rows by another method than exact is f32, of f64 f64");
    return {};
}

Status check_words(const RowRequest& r) {
    if (name(r.op) == "?") return invalid("op", allowed<row_op_names>);
    if (!is_dtype(r.dtype)) return invalid("dtype", dtypes_from_16_bits);
    if (has_8_bits(r.dtype)) return {StatusCode::unsupported, "dtype", no_row_ops};
    const bool wide = is_narrow(r.dtype) && r.output == DType::f32;
    if (r.output && *r.output != r.dtype && !wide)
        return invalid("output", "allowed is the dtype of the elements and, for f16 and bf16, f32");
    if (!(r.epsilon >= 0) || !std::isfinite(r.epsilon))
        return invalid("epsilon", "allowed are finite numbers that are not negative");
    if (!(r.label_smoothing >= 0 && r.label_smoothing <= 1)) return invalid("label_smoothing", "allowed are 0 to 1");
    if (r.label_smoothing != 0 && !is_entropy(r.op))
        return invalid("label_smoothing", "must be 0 but for cross entropy");
    const double most =
        arithmetic_of(r.dtype) == DType::f64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
    if (!(r.z_loss >= 0 && r.z_loss <= most / 2))
        return invalid("z_loss",
                       "allowed are 0 to half of the largest number of the format in which rows are computed");
    if (r.z_loss != 0 && !has_probabilities(r.op))
        return invalid("z_loss", "must be 0 but for cross_entropy and cross_entropy_gradient");
    if (const Status bad = check_reduction(r); !bad.ok()) return bad;
    return check_parameters(r);
}

Status check_size(const RowRequest& r) {
    if (r.n > max_n) return invalid("n", "allowed are 0 to 2^40 elements a row");
    if (r.n == 0 && (is_norm(r.op) || is_norm_gradient(r.op) || has_weights(r.op)))
        return invalid("n", "allowed for layernorm, rmsnorm, cross entropy and nll are 1 to 2^40 elements a row");
    if (r.rows > max_groups) return invalid("rows", "allowed are 0 to 2^40");
    if (r.stride != 0 && r.stride < r.n) return invalid("stride", "allowed are 0, for n, and n or more");
    if (r.output_stride != 0 && r.output_stride < r.n)
        return invalid("output_stride", "allowed are 0, for n, and n or more");
    if (r.output_stride != 0 && has_one_result(r.op))
        return invalid("output_stride", "must be 0 where a row has one result");
    if (r.probability_stride != 0 && !has_probabilities(r.op))
        return invalid("probability_stride", "must be 0 but for cross entropy");
    if (r.probability_stride != 0 && r.probability_stride < r.n)
        return invalid("probability_stride", "allowed are 0, for n, and n or more");
    if (r.upstream_stride != 0 && !has_wide_upstream(r.op))
        return invalid("upstream_stride", "must be 0 but for gradients of softmax, log_softmax, layernorm and rmsnorm");
    if (r.upstream_stride != 0 && r.upstream_stride < r.n)
        return invalid("upstream_stride", "allowed are 0, for n, and n or more");
    const std::uint64_t step = std::max({r.stride, r.output_stride, r.probability_stride, r.upstream_stride, r.n});
    if (r.rows > 0 && step > max_extent / r.rows) return invalid("rows", "allowed are 2^46 elements in all");
    return {};
}

Status check_launch(const RowRequest& r) {
    const Launch& l = r.launch;
    if (r.device.backend == Backend::cuda && name(l.schedule) != "?") {
        if (l.schedule != Schedule::automatic)
            return {StatusCode::unsupported, "launch.schedule", "allowed is automatic"};
        if (l.block != 0) return {StatusCode::unsupported, "launch.block", "allowed is 0, for the library's choice"};
        if (l.grid != 0) return {StatusCode::unsupported, "launch.grid", "allowed is 0, for the library's choice"};
    }
    return {};
}

/// What it says of the device and the launch holds for the rows as well.
Plan plan_sums(const RowRequest& r) {
    return make_plan({.op = Op::sum,
                      .method = Method::tree,
                      .dtype = r.dtype,
                      .output = arithmetic_of(r.dtype),
                      .shape = Shape::rows,
                      .n = r.n,
                      .groups = r.rows,
                      .stride = r.stride,
                      .device = r.device,
                      .launch = r.launch});
}

Status must_be_null(const char* argument, const void* p) {
    return p == nullptr ? Status{} : invalid(argument, "must be null: this op has none");
}

Status check_optional(const char* argument, const void* p, DType dtype, bool has) {
    return has ? check_alignment(argument, p, dtype) : must_be_null(argument, p);
}

/// Those in host memory are looked at; what is on a device cannot be.
Status check_classes(const RowRequest& r, const std::int64_t* targets) {
    for (std::uint64_t i = 0; i < r.rows; ++i) {
        if (targets[i] != r.ignore_index && static_cast<std::uint64_t>(targets[i]) >= r.n)
            return invalid("targets", "must be a class, 0 to n - 1, or ignore_index", i);
    }
    return {};
}

/// What says which class a row is of.
Status check_targets(const RowRequest& r, const RowArrays& a) {
    const bool entropy = has_probabilities(r.op);
    if (const Status bad = check_optional("probabilities", a.probabilities, r.dtype, entropy); !bad.ok()) return bad;
    if (!has_targets(r.op)) return must_be_null("targets", a.targets);
    if (a.probabilities != nullptr)
        return a.targets == nullptr ? Status{} : invalid("targets", "must be null where there are probabilities");
    if (a.targets == nullptr && r.rows > 0)
        return invalid("targets", entropy ? "must not be null, or probabilities must not" : "must not be null");
    if (misaligned(a.targets, 8)) return invalid("targets", "must be aligned to 8 bytes");
    return r.device.backend == Backend::cpu ? check_classes(r, a.targets) : Status{};
}

Status check_row_weights(const RowPlan& plan, const RowArrays& a) {
    const RowRequest& r = plan.request();
    if (a.row_weights != nullptr && r.reduction != Reduction::none)
        return invalid("row_weights", "must be null: with a reduction there are none");
    return check_optional("row_weights", a.row_weights, plan.arithmetic(),
                          has_weights(r.op) && !is_loss_gradient(r.op));
}

/// Of gradients of losses: a number a row in the place of one for all.
Status check_factors(const RowPlan& plan, const RowArrays& a) {
    if (a.upstream == nullptr) return {};
    if (plan.request().reduction != Reduction::none)
        return invalid("upstream", "must be null: with a reduction there is one number for all rows, factor");
    if (a.factor != nullptr) return invalid("factor", "must be null where upstream has a number for each row");
    return check_alignment("upstream", a.upstream, plan.arithmetic());
}

/// What comes from upstream, and what is made of it beside out.
Status check_upstream(const RowPlan& plan, const RowArrays& a) {
    const RowRequest& r = plan.request();
    const bool wide = has_wide_upstream(r.op), one = r.op == RowOp::logsumexp_gradient;
    if (is_loss_gradient(r.op)) {
        if (const Status bad = check_factors(plan, a); !bad.ok()) return bad;
    } else if (!wide && !one) {
        if (const Status bad = must_be_null("upstream", a.upstream); !bad.ok()) return bad;
    } else {
        const std::uint64_t there = r.rows == 0 ? 0 : r.n;
        const DType dtype = wide ? r.dtype : plan.arithmetic();
        if (const Status bad = check_elements("upstream", a.upstream, dtype, there); !bad.ok()) return bad;
    }
    if (r.parameters && a.scale_gradient == nullptr) return invalid("scale_gradient", "must not be null");
    const DType output = plan.output();
    const bool shift = r.parameters && r.op == RowOp::layernorm_gradient;
    if (const Status bad = check_optional("scale_gradient", a.scale_gradient, output, r.parameters); !bad.ok())
        return bad;
    return check_optional("shift_gradient", a.shift_gradient, output, shift);
}

/// Of a gradient of a norm, what forward has kept.
Status check_kept(const RowRequest& r, const RowArrays& a) {
    if (!is_norm_gradient(r.op) || r.rows == 0) return {};
    if (r.op == RowOp::layernorm_gradient && a.mean == nullptr)
        return invalid("mean", "must not be null: it is what layernorm gave");
    return a.rstd != nullptr ? Status{} : invalid("rstd", "must not be null: it is what the norm gave");
}

/// A gradient may be written over what it is made of, element by element. Nothing else that is
/// written, nor the workspace, may share memory with what is read or with each other.
Status check_overlap(const RowPlan& plan, const RowArrays& a, const void* workspace) {
    const RowRequest& r = plan.request();
    const std::uint64_t size = size_of(r.dtype), each = size_of(plan.arithmetic()), to = size_of(plan.output());
    const auto rows_of = [&](const void* p, std::uint64_t stride, std::uint64_t bytes) {
        return Area{p, r.rows, r.n * bytes, (stride != 0 ? stride : r.n) * bytes};
    };
    const auto number_of_rows = [&](const void* p) { return list_of(p, r.rows, each); };
    const Area exp_sums = list_of(a.exp_sums, r.rows, 2 * each);
    const bool wide = has_wide_upstream(r.op),
               gradient = wide || is_loss_gradient(r.op) || r.op == RowOp::logsumexp_gradient;
    const Plan states = plan.states();
    const Area out = r.state ? list_of(a.out, states.groups() * states.state_words(), sizeof(std::int64_t))
                     : has_one_result(r.op) ? list_of(a.out, is_reduced(r) ? 1 : r.rows, to)
                                            : rows_of(a.out, plan.output_stride(), to);
    struct Read {
        Area area;
        bool in_place = false;
    };
    const Read read[] = {{r.op == RowOp::nll_gradient ? Area{} : rows_of(a.x, plan.stride(), size), gradient},
                         {wide ? rows_of(a.upstream, r.upstream_stride, size) : number_of_rows(a.upstream), wide},
                         {rows_of(a.probabilities, r.probability_stride, size), gradient},
                         {list_of(a.scale, r.n, size)},
                         {list_of(a.shift, r.n, size)},
                         {list_of(a.weights, r.n, size)},
                         {gradient ? number_of_rows(a.mean) : Area{}},
                         {gradient ? number_of_rows(a.rstd) : Area{}},
                         {gradient ? exp_sums : Area{}},
                         {list_of(a.targets, r.rows, sizeof(std::int64_t))},
                         {list_of(a.factor, 1, each)}};
    struct Written {
        const char* argument;
        Area area;
    };
    const Written written[] = {{"out", out},
                               {"mean", gradient ? Area{} : number_of_rows(a.mean)},
                               {"rstd", gradient ? Area{} : number_of_rows(a.rstd)},
                               {"row_weights", number_of_rows(a.row_weights)},
                               {"exp_sums", gradient ? Area{} : exp_sums},
                               {"scale_gradient", list_of(a.scale_gradient, r.n, to)},
                               {"shift_gradient", list_of(a.shift_gradient, r.n, to)},
                               {"workspace", list_of(workspace, plan.workspace_bytes(), 1)}};
    for (const Written& of : written) {
        const bool is_out = of.argument == written[0].argument;
        for (const Read& from : read) {
            const bool same =
                from.in_place && to == size && from.area.p == a.out && (from.area.apart == out.apart || r.rows == 1);
            if ((is_out && same) || !overlap(of.area, from.area)) continue;
            return invalid(of.argument, is_out && gradient
                                            ? "must be x, upstream or probabilities, with the same stride and elements "
                                              "of the same size, or not overlap what is read"
                                            : "must not overlap what is read");
        }
        for (const Written* other = written; other != &of; ++other) {
            if (overlap(of.area, other->area)) return invalid(of.argument, "must not overlap what else is written");
        }
    }
    return {};
}

Status check_arrays(const RowPlan& plan, const RowArrays& a, const void* workspace) {
    const RowRequest& r = plan.request();
    const bool layer = r.op == RowOp::layernorm, norm = is_norm(r.op), slope = is_norm_gradient(r.op);
    const std::uint64_t elements = r.rows == 0 || r.op == RowOp::nll_gradient ? 0 : r.n;
    if (const Status bad = check_elements("x", a.x, r.dtype, elements); !bad.ok()) return bad;
    if (a.out == nullptr && (is_reduced(r) || r.rows * plan.results() > 0)) return invalid("out", "must not be null");
    if (r.state && misaligned(a.out, sizeof(std::int64_t)))
        return invalid("out", "must be aligned to 8 bytes, as the words of states are");
    if (r.state && r.reduction == Reduction::mean && a.probabilities != nullptr)
        return invalid("probabilities", "must be null for states of the mean, which is over the rows: allowed is the "
                                        "state of the sum, which is divided by their number");
    if (const Status bad = check_alignment("out", a.out, plan.output()); !bad.ok()) return bad;
    if (const Status bad = check_optional("scale", a.scale, r.dtype, norm || slope); !bad.ok()) return bad;
    if (const Status bad = check_optional("shift", a.shift, r.dtype, layer); !bad.ok()) return bad;
    if (a.shift != nullptr && a.scale == nullptr) return invalid("shift", "must be null where scale is");
    const bool mean = layer || r.op == RowOp::layernorm_gradient;
    if (const Status bad = check_optional("mean", a.mean, plan.arithmetic(), mean); !bad.ok()) return bad;
    if (const Status bad = check_optional("rstd", a.rstd, plan.arithmetic(), norm || slope); !bad.ok()) return bad;
    if (const Status bad = check_kept(r, a); !bad.ok()) return bad;
    if (const Status bad = check_optional("weights", a.weights, r.dtype, has_weights(r.op)); !bad.ok()) return bad;
    if (const Status bad = check_row_weights(plan, a); !bad.ok()) return bad;
    if (const Status bad = check_optional("factor", a.factor, plan.arithmetic(), is_loss_gradient(r.op)); !bad.ok())
        return bad;
    if (const Status bad = check_upstream(plan, a); !bad.ok()) return bad;
    if (const Status bad = check_optional("exp_sums", a.exp_sums, plan.arithmetic(), has_exp_sums(r.op)); !bad.ok())
        return bad;
    if (const Status bad = check_targets(r, a); !bad.ok()) return bad;
    return check_overlap(plan, a, workspace);
}

} // namespace

std::string_view name(RowOp op) noexcept {
    const auto i = static_cast<std::size_t>(op);
    return i < row_op_names.size() ? row_op_names[i] : "?";
}

RowPlan make_row_plan(const RowRequest& asked) noexcept {
    RowPlan plan;
    plan.request_ = asked;
    plan.request_.method = resolved(asked.method, Op::sum);
    plan.request_.reduction = asked.reduction.value_or(has_weights(asked.op) ? Reduction::mean : Reduction::none);
    RowRequest& request = plan.request_;
    plan.status_ = check_words(request);
    if (plan.status_.ok()) plan.status_ = check_size(request);
    if (plan.status_.ok()) plan.status_ = check_launch(request);
    if (!plan.status_.ok()) return plan;
    plan.sums_ = plan_sums(request);
    plan.status_ = plan.sums_.status();
    if (!plan.status_.ok()) return plan;
    const bool on_cuda = request.device.backend == Backend::cuda;
    request.device = plan.sums_.request().device;
    if (!on_cuda) plan.launch_ = plan.sums_.launch();
    const std::size_t rows = on_cuda ? cuda::functions()->row_workspace_bytes(request, plan.sums_) : 0;
    if (request.parameters) {
        detail::RowPlanParts::make_columns(plan, rows);
    } else if (is_batch(request)) {
        detail::RowPlanParts::make_totals(plan, rows);
    } else {
        plan.workspace_bytes_ = rows;
    }
    return plan;
}

Status run(const RowPlan& plan, const RowArrays& arrays, void* workspace, Stream stream) noexcept {
    const Status bad = check_call(plan, workspace, [&] { return check_arrays(plan, arrays, workspace); });
    if (!bad.ok()) return bad;
    if (is_batch(plan.request())) return run_batch(plan, arrays, static_cast<char*>(workspace), stream);
    return run_rows(plan, arrays, workspace, stream);
}

} // namespace detreduce
