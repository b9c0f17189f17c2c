#include "row_batch.hpp"

#include <algorithm>

#include <detreduce/states.hpp>

#include "host/row_ops.hpp"
#include "quotient.hpp"
#include "run.hpp"

namespace detreduce {
namespace {

using detail::RowPlanParts;

constexpr std::size_t rounded_up(std::size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/// In the workspace: of what is summed over the rows for the gradient with respect to scale.
constexpr std::size_t bytes_of_terms(const RowRequest& r) {
    return rounded_up(r.rows * r.n * size_of(arithmetic_of(r.dtype)));
}

/// Is the sum of the losses, by its method, the result, without another rounding?
bool sums_at_once(const RowRequest& r) {
    if (r.reduction == Reduction::mean) return false;
    return r.method == Method::exact || r.output.value_or(r.dtype) == arithmetic_of(r.dtype);
}

/// One run of a batch.
struct BatchRun {
    const RowPlan& plan;
    const RowArrays& arrays;
    char* workspace;
    Stream stream;
    const RowRequest& all = plan.request();
    BatchLayout layout{all};
    DType arithmetic = plan.arithmetic();
    bool mean = all.reduction == Reduction::mean;

    [[nodiscard]] char* weights() const { return workspace + layout.pitch; }
    [[nodiscard]] double* sums() const { return reinterpret_cast<double*>(workspace + layout.sums); }

    [[nodiscard]] Status rows(const RowArrays& own) const {
        return run_rows(RowPlanParts::rows_of(plan), own, workspace + layout.rest, stream);
    }
    [[nodiscard]] Status add(const char* values, void* out) const {
        return run(RowPlanParts::sum_of(plan), values, out, workspace + layout.rest, stream);
    }
    /// What a GPU counts in the place of the sum of the weights: of so many ones that is their
    /// number, by every method.
    [[nodiscard]] cuda::CountedTargets counted() const {
        const bool ones = arrays.targets != nullptr && arrays.weights == nullptr;
        if (!ones || all.device.backend != Backend::cuda || all.rows > cuda::CountedTargets::most) return {};
        return {arrays.targets, all.rows, all.n, all.ignore_index};
    }
    [[nodiscard]] Status loss() const {
        const bool weighed = mean && arrays.probabilities == nullptr; // else the weights are 1 each
        const cuda::CountedTargets ones = weighed && !all.state ? counted() : cuda::CountedTargets{};
        const bool added = weighed && ones.targets == nullptr;
        RowArrays own = arrays;
        own.out = workspace;
        own.row_weights = added ? weights() : nullptr;
        if (const Status bad = rows(own); !bad.ok()) return bad;
        if (all.state)
            return run(RowPlanParts::states_of(plan, weighed), workspace, arrays.out, workspace + layout.rest, stream);
        if (sums_at_once(all)) return add(workspace, arrays.out);
        if (const Status bad = add(workspace, sums()); !bad.ok()) return bad;
        if (added) {
            if (const Status bad = add(weights(), sums() + 1); !bad.ok()) return bad;
        }
        return divide(all.device,
                      {sums(), DType::f64, added ? sums() + 1 : nullptr, mean ? static_cast<double>(all.rows) : 1,
                       arrays.out, plan.output()},
                      stream, ones);
    }

    /// The loss of all that went into states.
    [[nodiscard]] Status finished(const std::int64_t* states) const {
        if (!mean) return finish(plan.states(), states, arrays.out, stream);
        if (const Status bad = finish(plan.states(), states, sums(), stream); !bad.ok()) return bad;
        return divide(all.device, {sums(), DType::f64, sums() + 1, 1, arrays.out, plan.output()}, stream);
    }

    [[nodiscard]] Status gradient() const {
        const bool weighed = arrays.targets != nullptr; // else the weights are 1 each
        const cuda::CountedTargets ones = counted();
        if (weighed && ones.targets == nullptr) {
            const RowArrays own{.targets = arrays.targets, .weights = arrays.weights, .row_weights = weights()};
            const Status bad = run_rows(RowPlanParts::weights_of(plan), own, nullptr, stream);
            if (!bad.ok()) return bad;
            if (const Status none = add(weights(), sums() + 1); !none.ok()) return none;
        }
        char* const factor = workspace + layout.factor;
        const Status bad = divide(all.device,
                                  {arrays.factor, arithmetic, weighed ? sums() + 1 : nullptr,
                                   static_cast<double>(all.rows), factor, arithmetic},
                                  stream, ones);
        if (!bad.ok()) return bad;
        RowArrays own = arrays;
        own.factor = factor;
        return rows(own);
    }

    /// The gradients of a norm. What is summed is read before out, which may be the same, is
    /// written.
    [[nodiscard]] Status parameters() const {
        RowArrays own = arrays;
        own.scale_gradient = own.shift_gradient = nullptr;
        if (adds_made_terms(all)) {
            const Status bad = cuda::call(&cuda::Functions::enqueue_scale_gradient, plan, arrays, workspace, stream);
            return bad.ok() ? run_rows(RowPlanParts::rows_of(plan), own, workspace, stream) : bad;
        }
        if (arrays.shift_gradient != nullptr) {
            const Status bad =
                run(RowPlanParts::of_shift(plan), arrays.upstream, arrays.shift_gradient, after_terms(), stream);
            if (!bad.ok()) return bad;
        }
        own.scale_gradient = workspace;
        const Status bad = run_rows(RowPlanParts::rows_of(plan), own, after_terms(), stream);
        if (!bad.ok()) return bad;
        return run(RowPlanParts::of_scale(plan), workspace, arrays.scale_gradient, after_terms(), stream);
    }
    [[nodiscard]] char* after_terms() const { return workspace + bytes_of_terms(all); }
};

} // namespace

BatchLayout::BatchLayout(const RowRequest& r) noexcept
    : pitch(rounded_up(r.rows * size_of(arithmetic_of(r.dtype)))), sums(2 * pitch), factor(sums + 2 * sizeof(double)),
      rest(sums + 256) {}

RowPlan RowPlanParts::rows_of(const RowPlan& batch) noexcept {
    RowPlan rows = batch;
    rows.request_.reduction = Reduction::none;
    const RowOp op = batch.request_.op;
    if (op == RowOp::cross_entropy || op == RowOp::nll) rows.request_.output = batch.arithmetic();
    return rows;
}

RowPlan RowPlanParts::weights_of(const RowPlan& batch) noexcept {
    RowPlan plan = rows_of(batch);
    plan.request_.op = RowOp::nll;
    plan.request_.label_smoothing = plan.request_.z_loss = 0;
    plan.request_.output_stride = plan.request_.probability_stride = 0;
    return plan;
}

void RowPlanParts::make_totals(RowPlan& batch, std::size_t rows) noexcept {
    const RowRequest& r = batch.request_;
    const BatchLayout layout(r);
    const DType dtype = batch.arithmetic(), output = sums_at_once(r) ? batch.output() : DType::f64;
    std::size_t most = rows;
    for (const std::uint64_t arrays : {1, 2}) {
        if (arrays == 2 && !r.state) break;
        Plan& plan = batch.totals_[arrays - 1];
        plan = make_plan({.op = Op::sum,
                          .method = r.method,
                          .dtype = dtype,
                          .output = output,
                          .shape = r.state ? Shape::rows : Shape::flat,
                          .n = r.rows,
                          .groups = arrays,
                          .stride = r.state ? layout.pitch / size_of(dtype) : 0,
                          .device = r.device,
                          .launch = r.launch,
                          .state = r.state});
        if (batch.status_.ok()) batch.status_ = plan.status();
        most = std::max(most, plan.workspace_bytes());
    }
    if (batch.status_.ok()) batch.workspace_bytes_ = layout.rest + most;
}

void RowPlanParts::make_columns(RowPlan& batch, std::size_t rows) noexcept {
    const RowRequest& r = batch.request_;
    std::size_t most = rows;
    if (adds_made_terms(r)) {
        batch.workspace_bytes_ = rows;
        return;
    }
    for (const bool of_shift : {false, true}) {
        Plan& plan = batch.totals_[of_shift ? 1 : 0];
        plan = make_plan({.op = Op::sum,
                          .method = r.method,
                          .dtype = of_shift ? r.dtype : batch.arithmetic(),
                          .output = batch.output(),
                          .shape = Shape::columns,
                          .n = r.rows,
                          .groups = r.n,
                          .stride = of_shift ? r.upstream_stride : 0,
                          .device = r.device,
                          .launch = r.launch});
        if (batch.status_.ok()) batch.status_ = plan.status();
        most = std::max(most, plan.workspace_bytes());
    }
    if (batch.status_.ok()) batch.workspace_bytes_ = bytes_of_terms(r) + most;
}

Plan RowPlan::states() const noexcept {
    if (!status_.ok() || !request_.state) return {};
    const bool mean = request_.reduction == Reduction::mean;
    return make_plan({.op = Op::sum,
                      .method = Method::exact,
                      .dtype = arithmetic(),
                      .output = mean ? DType::f64 : output(),
                      .shape = mean ? Shape::rows : Shape::flat,
                      .groups = mean ? std::uint64_t{2} : 1,
                      .device = request_.device,
                      .state = true});
}

Status finish(const RowPlan& plan, const std::int64_t* states, void* out, void* workspace, Stream stream) noexcept {
    if (!plan.status().ok()) return plan.status();
    if (!plan.request().state) return invalid("plan", "must be that of a request for states");
    if (out == nullptr) return invalid("out", "must not be null");
    if (const Status bad = check_alignment("out", out, plan.output()); !bad.ok()) return bad;
    if (const Status bad = check_finish(plan, states, out, workspace); !bad.ok()) return bad;
    const RowArrays arrays{.out = out};
    return BatchRun{plan, arrays, static_cast<char*>(workspace), stream}.finished(states);
}

Status run_rows(const RowPlan& plan, const RowArrays& arrays, void* workspace, Stream stream) noexcept {
    if (plan.request().rows == 0) return {};
    return run_on([&] { host::run_rows(plan, arrays); }, &cuda::Functions::enqueue_rows, plan, arrays, workspace,
                  stream);
}

Status run_batch(const RowPlan& plan, const RowArrays& arrays, char* workspace, Stream stream) noexcept {
    const BatchRun run{plan, arrays, workspace, stream};
    if (plan.request().parameters) return run.parameters();
    return is_loss_gradient(plan.request().op) ? run.gradient() : run.loss();
}

} // namespace detreduce
