// Cosine similarity: what may be asked for. Dot products and norms are those of plans, whose checks
// hold here as well.
#include <algorithm>
#include <cmath>

#include <detreduce/cosine_similarity.hpp>
#include <detreduce/spec/cosine.hpp>

#include "each.hpp"
#include "overlap.hpp"
#include "run.hpp"

namespace detreduce {
namespace {

/// Numbers from the sums of one kind to those of the next.
std::uint64_t pitch_of(const CosineRequest& r) {
    return (r.rows + 31) / 32 * 32;
}
std::size_t bytes_of_sums(const CosineRequest& r) {
    return 3 * pitch_of(r) * sizeof(double);
}

Status check(const CosineRequest& r) {
    if (!is_dtype(r.dtype)) return invalid("dtype", dtypes_from_16_bits);
    if (r.output && !is_dtype(*r.output)) return invalid("output", dtypes_from_16_bits);
    static constexpr char no_bytes[] =
        "cosine similarity is not offered for f8e4m3 and f8e5m2; allowed are f16, bf16, f32 and f64";
    if (has_8_bits(r.dtype)) return {StatusCode::unsupported, "dtype", no_bytes};
    if (r.output && has_8_bits(*r.output)) return {StatusCode::unsupported, "output", no_bytes};
    if (!(r.epsilon >= 0) || !std::isfinite(r.epsilon))
        return invalid("epsilon", "allowed are finite numbers that are not negative");
    if (r.method == Method::serial || r.method == Method::atomic)
        return {StatusCode::unsupported, "method",
                "allowed for cosine similarity are exact, compensated, kahan and tree"};
    return {};
}

Plan plan_of(const CosineRequest& r, Op op) {
    return make_plan({.op = op,
                      .method = r.method,
                      .dtype = r.dtype,
                      .output = DType::f64,
                      .shape = Shape::rows,
                      .n = r.n,
                      .groups = r.rows,
                      .stride = r.stride,
                      .device = r.device,
                      .launch = r.launch});
}

/// Of what is read.
Status check_inputs(const CosinePlan& plan, const void* x, const void* y) {
    const CosineRequest& r = plan.request();
    const std::uint64_t n = r.rows == 0 ? 0 : r.n;
    if (const Status bad = check_elements("x", x, r.dtype, n); !bad.ok()) return bad;
    return check_elements("y", y, r.dtype, n);
}
Area rows_of(const CosinePlan& plan, const void* p) {
    const std::size_t size = size_of(plan.request().dtype);
    return {p, plan.request().rows, plan.request().n * size, plan.stride() * size};
}

Status check_output(const char* argument, const void* out, DType dtype, std::uint64_t values) {
    if (out == nullptr && values > 0) return invalid(argument, "must not be null");
    return check_alignment(argument, out, dtype);
}
Status check_apart(const char* argument, const Area& written, std::initializer_list<Area> others) {
    for (const Area& other : others) {
        if (overlap(written, other))
            return invalid(argument, "must not overlap what is read or what else is written; a gradient may be x or y");
    }
    return {};
}

/// Dot products and norms of all rows, in the workspace.
Status run_sums(const CosinePlan& plan, const void* x, const void* y, char* workspace, Stream stream) {
    const CosineRequest& r = plan.request();
    auto* const sums = reinterpret_cast<double*>(workspace);
    char* const rest = workspace + bytes_of_sums(r);
    const std::uint64_t pitch = pitch_of(r);
    if (const Status bad = run(plan.dots(), {x, y}, sums, rest, stream); !bad.ok()) return bad;
    if (const Status bad = run(plan.norms(), {x}, sums + pitch, rest, stream); !bad.ok()) return bad;
    return run(plan.norms(), {y}, sums + 2 * pitch, rest, stream);
}
spec::CosineSums sums_of(const CosinePlan& plan, const void* workspace) {
    return {static_cast<const double*>(workspace), pitch_of(plan.request()), plan.request().epsilon};
}

/// f(i) for every i below count, where the plan runs.
template <class F>
Status for_each_on(const CosinePlan& plan, std::uint64_t count, const F& f, Stream stream) {
    return for_each_on(plan.request().device, plan.norms().launch().threads, count, f, stream);
}

} // namespace

CosinePlan make_cosine_plan(const CosineRequest& request) noexcept {
    CosinePlan plan;
    plan.request_ = request;
    plan.status_ = check(request);
    if (!plan.status_.ok()) return plan;
    plan.dots_ = plan_of(request, Op::dot);
    plan.norms_ = plan_of(request, Op::nrm2);
    for (const Plan* const part : {&plan.dots_, &plan.norms_}) {
        plan.status_ = part->status();
        if (plan.status_.argument != nullptr && plan.status_.argument == std::string_view("groups"))
            plan.status_.argument = "rows";
        if (!plan.status_.ok()) return plan;
    }
    plan.request_.method = plan.norms_.request().method;
    plan.request_.device = plan.norms_.request().device;
    plan.workspace_bytes_ =
        bytes_of_sums(request) + std::max(plan.dots_.workspace_bytes(), plan.norms_.workspace_bytes());
    return plan;
}

Status run(const CosinePlan& plan, const void* x, const void* y, void* out, void* workspace, Stream stream) noexcept {
    const Status bad = check_call(plan, workspace, [&]() -> Status {
        const CosineRequest& r = plan.request();
        if (const Status inputs = check_inputs(plan, x, y); !inputs.ok()) return inputs;
        if (const Status of_out = check_output("out", out, plan.output(), r.rows); !of_out.ok()) return of_out;
        const Area written = list_of(out, r.rows, size_of(plan.output())),
                   own = list_of(workspace, plan.workspace_bytes(), 1);
        const auto read = {rows_of(plan, x), rows_of(plan, y)};
        if (const Status apart = check_apart("out", written, read); !apart.ok()) return apart;
        if (overlap(own, written)) return invalid("workspace", "must not overlap out");
        return check_apart("workspace", own, read);
    });
    if (!bad.ok() || plan.request().rows == 0) return bad;
    if (const Status sums = run_sums(plan, x, y, static_cast<char*>(workspace), stream); !sums.ok()) return sums;
    const spec::CosineValues values{sums_of(plan, workspace), out, plan.output()};
    return for_each_on(plan, plan.request().rows, values, stream);
}

Status run_gradient(const CosinePlan& plan, const void* x, const void* y, const void* upstream, void* dx,
                    void* workspace, Stream stream) noexcept {
    const CosineRequest& r = plan.request();
    const Status bad = check_call(plan, workspace, [&]() -> Status {
        if (const Status inputs = check_inputs(plan, x, y); !inputs.ok()) return inputs;
        if (const Status askew = check_alignment("upstream", upstream, r.dtype); !askew.ok()) return askew;
        if (const Status of_dx = check_output("dx", dx, r.dtype, r.rows * r.n); !of_dx.ok()) return of_dx;
        const Area written = rows_of(plan, dx), own = list_of(workspace, plan.workspace_bytes(), 1),
                   given = list_of(upstream, r.rows, size_of(r.dtype));
        const auto other = [&](const void* p) { return rows_of(plan, p == dx ? nullptr : p); };
        if (const Status apart = check_apart("dx", written, {other(x), other(y), given}); !apart.ok()) return apart;
        return check_apart("workspace", own, {written, rows_of(plan, x), rows_of(plan, y), given});
    });
    if (!bad.ok() || r.rows * r.n == 0) return bad;
    if (const Status sums = run_sums(plan, x, y, static_cast<char*>(workspace), stream); !sums.ok()) return sums;
    auto* const of_rows = static_cast<double*>(workspace);
    const spec::CosineFactors factors{sums_of(plan, workspace), of_rows, upstream, r.dtype};
    if (const Status of_factors = for_each_on(plan, r.rows, factors, stream); !of_factors.ok()) return of_factors;
    const spec::CosineSlopes slopes{of_rows, pitch_of(r), x, y, dx, r.dtype, r.n, plan.stride()};
    return for_each_on(plan, r.rows * r.n, slopes, stream);
}

} // namespace detreduce
