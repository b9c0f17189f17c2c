// The C header losses.h: row ops, cosine similarity and distillation.
#include <detreduce/cosine_similarity.hpp>
#include <detreduce/distillation.hpp>
#include <detreduce/losses.h>
#include <detreduce/row_ops.hpp>
#include <detreduce/version.hpp>

#include "c_api/plan_calls.hpp"

namespace detreduce::c_api {

DETREDUCE_PLAN_KIND(row_, ROW_, RowPlan, 0x3173776f72746564u, "the initialiser")
DETREDUCE_PLAN_KIND(cosine_, COSINE_, CosinePlan, 0x31736f6374656475u, "the initialiser")
DETREDUCE_PLAN_KIND(distillation_, DISTILLATION_, DistillationPlan, 0x3174736964746564u, "the initialiser")
DETREDUCE_ARRAYS(row_arrays, ROW_ARRAYS, arrays)

namespace {

// One list of words in two languages: a new enumerator needs its line in c/rows.h.
#define DETREDUCE_CHECK(name, c_name) static_assert(is(DETREDUCE_ROW_OP_##c_name, dr::RowOp::name));
DETREDUCE_ROW_OPS(DETREDUCE_CHECK)
#undef DETREDUCE_CHECK
static_assert(sizeof(detreduce_row_request) == 256 && sizeof(detreduce_row_arrays) == 192 &&
              sizeof(detreduce_cosine_request) == 160 && sizeof(detreduce_distillation_request) == 160);

dr::RowPlan made_of(const detreduce_row_request& r) {
    return dr::make_row_plan({.op = as<dr::RowOp>(r.op),
                              .dtype = as<dr::DType>(r.dtype),
                              .output = as_optional<dr::DType>(r.output, DETREDUCE_DTYPE_OF_INPUT),
                              .n = r.n,
                              .rows = r.rows,
                              .stride = r.stride,
                              .output_stride = r.output_stride,
                              .epsilon = r.epsilon,
                              .label_smoothing = r.label_smoothing,
                              .z_loss = r.z_loss,
                              .ignore_index = r.ignore_index,
                              .probability_stride = r.probability_stride,
                              .upstream_stride = r.upstream_stride,
                              .parameters = r.parameters != 0,
                              .reduction = as_optional<dr::Reduction>(r.reduction, DETREDUCE_REDUCTION_DEFAULT),
                              .method = as<dr::Method>(r.method),
                              .device = as_device(r.device),
                              .launch = as_launch(r.launch),
                              .state = r.state != 0});
}
dr::RowArrays as_arrays(const detreduce_row_arrays& a) {
    return {.x = a.x,
            .out = a.out,
            .scale = a.scale,
            .shift = a.shift,
            .mean = a.mean,
            .rstd = a.rstd,
            .targets = a.targets,
            .probabilities = a.probabilities,
            .weights = a.weights,
            .row_weights = a.row_weights,
            .factor = a.factor,
            .upstream = a.upstream,
            .scale_gradient = a.scale_gradient,
            .shift_gradient = a.shift_gradient,
            .exp_sums = a.exp_sums};
}

dr::CosinePlan made_of(const detreduce_cosine_request& r) {
    return dr::make_cosine_plan({.dtype = as<dr::DType>(r.dtype),
                                 .output = as_optional<dr::DType>(r.output, DETREDUCE_DTYPE_OF_INPUT),
                                 .n = r.n,
                                 .rows = r.rows,
                                 .stride = r.stride,
                                 .epsilon = r.epsilon,
                                 .method = as<dr::Method>(r.method),
                                 .device = as_device(r.device),
                                 .launch = as_launch(r.launch)});
}

dr::DistillationPlan made_of(const detreduce_distillation_request& r) {
    return dr::make_distillation_plan(
        {.dtype = as<dr::DType>(r.dtype),
         .output = as_optional<dr::DType>(r.output, DETREDUCE_DTYPE_OF_INPUT),
         .n = r.n,
         .rows = r.rows,
         .stride = r.stride,
         .temperature = r.temperature,
         .reduction = as_optional<dr::Reduction>(r.reduction, DETREDUCE_REDUCTION_DEFAULT),
         .method = as<dr::Method>(r.method),
         .device = as_device(r.device),
         .launch = as_launch(r.launch)});
}

} // namespace
} // namespace detreduce::c_api

using namespace detreduce::c_api;

extern "C" {

const char* detreduce_row_op_name(detreduce_row_op op) noexcept {
    return name_of<dr::RowOp>(op);
}
detreduce_row_op detreduce_parse_row_op(const char* text) noexcept {
    return parsed<dr::RowOp>(text);
}
int32_t detreduce_row_spec_version(void) noexcept {
    return dr::spec_version_of(dr::RowOp::softmax);
}

void detreduce_row_request_init(detreduce_row_request* request, size_t struct_size) noexcept {
    set_defaults(request, struct_size, detreduce_row_request DETREDUCE_ROW_REQUEST_INIT);
}
detreduce_status detreduce_make_row_plan(const detreduce_row_request* request, detreduce_row_plan* plan) noexcept {
    return make(request, plan, made_of,
                {{"parameters", &detreduce_row_request::parameters}, {"state", &detreduce_row_request::state}});
}
detreduce_status detreduce_row_plan_states(const detreduce_row_plan* plan, detreduce_plan* states) noexcept {
    return states_of(plan, states);
}
detreduce_status detreduce_row_plan_status(const detreduce_row_plan* plan) noexcept {
    return status_of(plan);
}
size_t detreduce_row_plan_workspace_bytes(const detreduce_row_plan* plan) noexcept {
    return of_good_plan<&dr::RowPlan::workspace_bytes>(plan);
}
uint64_t detreduce_row_plan_results(const detreduce_row_plan* plan) noexcept {
    return of_good_plan<&dr::RowPlan::results>(plan);
}
detreduce_dtype detreduce_row_plan_output(const detreduce_row_plan* plan) noexcept {
    return static_cast<detreduce_dtype>(of_good_plan<&dr::RowPlan::output>(plan));
}
detreduce_dtype detreduce_row_plan_arithmetic(const detreduce_row_plan* plan) noexcept {
    return static_cast<detreduce_dtype>(of_good_plan<&dr::RowPlan::arithmetic>(plan));
}
detreduce_status detreduce_finish_rows(const detreduce_row_plan* plan, const int64_t* states, void* out,
                                       void* workspace, detreduce_stream stream) noexcept {
    return of_plan<detreduce_row_plan>(dr::finish(plan_of(plan), states, out, workspace, dr::Stream(stream)));
}
detreduce_status detreduce_run_rows(const detreduce_row_plan* plan, const detreduce_row_arrays* arrays, void* workspace,
                                    detreduce_stream stream) noexcept {
    return run_plan(plan, check_arrays(arrays),
                    [&](const auto& p) { return dr::run(p, as_arrays(*arrays), workspace, dr::Stream(stream)); });
}
detreduce_status detreduce_run_rows_async(const detreduce_row_plan* plan, const detreduce_row_arrays* arrays,
                                          detreduce_stream stream) noexcept {
    return run_plan(plan, check_arrays(arrays),
                    [&](const auto& p) { return dr::cuda::run_async(p, as_arrays(*arrays), dr::Stream(stream)); });
}

void detreduce_cosine_request_init(detreduce_cosine_request* request, size_t struct_size) noexcept {
    set_defaults(request, struct_size, detreduce_cosine_request DETREDUCE_COSINE_REQUEST_INIT);
}
detreduce_status detreduce_make_cosine_plan(const detreduce_cosine_request* request,
                                            detreduce_cosine_plan* plan) noexcept {
    return make(request, plan, made_of);
}
detreduce_status detreduce_cosine_plan_status(const detreduce_cosine_plan* plan) noexcept {
    return status_of(plan);
}
size_t detreduce_cosine_plan_workspace_bytes(const detreduce_cosine_plan* plan) noexcept {
    return of_good_plan<&dr::CosinePlan::workspace_bytes>(plan);
}
detreduce_status detreduce_run_cosine(const detreduce_cosine_plan* plan, const void* x, const void* y, void* out,
                                      void* workspace, detreduce_stream stream) noexcept {
    return run_plan(plan, [&](const auto& p) { return dr::run(p, x, y, out, workspace, dr::Stream(stream)); });
}
detreduce_status detreduce_run_cosine_gradient(const detreduce_cosine_plan* plan, const void* x, const void* y,
                                               const void* upstream, void* dx, void* workspace,
                                               detreduce_stream stream) noexcept {
    return run_plan(
        plan, [&](const auto& p) { return dr::run_gradient(p, x, y, upstream, dx, workspace, dr::Stream(stream)); });
}

void detreduce_distillation_request_init(detreduce_distillation_request* request, size_t struct_size) noexcept {
    set_defaults(request, struct_size, detreduce_distillation_request DETREDUCE_DISTILLATION_REQUEST_INIT);
}
detreduce_status detreduce_make_distillation_plan(const detreduce_distillation_request* request,
                                                  detreduce_distillation_plan* plan) noexcept {
    return make(request, plan, made_of);
}
detreduce_status detreduce_distillation_plan_status(const detreduce_distillation_plan* plan) noexcept {
    return status_of(plan);
}
size_t detreduce_distillation_plan_workspace_bytes(const detreduce_distillation_plan* plan) noexcept {
    return of_good_plan<&dr::DistillationPlan::workspace_bytes>(plan);
}
detreduce_status detreduce_run_distillation(const detreduce_distillation_plan* plan, const void* x, const void* y,
                                            void* out, void* workspace, detreduce_stream stream) noexcept {
    return run_plan(plan, [&](const auto& p) { return dr::run(p, x, y, out, workspace, dr::Stream(stream)); });
}
detreduce_status detreduce_run_distillation_gradient(const detreduce_distillation_plan* plan, const void* x,
                                                     const void* y, const void* upstream, void* dx, void* workspace,
                                                     detreduce_stream stream) noexcept {
    return run_plan(
        plan, [&](const auto& p) { return dr::run_gradient(p, x, y, upstream, dx, workspace, dr::Stream(stream)); });
}

} // extern "C"
