// Distillation: what may be asked for. Its parts are plans, whose checks hold here as well.
#include <algorithm>
#include <cmath>
#include <string_view>

#include <detreduce/distillation.hpp>
#include <detreduce/spec/distillation.hpp>

#include "each.hpp"
#include "overlap.hpp"
#include "quotient.hpp"
#include "run.hpp"

namespace detreduce {
namespace {

std::uint64_t elements_of(const DistillationRequest& r) {
    return r.rows * r.n;
}
std::size_t bytes_of_rows(const DistillationRequest& r) {
    return (elements_of(r) * size_of(arithmetic_of(r.dtype)) + 255) / 256 * 256;
}
/// In the workspace: the sum of the terms, three matrices, and what the parts need.
constexpr std::size_t bytes_of_sum = 256;

Status check(const DistillationRequest& r) {
    if (!is_dtype(r.dtype)) return invalid("dtype", dtypes_from_16_bits);
    if (r.output && !is_dtype(*r.output)) return invalid("output", dtypes_from_16_bits);
    static constexpr char no_bytes[] =
        "distillation is not offered for f8e4m3 and f8e5m2; allowed are f16, bf16, f32 and f64";
    if (has_8_bits(r.dtype)) return {StatusCode::unsupported, "dtype", no_bytes};
    if (r.output && has_8_bits(*r.output)) return {StatusCode::unsupported, "output", no_bytes};
    if (r.n == 0 || r.n > max_n) return invalid("n", "allowed are 1 to 2^40 elements a row");
    if (r.rows > max_groups) return invalid("rows", "allowed are 0 to 2^40");
    if (r.rows > max_n / r.n) return invalid("rows", "allowed are 2^40 elements in all");
    if (r.stride != 0 && r.stride < r.n) return invalid("stride", "allowed are 0, for n, and n or more");
    if (r.rows > 0 && r.stride > max_extent / r.rows)
        return invalid("stride", "allowed are 2^46 elements from the first to the last");
    const double square = r.temperature * r.temperature;
    if (!(r.temperature > 0 && square > 0) || !std::isfinite(square))
        return invalid("temperature", "allowed are finite numbers above 0 whose square is one as well");
    if (name(*r.reduction) == "?" || *r.reduction == Reduction::none)
        return invalid("reduction", "allowed are sum and mean");
    if (name(r.method) == "?") return invalid("method", "allowed are automatic, exact, compensated, kahan and tree");
    if (r.method == Method::serial || r.method == Method::atomic)
        return {StatusCode::unsupported, "method", "allowed for distillation are exact, compensated, kahan and tree"};
    if (*r.reduction == Reduction::mean && r.rows == 0)
        return invalid("rows", "nothing has no mean; allowed for it are 1 to 2^40");
    return {};
}

RowPlan plan_of(const DistillationRequest& r, RowOp op) {
    return make_row_plan(
        {.op = op, .dtype = arithmetic_of(r.dtype), .n = r.n, .rows = r.rows, .device = r.device, .launch = r.launch});
}

Area rows_of(const DistillationPlan& plan, const void* p) {
    const std::size_t size = size_of(plan.request().dtype);
    return {p, plan.request().rows, plan.request().n * size, plan.stride() * size};
}
/// What is read and written, `written` with the name `argument`.
Status check_arrays(const DistillationPlan& plan, const void* x, const void* y, const char* argument,
                    const Area& written, DType dtype, const Area& other, const void* workspace) {
    const DistillationRequest& r = plan.request();
    if (const Status bad = check_elements("x", x, r.dtype, elements_of(r)); !bad.ok()) return bad;
    if (const Status bad = check_elements("y", y, r.dtype, elements_of(r)); !bad.ok()) return bad;
    if (written.p == nullptr && written.rows * written.bytes > 0) return invalid(argument, "must not be null");
    if (const Status bad = check_alignment(argument, written.p, dtype); !bad.ok()) return bad;
    const Area own = list_of(workspace, plan.workspace_bytes(), 1);
    const Area logits[] = {rows_of(plan, x), rows_of(plan, y)};
    for (const Area& read : {logits[0], logits[1], other}) {
        if (overlap(own, read) || overlap(own, written))
            return invalid("workspace", "must not overlap what is read or what else is written");
    }
    const bool in_place = argument == std::string_view("dx");
    for (const Area& read : logits) {
        if (!(in_place && read.p == written.p) && overlap(written, read))
            return invalid(argument, "must not overlap what is read; a gradient may be x or y");
    }
    if (overlap(written, other)) return invalid(argument, "must not overlap upstream");
    return {};
}

/// One call.
struct DistillationRun {
    const DistillationPlan& plan;
    char* workspace;
    Stream stream;
    const DistillationRequest& r = plan.request();
    DType arithmetic = arithmetic_of(r.dtype);
    double over = *r.reduction == Reduction::mean ? static_cast<double>(r.rows) : 1;

    [[nodiscard]] char* matrix(int i) const {
        return workspace + bytes_of_sum + static_cast<std::size_t>(i) * bytes_of_rows(r);
    }
    template <class F>
    [[nodiscard]] Status each(const F& f) const {
        return for_each_on(r.device, plan.log_softmax().launch().threads, elements_of(r), f, stream);
    }
    /// What `op` gives of x over the temperature, in matrix 1, and of y, in matrix 2.
    [[nodiscard]] Status both(const RowPlan& op, const void* x, const void* y) const {
        for (const int i : {1, 2}) {
            const spec::TemperedLogits logits{i == 1 ? x : y, r.dtype,   r.n,       plan.stride(),
                                              r.temperature,  matrix(0), arithmetic};
            if (const Status bad = each(logits); !bad.ok()) return bad;
            const Status bad = run(op, {.x = matrix(0), .out = matrix(i)}, matrix(3), stream);
            if (!bad.ok()) return bad;
        }
        return {};
    }
    [[nodiscard]] Status loss(const void* x, const void* y, void* out) const {
        if (r.rows > 0) {
            if (const Status bad = both(plan.log_softmax(), x, y); !bad.ok()) return bad;
        }
        if (const Status bad = run(plan.kl_div(), {matrix(1), matrix(2)}, workspace, matrix(3), stream); !bad.ok())
            return bad;
        const double divisor = host::in_standard_environment([&] { return over / (r.temperature * r.temperature); });
        return divide(r.device, {workspace, DType::f64, nullptr, divisor, out, plan.output()}, stream);
    }
    [[nodiscard]] Status gradient(const void* x, const void* y, const void* upstream, void* dx) const {
        if (const Status bad = both(plan.softmax(), x, y); !bad.ok()) return bad;
        const double factor = host::in_standard_environment([&] { return r.temperature / over; });
        return each(spec::DistillationSlopes{matrix(1), matrix(2), arithmetic, factor, upstream, dx, r.dtype, r.n,
                                             plan.stride()});
    }
};

} // namespace

DistillationPlan make_distillation_plan(const DistillationRequest& asked) noexcept {
    DistillationPlan plan;
    plan.request_ = asked;
    DistillationRequest& r = plan.request_;
    r.method = resolved(asked.method, Op::sum);
    r.reduction = asked.reduction.value_or(Reduction::mean);
    plan.status_ = check(r);
    if (!plan.status_.ok()) return plan;
    plan.log_softmax_ = plan_of(r, RowOp::log_softmax);
    plan.softmax_ = plan_of(r, RowOp::softmax);
    const bool on_cpu = r.device.backend == Backend::cpu;
    plan.kl_div_ = make_loss_plan({.loss = Loss::kl_div_log_target,
                                   .reduction = Reduction::sum,
                                   .method = r.method,
                                   .dtype = arithmetic_of(r.dtype),
                                   .output = DType::f64,
                                   .n = elements_of(r),
                                   .device = r.device,
                                   .launch = on_cpu ? r.launch : Launch{}});
    for (const Status& status : {plan.log_softmax_.status(), plan.softmax_.status(), plan.kl_div_.status()}) {
        plan.status_ = status;
        if (!status.ok()) return plan;
    }
    r.device = plan.log_softmax_.request().device;
    plan.workspace_bytes_ = bytes_of_sum + 3 * bytes_of_rows(r) +
                            std::max({plan.log_softmax_.workspace_bytes(), plan.softmax_.workspace_bytes(),
                                      plan.kl_div_.workspace_bytes()});
    return plan;
}

Status run(const DistillationPlan& plan, const void* x, const void* y, void* out, void* workspace,
           Stream stream) noexcept {
    const Status bad = check_call(plan, workspace, [&] {
        const Area written = list_of(out, 1, size_of(plan.output()));
        return out == nullptr ? invalid("out", "must not be null")
                              : check_arrays(plan, x, y, "out", written, plan.output(), {}, workspace);
    });
    if (!bad.ok()) return bad;
    return DistillationRun{plan, static_cast<char*>(workspace), stream}.loss(x, y, out);
}

Status run_gradient(const DistillationPlan& plan, const void* x, const void* y, const void* upstream, void* dx,
                    void* workspace, Stream stream) noexcept {
    const Status bad = check_call(plan, workspace, [&] {
        const DType dtype = plan.request().dtype;
        const Status askew = check_alignment("upstream", upstream, dtype);
        return askew.ok() ? check_arrays(plan, x, y, "dx", rows_of(plan, dx), dtype,
                                         list_of(upstream, 1, size_of(dtype)), workspace)
                          : askew;
    });
    if (!bad.ok() || plan.request().rows == 0) return bad;
    return DistillationRun{plan, static_cast<char*>(workspace), stream}.gradient(x, y, upstream, dx);
}

} // namespace detreduce
