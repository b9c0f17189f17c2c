// transform_reduce(): what may be asked for. Plans are those of sums and means of elements, whose
// checks hold here as well.
#include <detreduce/transform_reduce.hpp>

#include "host/backend.hpp"
#include "plan_parts.hpp"
#include "run.hpp"

namespace detreduce::detail {
namespace {

Status check_options(const TransformOptions& options) {
    if (options.finalize != Finalize::sum && options.finalize != Finalize::mean) {
        return invalid("finalize", "allowed are sum and mean");
    }
    if (options.method == Method::serial || options.method == Method::atomic) {
        return {StatusCode::unsupported, "method",
                "allowed for transform_reduce are exact, compensated, kahan and tree"};
    }
    if (options.state && options.method != Method::exact) {
        return {StatusCode::unsupported, "method",
                "allowed for states is exact: the bits of other methods depend on where the elements are cut"};
    }
    return {};
}

} // namespace

CheckedPlan plan_transform(DType dtype, DType output, std::uint64_t n, const TransformOptions& asked,
                           Device device) noexcept {
    TransformOptions options = asked;
    options.method = resolved(asked.method, Op::sum);
    CheckedPlan checked{{}, check_options(options)};
    if (!checked.status.ok()) return checked;
    checked.plan = PlanParts::make({.op = options.finalize == Finalize::mean ? Op::mean : Op::sum,
                                    .method = options.method,
                                    .dtype = dtype,
                                    .output = output,
                                    .n = n,
                                    .device = device,
                                    .launch = options.launch,
                                    .state = options.state},
                                   true);
    checked.status = checked.plan.status();
    return checked;
}

Status check_transform(const Plan& plan, int inputs, const void* x, const void* y, const void* out,
                       const void* workspace) noexcept {
    const Request& r = plan.request();
    if (out == nullptr) return invalid("out", "must not be null");
    if (const Status bad = check_elements("x", x, r.dtype, r.n); !bad.ok()) return bad;
    if (inputs == 2) {
        if (const Status bad = check_elements("y", y, r.dtype, r.n); !bad.ok()) return bad;
    }
    if (r.state && misaligned(out, sizeof(std::int64_t))) return invalid("out", "must be aligned to 8 bytes");
    if (const Status bad = check_alignment("out", out, plan.output()); !bad.ok()) return bad;
    return check_workspace(r.device, plan.workspace_bytes(), workspace);
}

Status run_transform(const Plan& plan, const TermSource& source, void* out) noexcept {
    if (const Status bad = check_transform(plan, source.inputs, source.x, source.y, out, nullptr); !bad.ok())
        return bad;
    const host::ArenaScope arena;
    if (const Status bad = arena.status(); !bad.ok()) return bad;
    host::reduce_computed(plan, source, out);
    return {};
}

} // namespace detreduce::detail

namespace detreduce {

Plan transform_states(DType dtype, DType output, const TransformOptions& options, const Device& device) noexcept {
    return make_plan({.op = options.finalize == Finalize::mean ? Op::mean : Op::sum,
                      .method = options.method,
                      .dtype = dtype == DType::f64 ? DType::f64 : DType::f32,
                      .output = output,
                      .device = device,
                      .state = true});
}

} // namespace detreduce
