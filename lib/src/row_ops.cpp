// Plans of row ops: every check of what a caller may ask for is here.
#include <algorithm>
#include <array>
#include <cmath>

#include <detreduce/row_ops.hpp>

#include "row_batch.hpp"
#include "run.hpp"

namespace detreduce {
namespace {

#define DETREDUCE_NAME(name, c_name) std::string_view(#name),
constexpr std::array names{DETREDUCE_ROW_OPS(DETREDUCE_NAME)};
#undef DETREDUCE_NAME

constexpr char no_row_ops[] = "row ops are not offered for f8e4m3 and f8e5m2; allowed are f16, bf16, f32 and f64";

bool is_entropy(RowOp op) {
    return op == RowOp::cross_entropy || op == RowOp::cross_entropy_gradient;
}
bool is_nll(RowOp op) {
    return op == RowOp::nll || op == RowOp::nll_gradient;
}
bool has_weights(RowOp op) {
    return is_entropy(op) || is_nll(op);
}
bool is_norm(RowOp op) {
    return op == RowOp::layernorm || op == RowOp::rmsnorm;
}

Status check_reduction(const RowRequest& r) {
    if (name(r.reduction) == "?") return invalid("reduction", allowed_reductions);
    if (name(r.method) == "?") return invalid("method", "allowed are automatic, exact, compensated, kahan and tree");
    if (r.reduction == Reduction::none) return {};
    if (!has_weights(r.op)) return invalid("reduction", "must be none but for cross entropy, nll and their gradients");
    if (r.method == Method::serial || r.method == Method::atomic)
        return {StatusCode::unsupported, "method", "allowed for losses are exact, compensated, kahan and tree"};
    if (r.reduction == Reduction::mean && r.rows == 0 && !is_gradient(r.op))
        return invalid("rows", "nothing has no mean; allowed for it are 1 to 2^40");
    return {};
}

Status check_words(const RowRequest& r) {
    if (name(r.op) == "?") return invalid("op", allowed<names>);
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
    return check_reduction(r);
}

Status check_size(const RowRequest& r) {
    if (r.n > max_n) return invalid("n", "allowed are 0 to 2^40 elements a row");
    if (r.n == 0 && (is_norm(r.op) || has_weights(r.op)))
        return invalid("n", "allowed for layernorm, rmsnorm, cross entropy and nll are 1 to 2^40 elements a row");
    if (r.rows > max_groups) return invalid("rows", "allowed are 0 to 2^40");
    if (r.stride != 0 && r.stride < r.n) return invalid("stride", "allowed are 0, for n, and n or more");
    if (r.output_stride != 0 && r.output_stride < r.n)
        return invalid("output_stride", "allowed are 0, for n, and n or more");
    if (r.output_stride != 0 && (r.op == RowOp::logsumexp || r.op == RowOp::cross_entropy || r.op == RowOp::nll))
        return invalid("output_stride", "must be 0 where a row has one result");
    if (r.probability_stride != 0 && !is_entropy(r.op))
        return invalid("probability_stride", "must be 0 but for cross entropy");
    if (r.probability_stride != 0 && r.probability_stride < r.n)
        return invalid("probability_stride", "allowed are 0, for n, and n or more");
    const std::uint64_t step = std::max({r.stride, r.output_stride, r.probability_stride, r.n});
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
    const bool entropy = is_entropy(r.op);
    if (const Status bad = check_optional("probabilities", a.probabilities, r.dtype, entropy); !bad.ok()) return bad;
    if (!has_weights(r.op)) return must_be_null("targets", a.targets);
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
    return check_optional("row_weights", a.row_weights, plan.arithmetic(), has_weights(r.op) && !is_gradient(r.op));
}

Status check_arrays(const RowPlan& plan, const RowArrays& a) {
    const RowRequest& r = plan.request();
    const bool layer = r.op == RowOp::layernorm, norm = is_norm(r.op);
    const std::uint64_t elements = r.rows == 0 || r.op == RowOp::nll_gradient ? 0 : r.n;
    if (const Status bad = check_elements("x", a.x, r.dtype, elements); !bad.ok()) return bad;
    const bool reduced = is_batch(r) && !is_gradient(r.op);
    if (a.out == nullptr && (reduced || r.rows * plan.results() > 0)) return invalid("out", "must not be null");
    if (const Status bad = check_alignment("out", a.out, plan.output()); !bad.ok()) return bad;
    if (const Status bad = check_optional("scale", a.scale, r.dtype, norm); !bad.ok()) return bad;
    if (const Status bad = check_optional("shift", a.shift, r.dtype, layer); !bad.ok()) return bad;
    if (a.shift != nullptr && a.scale == nullptr) return invalid("shift", "must be null where scale is");
    if (const Status bad = check_optional("mean", a.mean, plan.arithmetic(), layer); !bad.ok()) return bad;
    if (const Status bad = check_optional("rstd", a.rstd, plan.arithmetic(), norm); !bad.ok()) return bad;
    if (const Status bad = check_optional("weights", a.weights, r.dtype, has_weights(r.op)); !bad.ok()) return bad;
    if (const Status bad = check_row_weights(plan, a); !bad.ok()) return bad;
    if (const Status bad = check_optional("factor", a.factor, plan.arithmetic(), is_gradient(r.op)); !bad.ok())
        return bad;
    return check_targets(r, a);
}

} // namespace

std::string_view name(RowOp op) noexcept {
    const auto i = static_cast<std::size_t>(op);
    return i < names.size() ? names[i] : "?";
}

RowPlan make_row_plan(const RowRequest& asked) noexcept {
    RowPlan plan;
    plan.request_ = asked;
    plan.request_.method = resolved(asked.method, Op::sum);
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
    if (is_batch(request)) {
        detail::RowPlanParts::make_totals(plan, rows);
    } else {
        plan.workspace_bytes_ = rows;
    }
    return plan;
}

Status run(const RowPlan& plan, const RowArrays& arrays, void* workspace, Stream stream) noexcept {
    const Status bad = check_call(plan, workspace, [&] { return check_arrays(plan, arrays); });
    if (!bad.ok()) return bad;
    if (is_batch(plan.request())) return run_batch(plan, arrays, static_cast<char*>(workspace), stream);
    return run_rows(plan, arrays, workspace, stream);
}

} // namespace detreduce
