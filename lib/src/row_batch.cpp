#include "row_batch.hpp"

#include <algorithm>

#include <detreduce/spec/row_math.hpp>

#include "host/row_ops.hpp"
#include "run.hpp"

namespace detreduce {
namespace {

constexpr std::size_t rounded_up(std::size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/// One run of a batch.
struct BatchRun {
    const RowBatch& batch;
    const RowArrays& arrays;
    char* workspace;
    Stream stream;
    DType arithmetic = arithmetic_of(batch.all.dtype);
    bool mean = batch.all.reduction == Reduction::mean;

    [[nodiscard]] char* weights() const { return workspace + batch.pitch; }
    [[nodiscard]] double* sums() const { return reinterpret_cast<double*>(workspace + batch.sums); }

    [[nodiscard]] Status run_rows(const RowArrays& own) const {
        return run(make_row_plan(batch.rows), own, workspace + batch.rest, stream);
    }
    [[nodiscard]] Status add(const char* values, std::uint64_t count, void* out, DType output) const {
        return run(batch.sums_plan(count, output), values, out, workspace + batch.rest, stream);
    }
    [[nodiscard]] Status divide(const spec::Quotient& quotient) const {
        if (batch.all.device.backend == Backend::cuda)
            return cuda::call(&cuda::Functions::enqueue_quotient, batch.all.device, quotient, stream);
        host::write_quotient(quotient);
        return {};
    }

    [[nodiscard]] Status loss() const {
        const bool weighed = mean && arrays.probabilities == nullptr; // else the weights are 1 each
        RowArrays own = arrays;
        own.out = workspace;
        own.row_weights = weighed ? weights() : nullptr;
        if (const Status bad = run_rows(own); !bad.ok()) return bad;
        const DType output = batch.all.output.value_or(batch.all.dtype);
        // What the method gives without another rounding is written at once.
        if (!mean && (batch.all.method == Method::exact || output == arithmetic))
            return add(workspace, 1, arrays.out, output);
        if (const Status bad = add(workspace, weighed ? 2 : 1, sums(), DType::f64); !bad.ok()) return bad;
        return divide({sums(), DType::f64, weighed ? sums() + 1 : nullptr,
                       mean ? static_cast<double>(batch.all.rows) : 1, arrays.out, output});
    }

    [[nodiscard]] Status gradient() const {
        const bool weighed = arrays.probabilities == nullptr;
        if (weighed) {
            if (const Status bad = write_weights(); !bad.ok()) return bad;
            if (const Status bad = add(weights(), 1, sums() + 1, DType::f64); !bad.ok()) return bad;
        }
        char* const factor = workspace + batch.factor;
        const Status bad = divide({arrays.factor, arithmetic, weighed ? sums() + 1 : nullptr,
                                   static_cast<double>(batch.all.rows), factor, arithmetic});
        if (!bad.ok()) return bad;
        RowArrays own = arrays;
        own.factor = factor;
        return run_rows(own);
    }
    /// Those of the rows' targets: what nll writes beside losses, which are not asked for.
    [[nodiscard]] Status write_weights() const {
        RowRequest r = batch.rows;
        r.op = RowOp::nll;
        r.label_smoothing = 0;
        r.output_stride = r.probability_stride = 0;
        const RowPlan plan = make_row_plan(r);
        if (!plan.status().ok()) return plan.status();
        const RowArrays own{.targets = arrays.targets, .weights = arrays.weights, .row_weights = weights()};
        return detreduce::run_rows(plan, own, nullptr, stream);
    }
};

} // namespace

RowBatch::RowBatch(const RowRequest& request) noexcept : all(request), rows(request) {
    rows.reduction = Reduction::none;
    if (!is_gradient(all.op)) rows.output = arithmetic_of(all.dtype);
    pitch = rounded_up(all.rows * size_of(arithmetic_of(all.dtype)));
    sums = 2 * pitch;
    factor = sums + 2 * sizeof(double);
    rest = sums + 256;
    const RowPlan of_rows = make_row_plan(rows);
    status = of_rows.status();
    std::size_t most = of_rows.workspace_bytes();
    for (const std::uint64_t arrays : {1, 2}) {
        const Plan plan = sums_plan(arrays, DType::f64);
        if (status.ok()) status = plan.status();
        most = std::max(most, plan.workspace_bytes());
    }
    if (status.ok()) bytes = rest + most;
}

Plan RowBatch::sums_plan(std::uint64_t arrays, DType output) const noexcept {
    const DType dtype = arithmetic_of(all.dtype);
    return make_plan({.op = Op::sum,
                      .method = all.method,
                      .dtype = dtype,
                      .output = output,
                      .shape = Shape::rows,
                      .n = all.rows,
                      .groups = arrays,
                      .stride = pitch / size_of(dtype),
                      .device = all.device,
                      .launch = all.launch});
}

Status run_rows(const RowPlan& plan, const RowArrays& arrays, void* workspace, Stream stream) noexcept {
    if (plan.request().rows == 0) return {};
    return run_on([&] { host::run_rows(plan, arrays); }, &cuda::Functions::enqueue_rows, plan, arrays, workspace,
                  stream);
}

Status run_batch(const RowPlan& plan, const RowArrays& arrays, char* workspace, Stream stream) noexcept {
    const RowBatch batch(plan.request());
    if (!batch.status.ok()) return batch.status;
    const BatchRun run{batch, arrays, workspace, stream};
    return is_gradient(batch.all.op) ? run.gradient() : run.loss();
}

} // namespace detreduce
