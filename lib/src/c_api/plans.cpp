// The C header: plans, states of many, and segments by key.
#include <cstddef>

#include <detreduce/detreduce.hpp>

#include "c_api/plan_calls.hpp"
#include "check_pointer.hpp"

namespace detreduce::c_api {
namespace {

static_assert(sizeof(detreduce_request) == 144 && sizeof(detreduce_plan) == 256 && sizeof(detreduce_launch) == 32);
// Lists of tensors are handed on as they are.
static_assert(sizeof(detreduce_tensor) == sizeof(dr::Tensor) &&
              offsetof(detreduce_tensor, data) == offsetof(dr::Tensor, data) &&
              offsetof(detreduce_tensor, n) == offsetof(dr::Tensor, n) &&
              offsetof(detreduce_tensor, dtype) == offsetof(dr::Tensor, dtype) && sizeof(dr::DType) == 1);

dr::Plan made_of(const detreduce_request& r) {
    return dr::make_plan({.op = as<dr::Op>(r.op),
                          .method = as<dr::Method>(r.method),
                          .dtype = as<dr::DType>(r.dtype),
                          .output = as_optional<dr::DType>(r.output, DETREDUCE_DTYPE_OF_INPUT),
                          .shape = as<dr::Shape>(r.shape),
                          .n = r.n,
                          .groups = r.groups,
                          .stride = r.stride,
                          .device = as_device(r.device),
                          .launch = as_launch(r.launch),
                          .nan = as<dr::NanPolicy>(r.nan),
                          .each = r.each != 0,
                          .ddof = r.ddof,
                          .state = r.state != 0,
                          .first_index = r.first_index});
}

/// run(plan, inputs) of a plan in C. `reads`: whether it reads lists of plans of this backend; else
/// it refuses it.
template <class Run>
detreduce_status run_plan(const detreduce_plan* in_c, const dr::Inputs& in, bool (*reads)(dr::Backend),
                          const Run& run) {
    const dr::Plan plan = plan_of(in_c);
    if (plan.status().ok() && plan.request().shape == dr::Shape::tensors && reads(plan.request().device.backend)) {
        const std::uint64_t tensors = plan.request().groups;
        if (const dr::Status bad = check_reserved("x", in.x, tensors); !bad.ok()) return as_c(bad);
        if (dr::info(plan.request().op).inputs == 2) { // else run() refuses it
            if (const dr::Status bad = check_reserved("y", in.y, tensors); !bad.ok()) return as_c(bad);
        }
    }
    return of_plan<detreduce_plan>(run(plan, in));
}

} // namespace

dr::Status check_reserved(const char* argument, const void* list, std::uint64_t tensors) noexcept {
    if (list == nullptr || dr::misaligned(list, alignof(detreduce_tensor))) return {};
    const auto* const tensor = static_cast<const detreduce_tensor*>(list);
    for (std::uint64_t i = 0; i < tensors; ++i) {
        if (!are_zero(tensor[i].reserved)) return dr::invalid(argument, "the reserved bytes of a tensor must be 0", i);
    }
    return {};
}

} // namespace detreduce::c_api

using namespace detreduce::c_api;

extern "C" {

void detreduce_request_init(detreduce_request* request, size_t struct_size) noexcept {
    set_defaults(request, struct_size, detreduce_request DETREDUCE_REQUEST_INIT);
}

detreduce_status detreduce_make_plan(const detreduce_request* request, detreduce_plan* plan) noexcept {
    return make(request, plan, made_of, {{"each", &detreduce_request::each}, {"state", &detreduce_request::state}});
}

detreduce_status detreduce_plan_status(const detreduce_plan* plan) noexcept {
    return status_of(plan);
}
size_t detreduce_plan_workspace_bytes(const detreduce_plan* plan) noexcept {
    return of_good_plan<&dr::Plan::workspace_bytes>(plan);
}
uint64_t detreduce_plan_results(const detreduce_plan* plan) noexcept {
    return of_good_plan<&dr::Plan::results>(plan);
}
size_t detreduce_plan_result_bytes(const detreduce_plan* plan) noexcept {
    return of_good_plan<&dr::Plan::result_bytes>(plan);
}
detreduce_dtype detreduce_plan_output(const detreduce_plan* plan) noexcept {
    return static_cast<detreduce_dtype>(of_good_plan<&dr::Plan::output>(plan));
}
detreduce_guarantee detreduce_plan_guarantee(const detreduce_plan* plan) noexcept {
    return static_cast<detreduce_guarantee>(of_good_plan<&dr::Plan::guarantee>(plan));
}
detreduce_method detreduce_plan_method(const detreduce_plan* plan) noexcept {
    return of_good_plan<[](const dr::Plan& p) { return static_cast<detreduce_method>(p.request().method); }>(plan);
}

detreduce_status detreduce_run(const detreduce_plan* plan, const void* x, const void* y, const uint64_t* offsets,
                               void* out, void* workspace, detreduce_stream stream) noexcept {
    const auto any = [](dr::Backend) { return true; };
    return run_plan(plan, {x, y, offsets}, any, [&](const dr::Plan& p, const dr::Inputs& in) {
        return dr::run(p, in, out, workspace, dr::Stream(stream));
    });
}
detreduce_status detreduce_run_async(const detreduce_plan* plan, const void* x, const void* y, const uint64_t* offsets,
                                     void* out, detreduce_stream stream) noexcept {
    const auto cuda = [](dr::Backend backend) { return backend == dr::Backend::cuda; };
    return run_plan(plan, {x, y, offsets}, cuda, [&](const dr::Plan& p, const dr::Inputs& in) {
        return dr::cuda::run_async(p, in, out, dr::Stream(stream));
    });
}

uint64_t detreduce_plan_state_words(const detreduce_plan* plan) noexcept {
    return of_good_plan<&dr::Plan::state_words>(plan);
}
detreduce_state_merge_kind detreduce_plan_state_merge(const detreduce_plan* plan) noexcept {
    return of_good_plan<[](const dr::Plan& p) {
        return p.request().state ? static_cast<detreduce_state_merge_kind>(dr::state_merge(p)) : 0;
    }>(plan);
}
detreduce_status detreduce_states_merge(const detreduce_plan* plan, int64_t* states, const int64_t* others,
                                        detreduce_stream stream) noexcept {
    return of_plan<detreduce_plan>(dr::merge(plan_of(plan), states, others, dr::Stream(stream)));
}
detreduce_status detreduce_states_normalize(const detreduce_plan* plan, int64_t* states,
                                            detreduce_stream stream) noexcept {
    return of_plan<detreduce_plan>(dr::normalize(plan_of(plan), states, dr::Stream(stream)));
}
detreduce_status detreduce_states_finish(const detreduce_plan* plan, const int64_t* states, void* out,
                                         detreduce_stream stream) noexcept {
    return of_plan<detreduce_plan>(dr::finish(plan_of(plan), states, out, dr::Stream(stream)));
}

uint64_t detreduce_states_serialized_bytes(const detreduce_plan* plan) noexcept {
    return of_good_plan<[](const dr::Plan& p) { return dr::serialized_bytes(p); }>(plan);
}
detreduce_status detreduce_states_serialize(const detreduce_plan* plan, const int64_t* states, void* bytes,
                                            size_t size) noexcept {
    const dr::Plan p = plan_of(plan);
    if (dr::serialized_bytes(p) != 0) { // else it says what is wrong with the plan
        if (bytes == nullptr) return null("bytes");
        if (size != dr::serialized_bytes(p)) return invalid("size", "must be detreduce_states_serialized_bytes()");
    }
    return of_plan<detreduce_plan>(dr::serialize(p, states, {static_cast<std::byte*>(bytes), size}));
}
detreduce_status detreduce_states_deserialize(const detreduce_plan* plan, const void* bytes, size_t size,
                                              int64_t* states) noexcept {
    if (bytes == nullptr) return null("bytes");
    return of_plan<detreduce_plan>(
        dr::deserialize(plan_of(plan), {static_cast<const std::byte*>(bytes), size}, states));
}
detreduce_status detreduce_states_request(const void* bytes, size_t size, detreduce_request* request) noexcept {
    if (bytes == nullptr) return null("bytes");
    if (request == nullptr) return null("request");
    dr::Request r;
    if (const dr::Status bad = dr::serialized_request({static_cast<const std::byte*>(bytes), size}, r); !bad.ok())
        return as_c(bad);
    *request = DETREDUCE_REQUEST_INIT;
    request->op = static_cast<detreduce_op>(r.op);
    request->method = static_cast<detreduce_method>(r.method);
    request->dtype = static_cast<detreduce_dtype>(r.dtype);
    request->shape = static_cast<detreduce_shape>(r.shape);
    request->nan = static_cast<detreduce_nan_policy>(r.nan);
    request->groups = r.groups;
    request->device.backend = DETREDUCE_BACKEND_CPU;
    request->each = r.each;
    request->state = 1;
    request->first_index = r.first_index;
    return {};
}

detreduce_status detreduce_offsets_of_ids_u32(detreduce_device device, const uint32_t* ids, uint64_t n, uint64_t groups,
                                              uint64_t* offsets, detreduce_stream stream) noexcept {
    return as_c(dr::offsets_of_ids(as_device(device), ids, n, groups, offsets, dr::Stream(stream)));
}
detreduce_status detreduce_offsets_of_ids_u64(detreduce_device device, const uint64_t* ids, uint64_t n, uint64_t groups,
                                              uint64_t* offsets, detreduce_stream stream) noexcept {
    return as_c(dr::offsets_of_ids(as_device(device), ids, n, groups, offsets, dr::Stream(stream)));
}
detreduce_status detreduce_check_ids_u32(detreduce_device device, const uint32_t* ids, uint64_t n, uint64_t groups,
                                         detreduce_stream stream) noexcept {
    return as_c(dr::check_ids(as_device(device), ids, n, groups, dr::Stream(stream)));
}
detreduce_status detreduce_check_ids_u64(detreduce_device device, const uint64_t* ids, uint64_t n, uint64_t groups,
                                         detreduce_stream stream) noexcept {
    return as_c(dr::check_ids(as_device(device), ids, n, groups, dr::Stream(stream)));
}
detreduce_status detreduce_check_offsets(detreduce_device device, const uint64_t* offsets, uint64_t groups, uint64_t n,
                                         int32_t whole, detreduce_stream stream) noexcept {
    if (whole != 0 && whole != 1) return invalid("whole", "allowed are 0 and 1");
    return as_c(dr::check_offsets(as_device(device), offsets, groups, n, dr::Stream(stream), whole == 1));
}

} // extern "C"
