// The C header losses.h: losses of elements.
#include <detreduce/losses.h>
#include <detreduce/losses.hpp>
#include <detreduce/version.hpp>

#include "c_api/plan_calls.hpp"

namespace detreduce::c_api {

DETREDUCE_PLAN_KIND(loss_, LOSS_, LossPlan, 0x3173736f6c746564u, "the initialiser")
DETREDUCE_ARRAYS(loss_inputs, LOSS_INPUTS, inputs)

namespace {

// One list of words in two languages: a new enumerator needs its line in c/losses.h.
#define DETREDUCE_CHECK(name, c_name, ...) static_assert(is(DETREDUCE_LOSS_##c_name, dr::Loss::name));
DETREDUCE_LOSSES(DETREDUCE_CHECK)
#undef DETREDUCE_CHECK
#define DETREDUCE_CHECK(name, c_name) static_assert(is(DETREDUCE_REDUCTION_##c_name, dr::Reduction::name));
DETREDUCE_REDUCTIONS(DETREDUCE_CHECK)
#undef DETREDUCE_CHECK
#define DETREDUCE_CHECK(name, c_name) static_assert(is(DETREDUCE_LOSS_ARGUMENT_##c_name, dr::LossArgument::name));
DETREDUCE_LOSS_ARGUMENTS(DETREDUCE_CHECK)
#undef DETREDUCE_CHECK
static_assert(sizeof(detreduce_loss_request) == 192 && sizeof(detreduce_loss_inputs) == 64);

dr::LossPlan made_of(const detreduce_loss_request& r) {
    return dr::make_loss_plan({.loss = as<dr::Loss>(r.loss),
                               .reduction = as_optional<dr::Reduction>(r.reduction, DETREDUCE_REDUCTION_DEFAULT),
                               .method = as<dr::Method>(r.method),
                               .dtype = as<dr::DType>(r.dtype),
                               .output = as_optional<dr::DType>(r.output, DETREDUCE_DTYPE_OF_INPUT),
                               .n = r.n,
                               .parameter = r.parameter,
                               .weighted = r.weighted != 0,
                               .batch = r.batch,
                               .with_respect_to = as<dr::LossArgument>(r.with_respect_to),
                               .device = as_device(r.device),
                               .launch = as_launch(r.launch),
                               .state = r.state != 0});
}
dr::LossInputs as_inputs(const detreduce_loss_inputs& in) {
    return {in.x, in.target, in.weight};
}

} // namespace
} // namespace detreduce::c_api

using namespace detreduce::c_api;

extern "C" {

const char* detreduce_loss_name(detreduce_loss loss) noexcept {
    return name_of<dr::Loss>(loss);
}
const char* detreduce_reduction_name(detreduce_reduction reduction) noexcept {
    return name_of<dr::Reduction>(reduction);
}
detreduce_loss detreduce_parse_loss(const char* text) noexcept {
    return parsed<dr::Loss>(text);
}
detreduce_reduction detreduce_parse_reduction(const char* text) noexcept {
    return parsed<dr::Reduction>(text);
}
int32_t detreduce_loss_spec_version(void) noexcept {
    return dr::spec_version_of(dr::Loss::mse);
}

void detreduce_loss_request_init(detreduce_loss_request* request, size_t struct_size) noexcept {
    set_defaults(request, struct_size, detreduce_loss_request DETREDUCE_LOSS_REQUEST_INIT);
}
detreduce_status detreduce_make_loss_plan(const detreduce_loss_request* request, detreduce_loss_plan* plan) noexcept {
    return make(request, plan, made_of,
                {{"state", &detreduce_loss_request::state}, {"weighted", &detreduce_loss_request::weighted}});
}
detreduce_status detreduce_loss_plan_status(const detreduce_loss_plan* plan) noexcept {
    return status_of(plan);
}
detreduce_status detreduce_loss_plan_states(const detreduce_loss_plan* plan, detreduce_plan* states) noexcept {
    return states_of(plan, states);
}
size_t detreduce_loss_plan_workspace_bytes(const detreduce_loss_plan* plan) noexcept {
    return of_good_plan<&dr::LossPlan::workspace_bytes>(plan);
}
size_t detreduce_loss_plan_gradient_workspace_bytes(const detreduce_loss_plan* plan) noexcept {
    return of_good_plan<&dr::LossPlan::gradient_workspace_bytes>(plan);
}
uint64_t detreduce_loss_plan_results(const detreduce_loss_plan* plan) noexcept {
    return of_good_plan<&dr::LossPlan::results>(plan);
}
detreduce_dtype detreduce_loss_plan_output(const detreduce_loss_plan* plan) noexcept {
    return static_cast<detreduce_dtype>(of_good_plan<&dr::LossPlan::output>(plan));
}
detreduce_status detreduce_finish_loss(const detreduce_loss_plan* plan, const int64_t* states, void* out,
                                       void* workspace, detreduce_stream stream) noexcept {
    return of_plan<detreduce_loss_plan>(dr::finish(plan_of(plan), states, out, workspace, dr::Stream(stream)));
}

detreduce_status detreduce_run_loss(const detreduce_loss_plan* plan, const detreduce_loss_inputs* inputs, void* out,
                                    void* workspace, detreduce_stream stream) noexcept {
    return run_plan(plan, check_arrays(inputs),
                    [&](const auto& p) { return dr::run(p, as_inputs(*inputs), out, workspace, dr::Stream(stream)); });
}
detreduce_status detreduce_run_loss_async(const detreduce_loss_plan* plan, const detreduce_loss_inputs* inputs,
                                          void* out, detreduce_stream stream) noexcept {
    return run_plan(plan, check_arrays(inputs),
                    [&](const auto& p) { return dr::cuda::run_async(p, as_inputs(*inputs), out, dr::Stream(stream)); });
}
detreduce_status detreduce_run_loss_gradient(const detreduce_loss_plan* plan, const detreduce_loss_inputs* inputs,
                                             const void* upstream, void* dx, void* workspace,
                                             detreduce_stream stream) noexcept {
    return run_plan(plan, check_arrays(inputs), [&](const auto& p) {
        return dr::run_gradient(p, as_inputs(*inputs), upstream, dx, workspace, dr::Stream(stream));
    });
}
detreduce_status detreduce_run_loss_gradient_async(const detreduce_loss_plan* plan, const detreduce_loss_inputs* inputs,
                                                   const void* upstream, void* dx, detreduce_stream stream) noexcept {
    return run_plan(plan, check_arrays(inputs), [&](const auto& p) {
        return dr::cuda::run_gradient_async(p, as_inputs(*inputs), upstream, dx, dr::Stream(stream));
    });
}

} // extern "C"
