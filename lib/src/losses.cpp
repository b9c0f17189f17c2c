// Losses: what may be asked for. Sums and means are plans of ops, or of transform_reduce(), whose
// checks hold here as well.
#include <algorithm>

#include <detreduce/fp/convert.hpp>
#include <detreduce/losses.hpp>
#include <detreduce/states.hpp>
#include <detreduce/transform_reduce.hpp>

#include "host/backend.hpp"
#include "overlap.hpp"
#include "quotient.hpp"
#include "run.hpp"

namespace detreduce {
namespace {

#define DETREDUCE_NAME(name, ...) std::string_view(#name),
constexpr std::array loss_names{DETREDUCE_LOSSES(DETREDUCE_NAME)};
#undef DETREDUCE_NAME
#define DETREDUCE_NAME(name, c_name) std::string_view(#name),
constexpr std::array argument_names{DETREDUCE_LOSS_ARGUMENTS(DETREDUCE_NAME)};
#undef DETREDUCE_NAME

/// Bytes of the workspace for two sums.
constexpr std::size_t room_of_sums = 256;

constexpr char no_losses[] = "losses are not offered for f8e4m3 and f8e5m2; allowed are f16, bf16, f32 and f64";

template <class V>
bool is_finite_as(double parameter) {
    return fp::is_finite(fp::round_to<V>(parameter));
}

Status check_parameter(const LossRequest& r) {
    const bool f64 = r.dtype == DType::f64;
    const bool finite = f64 ? is_finite_as<double>(r.parameter) : is_finite_as<float>(r.parameter);
    const bool zero = f64 ? r.parameter == 0 : fp::round_to<float>(r.parameter) == 0;
    if (r.loss == Loss::huber && !(finite && r.parameter > 0 && !zero)) {
        return invalid("parameter", "delta of huber must be finite and above 0 in the format of the terms, which is "
                                    "f64 for f64 and else f32");
    }
    const bool from_zero = finite && r.parameter >= 0;
    if (r.loss == Loss::bce_with_logits && !from_zero) {
        return invalid("parameter", "pos_weight of bce_with_logits must be finite and not below 0 in the format of the "
                                    "terms, which is f64 for f64 and else f32");
    }
    if (r.loss == Loss::focal && !from_zero) {
        return invalid("parameter", "gamma of focal must be finite and not below 0 in the format of the terms, which "
                                    "is f64 for f64 and else f32");
    }
    if (r.loss == Loss::smooth_l1 && !from_zero) {
        return invalid("parameter", "beta of smooth_l1 must be finite and not below 0 in the format of the terms, "
                                    "which is f64 for f64 and else f32");
    }
    return {};
}

Status check_words(const LossRequest& r) {
    if (name(r.loss) == "?") return invalid("loss", allowed<loss_names>);
    if (name(*r.reduction) == "?") return invalid("reduction", allowed_reductions);
    if (name(r.method) == "?") return invalid("method", "allowed are automatic, exact, compensated, kahan and tree");
    if (r.method == Method::serial || r.method == Method::atomic) {
        return {StatusCode::unsupported, "method", "allowed for losses are exact, compensated, kahan and tree"};
    }
    if (name(r.with_respect_to) == "?") return invalid("with_respect_to", allowed<argument_names>);
    if (r.with_respect_to == LossArgument::weight && !r.weighted)
        return invalid("with_respect_to", "allowed for losses without weights are x and target");
    if (r.batch != 0 && r.reduction != Reduction::mean) return invalid("batch", "must be 0 but for the reduction mean");
    if (r.batch > max_n) return invalid("batch", "allowed are 0, for n, and 1 to 2^40");
    if (!is_dtype(r.dtype)) return invalid("dtype", dtypes_from_16_bits);
    if (r.output && !is_dtype(*r.output)) return invalid("output", dtypes_from_16_bits);
    if (r.state && *r.reduction == Reduction::none)
        return invalid("reduction", "allowed for states are sum and mean; of none there is nothing to be put together");
    if (r.state && r.method != Method::exact) {
        return {StatusCode::unsupported, "method",
                "allowed for states is exact: the bits of other methods depend on where the elements are cut"};
    }
    if (has_8_bits(r.dtype)) return {StatusCode::unsupported, "dtype", no_losses};
    if (r.output && has_8_bits(*r.output)) return {StatusCode::unsupported, "output", no_losses};
    return check_parameter(r);
}

/// Is a mean of these terms one over the sum of the weights? As in PyTorch.
bool divides_by_weights(const LossRequest& r) {
    return r.weighted && (r.loss == Loss::mse || r.loss == Loss::mae) && r.reduction == Reduction::mean && r.batch == 0;
}

/// Has run() an op whose terms these are? It knows them without rounding.
bool has_op(const LossRequest& r) {
    if (r.weighted || r.reduction == Reduction::none) return false;
    return r.loss == Loss::mse || (r.loss == Loss::mae && r.reduction == Reduction::mean);
}

detail::CheckedPlan plan_of_op(const LossRequest& r) {
    const bool mean = r.reduction == Reduction::mean;
    const Plan plan = make_plan({.op = r.loss == Loss::mae ? Op::mae
                                       : mean              ? Op::mse
                                                           : Op::sumdiffsq,
                                 .method = r.method,
                                 .dtype = r.dtype,
                                 .output = r.output,
                                 .n = r.n,
                                 .device = r.device,
                                 .launch = r.launch,
                                 .state = r.state});
    return {plan, plan.status()};
}

/// The sum of the weights, rounded to f64.
Plan plan_of_weights(const LossRequest& r) {
    return make_plan({.op = Op::sum,
                      .method = r.method,
                      .dtype = r.dtype,
                      .output = DType::f64,
                      .n = r.n,
                      .device = r.device,
                      .launch = r.device.backend == Backend::cpu ? r.launch : Launch{},
                      .state = r.state});
}

/// Of terms alone, the plan of a sum that is not made: its checks of sizes, device and launch.
detail::CheckedPlan plan_of_terms(const LossRequest& r) {
    TransformOptions options{.method = r.method, .launch = r.launch, .state = r.state};
    if (r.reduction == Reduction::mean) options.finalize = Finalize::mean;
    if (r.reduction == Reduction::none) options.method = Method::tree;
    const DType output = r.reduction == Reduction::none ? r.dtype : r.output.value_or(r.dtype);
    return detail::plan_transform(r.dtype, output, r.n, options, r.device);
}

Status check_inputs(const LossRequest& r, const LossInputs& in) {
    if (const Status bad = check_elements("x", in.x, r.dtype, r.n); !bad.ok()) return bad;
    if (const Status bad = check_elements("target", in.target, r.dtype, r.n); !bad.ok()) return bad;
    if (r.weighted) return check_elements("weight", in.weight, r.dtype, r.n);
    return in.weight == nullptr ? Status{} : invalid("weight", "must be null unless the request is weighted");
}

Status check_out(const char* argument, const void* out, std::uint64_t values, DType dtype) {
    if (out == nullptr && values > 0) return invalid(argument, "must not be null");
    return check_alignment(argument, out, dtype);
}

/// What is written may be one of the n elements each at `read`, where there is a value for each, or
/// must lie apart.
Status check_overlap(const char* argument, Area written, bool one_each, const LossRequest& r,
                     std::initializer_list<const void*> read) {
    for (const void* const elements : read) {
        const Area area = list_of(elements, r.n, size_of(r.dtype));
        const bool in_place = one_each && elements == written.p && area.bytes == written.bytes;
        if (in_place || !overlap(written, area)) continue;
        return invalid(argument, one_each ? "must be x, target, weight or upstream, with elements of the same size, or "
                                            "not overlap what is read"
                                          : "must not overlap what is read");
    }
    return {};
}

} // namespace

LossPlan make_loss_plan(const LossRequest& asked) noexcept {
    LossPlan plan;
    plan.request_ = asked;
    plan.request_.method = resolved(asked.method, Op::sum);
    plan.request_.reduction = asked.reduction.value_or(Reduction::mean);
    LossRequest& request = plan.request_;
    plan.status_ = check_words(request);
    if (!plan.status_.ok()) return plan;
    const auto make = [&](const LossRequest& r) {
        plan.is_op_ = has_op(r);
        const detail::CheckedPlan checked = plan.is_op_ ? plan_of_op(r) : plan_of_terms(r);
        plan.plan_ = checked.plan;
        plan.status_ = checked.status;
    };
    make(request);
    if (!plan.status_.ok()) return plan;
    request.device = plan.plan_.request().device;
    plan.is_over_weights_ = divides_by_weights(request);
    if (plan.is_quotient()) { // of a sum
        LossRequest sum = request;
        sum.reduction = Reduction::sum;
        sum.output = DType::f64;
        make(sum);
        if (plan.is_over_weights_) plan.weights_ = plan_of_weights(request);
    }
    const bool on_cuda = request.device.backend == Backend::cuda;
    const std::size_t of_terms = plan.plan_.workspace_bytes(), of_weights = plan.weights_.workspace_bytes(),
                      both = room_of_sums + std::max(of_terms, of_weights);
    if (request.reduction != Reduction::none) plan.workspace_bytes_ = plan.is_quotient() && on_cuda ? both : of_terms;
    if (plan.is_over_weights_ && on_cuda)
        plan.gradient_workspace_bytes_ =
            request.with_respect_to == LossArgument::weight ? both : room_of_sums + of_weights;
    return plan;
}

namespace {

/// The sums that a mean is made of, in the workspace, or on the CPU in memory of its own.
struct Sums {
    double own[2];
    double* at;
    char* rest; ///< of the workspace
    Sums(const LossPlan& plan, void* workspace) : own{}, at(own), rest(static_cast<char*>(workspace)) {
        if (plan.request().device.backend != Backend::cuda) return;
        at = static_cast<double*>(workspace);
        rest += room_of_sums;
    }
};

/// Terms, their sum or mean, as plan.plan() says.
Status run_terms(const LossPlan& plan, const LossInputs& in, void* out, void* workspace, Stream stream) {
    if (plan.is_op()) return run(plan.plan(), {in.x, in.target}, out, workspace, stream);
    return run_on([&] { host::compute_loss(plan, in, out); }, &cuda::Functions::enqueue_loss, plan, in, out, workspace,
                  stream);
}
Status run_weights(const LossPlan& plan, const LossInputs& in, const Sums& sums, Stream stream) {
    return run(plan.weights(), {in.weight}, sums.at + 1, sums.rest, stream);
}
/// The states: that of the terms, and behind it that of the weights.
Status run_states(const LossPlan& plan, const LossInputs& in, std::int64_t* states, void* workspace, Stream stream) {
    const Sums sums(plan, workspace);
    char* const rest = plan.is_quotient() ? sums.rest : static_cast<char*>(workspace);
    if (const Status bad = run_terms(plan, in, states, rest, stream); !bad.ok() || !plan.is_over_weights()) return bad;
    return run(plan.weights(), {in.weight}, states + plan.plan().state_words(), rest, stream);
}
/// The quotient of sums, which are there.
Status divide_sums(const LossPlan& plan, const double* sums, void* out, Stream stream) {
    return divide(plan.request().device,
                  {sums, DType::f64, plan.is_over_weights() ? sums + 1 : nullptr,
                   static_cast<double>(plan.request().batch), out, plan.output()},
                  stream);
}
Status run_quotient(const LossPlan& plan, const LossInputs& in, void* out, void* workspace, Stream stream) {
    const Sums sums(plan, workspace);
    if (const Status bad = run_terms(plan, in, sums.at, sums.rest, stream); !bad.ok()) return bad;
    if (plan.is_over_weights()) {
        if (const Status bad = run_weights(plan, in, sums, stream); !bad.ok()) return bad;
    }
    return divide_sums(plan, sums.at, out, stream);
}

} // namespace

Plan LossPlan::states() const noexcept {
    if (!status_.ok() || !request_.state) return {};
    const DType terms = request_.dtype == DType::f64 ? DType::f64 : DType::f32;
    return make_plan({.op = plan_.request().op,
                      .method = Method::exact,
                      .dtype = is_op_ ? request_.dtype : terms,
                      .output = plan_.output(),
                      .shape = is_over_weights_ ? Shape::rows : Shape::flat,
                      .groups = is_over_weights_ ? std::uint64_t{2} : 1,
                      .device = request_.device,
                      .state = true});
}

Status finish(const LossPlan& plan, const std::int64_t* states, void* out, void* workspace, Stream stream) noexcept {
    if (!plan.status().ok()) return plan.status();
    if (!plan.request().state) return invalid("plan", "must be that of a request for states");
    if (const Status bad = check_out("out", out, 1, plan.output()); !bad.ok()) return bad;
    if (!plan.is_quotient()) return finish(plan.states(), states, out, stream);
    if (const Status bad = check_finish(plan, states, out, workspace); !bad.ok()) return bad;
    const Sums sums(plan, workspace);
    if (const Status bad = finish(plan.states(), states, sums.at, stream); !bad.ok()) return bad;
    return divide_sums(plan, sums.at, out, stream);
}

Status run(const LossPlan& plan, const LossInputs& in, void* out, void* workspace, Stream stream) noexcept {
    const Status bad = check_call(plan, workspace, [&]() -> Status {
        const LossRequest& r = plan.request();
        if (const Status inputs = check_inputs(r, in); !inputs.ok()) return inputs;
        const Plan states = plan.states();
        if (r.state && misaligned(out, 8))
            return invalid("out", "must be aligned to 8 bytes, as the words of states are");
        const DType written_as = r.state ? DType::f64 : plan.output();
        const std::uint64_t values = r.state ? states.groups() * states.state_words() : plan.results();
        if (const Status of_out = check_out("out", out, values, written_as); !of_out.ok()) return of_out;
        const Area written = list_of(out, values, size_of(written_as)),
                   own = list_of(workspace, plan.workspace_bytes(), 1);
        if (overlap(written, own)) return invalid("workspace", "must not overlap out");
        const auto read = {in.x, in.target, in.weight};
        const Status of_workspace = check_overlap("workspace", own, false, r, read);
        return of_workspace.ok() ? check_overlap("out", written, r.reduction == Reduction::none, r, read)
                                 : of_workspace;
    });
    if (!bad.ok() || plan.results() == 0) return bad;
    if (plan.request().state) return run_states(plan, in, static_cast<std::int64_t*>(out), workspace, stream);
    return plan.is_quotient() ? run_quotient(plan, in, out, workspace, stream)
                              : run_terms(plan, in, out, workspace, stream);
}

Status run_gradient(const LossPlan& plan, const LossInputs& in, const void* upstream, void* dx, void* workspace,
                    Stream stream) noexcept {
    if (!plan.status().ok()) return plan.status();
    const LossRequest& r = plan.request();
    if (r.state) return invalid("plan", "must not be that of a request for states, which know no gradient");
    if (const Status bad = check_inputs(r, in); !bad.ok()) return bad;
    if (const Status bad = check_alignment("upstream", upstream, r.dtype); !bad.ok()) return bad;
    if (const Status bad = check_out("dx", dx, r.n, r.dtype); !bad.ok()) return bad;
    const Area written = list_of(dx, r.n, size_of(r.dtype));
    const bool each = r.reduction == Reduction::none;
    if (!each && overlap(written, list_of(upstream, 1, size_of(r.dtype))))
        return invalid("dx", "must not overlap upstream where that is one number");
    const void* const of_each = each ? upstream : nullptr;
    if (const Status bad = check_overlap("dx", written, true, r, {in.x, in.target, in.weight, of_each}); !bad.ok())
        return bad;
    const std::size_t bytes = plan.gradient_workspace_bytes();
    if (const Status bad = check_workspace(r.device, bytes, workspace); !bad.ok()) return bad;
    const Area own = list_of(workspace, bytes, 1);
    if (overlap(own, written)) return invalid("workspace", "must not overlap dx");
    if (overlap(own, list_of(upstream, each ? r.n : 1, size_of(r.dtype))))
        return invalid("workspace", "must not overlap what is read");
    if (const Status bad = check_overlap("workspace", own, false, r, {in.x, in.target, in.weight}); !bad.ok())
        return bad;
    if (r.n == 0) return {};
    const Sums room(plan, workspace);
    const double* sums = nullptr;
    if (plan.is_over_weights()) {
        if (r.with_respect_to == LossArgument::weight) {
            if (const Status bad = run_terms(plan, in, room.at, room.rest, stream); !bad.ok()) return bad;
        }
        if (const Status bad = run_weights(plan, in, room, stream); !bad.ok()) return bad;
        sums = room.at;
    }
    return run_on([&] { host::compute_loss_gradient(plan, in, upstream, sums, dx); },
                  &cuda::Functions::enqueue_loss_gradient, plan, in, upstream, sums, dx, stream);
}

} // namespace detreduce
