// The C header losses.h: norms of channels.
#include <detreduce/channel_norm.hpp>
#include <detreduce/losses.h>

#include "c_api/plan_calls.hpp"

namespace detreduce::c_api {

DETREDUCE_PLAN_KIND(channel_norm_, CHANNEL_NORM_, ChannelNormPlan, 0x316d726f6e746564u, "the initialiser")
DETREDUCE_ARRAYS(channel_norm_arrays, CHANNEL_NORM_ARRAYS, arrays)

namespace {

// One list of words in two languages: a new enumerator needs its line in c/norms.h.
#define DETREDUCE_CHECK(name, c_name) static_assert(is(DETREDUCE_CHANNEL_NORM_##c_name, dr::ChannelNorm::name));
DETREDUCE_CHANNEL_NORMS(DETREDUCE_CHECK)
#undef DETREDUCE_CHECK
static_assert(sizeof(detreduce_channel_norm_request) == 192 && sizeof(detreduce_channel_norm_arrays) == 128);

dr::ChannelNormPlan made_of(const detreduce_channel_norm_request& r) {
    return dr::make_channel_norm_plan({.norm = as<dr::ChannelNorm>(r.norm),
                                       .dtype = as<dr::DType>(r.dtype),
                                       .parameters = as_optional<dr::DType>(r.parameters, DETREDUCE_DTYPE_OF_INPUT),
                                       .n = r.n,
                                       .channels = r.channels,
                                       .size = r.size,
                                       .groups = r.groups,
                                       .epsilon = r.epsilon,
                                       .momentum = r.momentum,
                                       .given = r.given != 0,
                                       .method = as<dr::Method>(r.method),
                                       .device = as_device(r.device),
                                       .launch = as_launch(r.launch)});
}
dr::ChannelNormArrays as_arrays(const detreduce_channel_norm_arrays& a) {
    return {.x = a.x,
            .out = a.out,
            .scale = a.scale,
            .shift = a.shift,
            .mean = a.mean,
            .rstd = a.rstd,
            .running_mean = a.running_mean,
            .running_variance = a.running_variance,
            .upstream = a.upstream,
            .scale_gradient = a.scale_gradient,
            .shift_gradient = a.shift_gradient};
}

} // namespace
} // namespace detreduce::c_api

using namespace detreduce::c_api;

extern "C" {

const char* detreduce_channel_norm_name(detreduce_channel_norm norm) noexcept {
    return name_of<dr::ChannelNorm>(norm);
}
detreduce_channel_norm detreduce_parse_channel_norm(const char* text) noexcept {
    return parsed<dr::ChannelNorm>(text);
}
void detreduce_channel_norm_request_init(detreduce_channel_norm_request* request, size_t struct_size) noexcept {
    set_defaults(request, struct_size, detreduce_channel_norm_request DETREDUCE_CHANNEL_NORM_REQUEST_INIT);
}
detreduce_status detreduce_make_channel_norm_plan(const detreduce_channel_norm_request* request,
                                                  detreduce_channel_norm_plan* plan) noexcept {
    return make(request, plan, made_of);
}
detreduce_status detreduce_channel_norm_plan_status(const detreduce_channel_norm_plan* plan) noexcept {
    return status_of(plan);
}
uint64_t detreduce_channel_norm_plan_statistics(const detreduce_channel_norm_plan* plan) noexcept {
    return of_good_plan<&dr::ChannelNormPlan::statistics>(plan);
}
size_t detreduce_channel_norm_plan_workspace_bytes(const detreduce_channel_norm_plan* plan) noexcept {
    return of_good_plan<&dr::ChannelNormPlan::workspace_bytes>(plan);
}
size_t detreduce_channel_norm_plan_gradient_workspace_bytes(const detreduce_channel_norm_plan* plan) noexcept {
    return of_good_plan<&dr::ChannelNormPlan::gradient_workspace_bytes>(plan);
}
detreduce_status detreduce_run_channel_norm(const detreduce_channel_norm_plan* plan,
                                            const detreduce_channel_norm_arrays* arrays, void* workspace,
                                            detreduce_stream stream) noexcept {
    return run_plan(plan, check_arrays(arrays),
                    [&](const auto& p) { return dr::run(p, as_arrays(*arrays), workspace, dr::Stream(stream)); });
}
detreduce_status detreduce_run_channel_norm_gradient(const detreduce_channel_norm_plan* plan,
                                                     const detreduce_channel_norm_arrays* arrays, void* workspace,
                                                     detreduce_stream stream) noexcept {
    return run_plan(plan, check_arrays(arrays), [&](const auto& p) {
        return dr::run_gradient(p, as_arrays(*arrays), workspace, dr::Stream(stream));
    });
}

} // extern "C"
