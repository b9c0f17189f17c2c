// The C header losses.h: clip_grad_norm.
#include <detreduce/clip_grad_norm.hpp>
#include <detreduce/losses.h>

#include "c_api/plan_calls.hpp"

namespace detreduce::c_api {

DETREDUCE_PLAN_KIND(clip_, CLIP_, ClipPlan, 0x3170696c63746564u, "the initialiser")

namespace {

static_assert(sizeof(detreduce_clip_request) == 128);

dr::ClipPlan made_of(const detreduce_clip_request& r) {
    return dr::make_clip_plan({.n = r.n,
                               .tensors = r.tensors,
                               .max_norm = r.max_norm,
                               .epsilon = r.epsilon,
                               .norm = as<dr::DType>(r.norm),
                               .device = as_device(r.device),
                               .launch = as_launch(r.launch)});
}

} // namespace
} // namespace detreduce::c_api

using namespace detreduce::c_api;

extern "C" {

void detreduce_clip_request_init(detreduce_clip_request* request, size_t struct_size) noexcept {
    set_defaults(request, struct_size, detreduce_clip_request DETREDUCE_CLIP_REQUEST_INIT);
}
detreduce_status detreduce_make_clip_plan(const detreduce_clip_request* request, detreduce_clip_plan* plan) noexcept {
    return make(request, plan, made_of);
}
detreduce_status detreduce_clip_plan_status(const detreduce_clip_plan* plan) noexcept {
    return status_of(plan);
}
size_t detreduce_clip_plan_workspace_bytes(const detreduce_clip_plan* plan) noexcept {
    return of_good_plan<&dr::ClipPlan::workspace_bytes>(plan);
}
detreduce_status detreduce_run_clip(const detreduce_clip_plan* plan, const detreduce_tensor* list, void* norm_out,
                                    void* workspace, detreduce_stream stream) noexcept {
    const std::uint64_t tensors = of_good_plan<[](const auto& p) { return p.request().tensors; }>(plan);
    return run_plan(plan, as_c(check_reserved("list", list, tensors)), [&](const auto& p) {
        // Lists of tensors are handed on as they are (plans.cpp checks that they may be).
        return dr::run(p, reinterpret_cast<const dr::Tensor*>(list), norm_out, workspace, dr::Stream(stream));
    });
}

} // extern "C"
