// clip_grad_norm: what may be asked for. The norm is that of a plan, whose checks hold here as
// well.
#include <cstring>

#include <detreduce/clip_grad_norm.hpp>
#include <detreduce/fp/bits.hpp>

#include "check_arrays.hpp"
#include "host/backend.hpp"
#include "overlap.hpp"
#include "run.hpp"

namespace detreduce {
namespace {

constexpr char no_clipping[] =
    "tensors of 8 bits are not clipped; allowed for the dtype of a tensor are f16, bf16, f32 and f64";

/// What a plan calls its arguments, as ours are called.
Status renamed(Status status) {
    constexpr const char* names[][2] = {{"x", "list"}, {"out", "norm_out"}, {"groups", "tensors"}};
    if (status.code != StatusCode::invalid_argument) return status;
    for (const auto& [theirs, ours] : names) {
        if (std::strcmp(status.argument, theirs) == 0) status.argument = ours;
    }
    return status;
}

Status check(const ClipRequest& r) {
    if (!(r.max_norm >= 0)) return invalid("max_norm", "allowed are numbers from 0 on, and infinity");
    if (!(fp::is_finite(r.epsilon) && r.epsilon >= 0))
        return invalid("epsilon", "allowed are finite numbers from 0 on");
    if (r.tensors > 0xffffffffu) return invalid("tensors", "allowed are 0 to 2^32 - 1");
    if (r.norm != DType::f64 && r.norm != DType::f32) return invalid("norm", "allowed are f64 and f32");
    return {};
}

/// Of a list that may be read. That one tensor does not overlap another is for the caller to know.
Status check_overlap(const ClipPlan& plan, const Tensor* list, const void* norm_out, const void* workspace) {
    const Area norm = list_of(norm_out, 1, size_of(plan.request().norm)),
               own = list_of(workspace, plan.workspace_bytes(), 1);
    if (overlap(norm, own)) return invalid("workspace", "must not overlap norm_out");
    for (std::uint64_t i = 0; i < plan.request().tensors; ++i) {
        const Area tensor = list_of(list[i].data, list[i].n, size_of(list[i].dtype));
        if (overlap(norm, tensor)) return invalid("norm_out", "must not overlap a tensor of the list");
        if (overlap(own, tensor)) return invalid("workspace", "must not overlap a tensor of the list");
    }
    return {};
}

} // namespace

ClipPlan make_clip_plan(const ClipRequest& request) noexcept {
    ClipPlan plan;
    plan.request_ = request;
    plan.status_ = check(request);
    if (!plan.status_.ok()) return plan;
    plan.request_.max_norm = fp::from_bits<double>(fp::magnitude_bits(request.max_norm)); // −0 is 0
    plan.norm_ = make_plan({.op = Op::nrm2,
                            .dtype = request.norm,
                            .shape = Shape::tensors,
                            .n = request.n,
                            .groups = request.tensors,
                            .device = request.device,
                            .launch = request.launch});
    plan.status_ = renamed(plan.norm_.status());
    if (plan.status_.ok()) plan.request_.device = plan.norm_.request().device;
    plan.workspace_bytes_ = plan.norm_.workspace_bytes();
    if (request.device.backend == Backend::cuda) plan.workspace_bytes_ += cuda::clip_workspace_bytes;
    return plan;
}

namespace {

Status check_list(const ClipPlan& plan, const Tensor* list, const void* norm_out, const void* workspace) {
    for (std::uint64_t i = 0; i < plan.request().tensors; ++i) {
        if (list != nullptr && !misaligned(list, alignof(Tensor)) && has_8_bits(list[i].dtype))
            return {StatusCode::unsupported, "list", no_clipping, 0, i};
    }
    const Status of_arrays = renamed(check_arrays(plan.norm(), list, norm_out));
    return of_arrays.ok() ? check_overlap(plan, list, norm_out, workspace) : of_arrays;
}

} // namespace

Status run(const ClipPlan& plan, const Tensor* list, void* norm_out, void* workspace, Stream stream) noexcept {
    const Status bad = check_call(plan, workspace, [&] { return check_list(plan, list, norm_out, workspace); });
    if (!bad.ok()) return bad;
    return run_on([&] { host::clip(plan, list, norm_out); }, &cuda::Functions::enqueue_clip, plan, nullptr, list,
                  norm_out, workspace, stream);
}

Status clip_by_state(const ClipPlan& plan, const std::int64_t* state, const Tensor* list, void* norm_out,
                     void* workspace, Stream stream) noexcept {
    const Status bad = check_call(plan, workspace, [&] {
        return misaligned(state, 8) ? invalid("state", "must point to the words of a state")
                                    : check_list(plan, list, norm_out, workspace);
    });
    if (!bad.ok() || state == nullptr) return bad;
    bool is_state = true;
    const Status status = run_on([&] { is_state = host::clip_by_state(plan, state, list, norm_out); },
                                 &cuda::Functions::enqueue_clip, plan, state, list, norm_out, workspace, stream);
    if (is_state) return status;
    return invalid("state", "must be that of nrm2 of lists of tensors, of at most 2^62 elements");
}

} // namespace detreduce
