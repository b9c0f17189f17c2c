// The C header losses.h: losses, row ops and clip_grad_norm.
#include <string_view>

#include <detreduce/channel_norm.hpp>
#include <detreduce/clip_grad_norm.hpp>
#include <detreduce/cosine_similarity.hpp>
#include <detreduce/distillation.hpp>
#include <detreduce/losses.h>
#include <detreduce/losses.hpp>
#include <detreduce/row_ops.hpp>
#include <detreduce/version.hpp>

#include "c_api/shared.hpp"

namespace detreduce::c_api {

template <>
struct Holds<detreduce_loss_plan> {
    using Plan = dr::LossPlan;
    static constexpr std::uint64_t mark = 0x3173736f6c746564u;
    static constexpr char must_be_made[] = "must come from detreduce_make_loss_plan()";
};
template <>
struct Holds<detreduce_row_plan> {
    using Plan = dr::RowPlan;
    static constexpr std::uint64_t mark = 0x3173776f72746564u;
    static constexpr char must_be_made[] = "must come from detreduce_make_row_plan()";
};
template <>
struct Holds<detreduce_cosine_plan> {
    using Plan = dr::CosinePlan;
    static constexpr std::uint64_t mark = 0x31736f6374656475u;
    static constexpr char must_be_made[] = "must come from detreduce_make_cosine_plan()";
};
template <>
struct Holds<detreduce_channel_norm_plan> {
    using Plan = dr::ChannelNormPlan;
    static constexpr std::uint64_t mark = 0x316d726f6e746564u;
    static constexpr char must_be_made[] = "must come from detreduce_make_channel_norm_plan()";
};
template <>
struct Holds<detreduce_distillation_plan> {
    using Plan = dr::DistillationPlan;
    static constexpr std::uint64_t mark = 0x3174736964746564u;
    static constexpr char must_be_made[] = "must come from detreduce_make_distillation_plan()";
};
template <>
struct Holds<detreduce_clip_plan> {
    using Plan = dr::ClipPlan;
    static constexpr std::uint64_t mark = 0x3170696c63746564u;
    static constexpr char must_be_made[] = "must come from detreduce_make_clip_plan()";
};

namespace {

// One list of words in two languages: a new enumerator needs its line in losses.h.
#define DETREDUCE_CHECK(name, c_name, ...) static_assert(is(DETREDUCE_LOSS_##c_name, dr::Loss::name));
DETREDUCE_LOSSES(DETREDUCE_CHECK)
#undef DETREDUCE_CHECK
#define DETREDUCE_CHECK(name, c_name) static_assert(is(DETREDUCE_REDUCTION_##c_name, dr::Reduction::name));
DETREDUCE_REDUCTIONS(DETREDUCE_CHECK)
#undef DETREDUCE_CHECK
#define DETREDUCE_CHECK(name, c_name) static_assert(is(DETREDUCE_LOSS_ARGUMENT_##c_name, dr::LossArgument::name));
DETREDUCE_LOSS_ARGUMENTS(DETREDUCE_CHECK)
#undef DETREDUCE_CHECK
#define DETREDUCE_CHECK(name, c_name) static_assert(is(DETREDUCE_ROW_OP_##c_name, dr::RowOp::name));
DETREDUCE_ROW_OPS(DETREDUCE_CHECK)
#undef DETREDUCE_CHECK
#define DETREDUCE_CHECK(name, c_name) static_assert(is(DETREDUCE_CHANNEL_NORM_##c_name, dr::ChannelNorm::name));
DETREDUCE_CHANNEL_NORMS(DETREDUCE_CHECK)
#undef DETREDUCE_CHECK

static_assert(sizeof(detreduce_loss_request) == 192 && sizeof(detreduce_loss_inputs) == 64 &&
              sizeof(detreduce_row_request) == 256 && sizeof(detreduce_row_arrays) == 192 &&
              sizeof(detreduce_cosine_request) == 160 && sizeof(detreduce_channel_norm_request) == 192 &&
              sizeof(detreduce_channel_norm_arrays) == 128 && sizeof(detreduce_distillation_request) == 160 &&
              sizeof(detreduce_clip_request) == 128);

/// The enumerator whose name() is `text`; names are numbered from 0 on.
template <class Enum>
std::int32_t parsed(const char* text) {
    for (std::int32_t i = 0; text != nullptr && i < 255 && dr::name(as<Enum>(i)) != "?"; ++i) {
        if (dr::name(as<Enum>(i)) == text) return i;
    }
    return DETREDUCE_UNKNOWN;
}

/// Whether the caller's struct is one that was initialised, of this version: what is wrong with it
/// otherwise.
template <class Request>
detreduce_status check_request(const Request& r, const char* of_this_size) {
    if (r.struct_size != sizeof r) return invalid("struct_size", of_this_size);
    if (!are_zero(r.reserved)) return invalid("reserved", "must be 0, as the initialiser sets it");
    if (!are_zero(r.launch.reserved)) return invalid("launch.reserved", "must be 0, as the initialiser sets it");
    return as_c({});
}
/// The same of arrays, whose argument is `name`.
template <class Arrays>
detreduce_status check_arrays(const char* name, const Arrays* arrays, const char* of_this_size) {
    if (arrays == nullptr) return null(name);
    if (arrays->struct_size != sizeof *arrays) return invalid(name, of_this_size);
    if (!are_zero(arrays->reserved))
        return invalid(name, "its reserved pointers must be NULL, as the initialiser sets them");
    return as_c({});
}
constexpr bool is_ok(const detreduce_status& s) {
    return s.code == DETREDUCE_OK;
}

std::optional<dr::Reduction> as_reduction(detreduce_reduction word) {
    if (word == DETREDUCE_REDUCTION_DEFAULT) return std::nullopt;
    return as<dr::Reduction>(word);
}
std::optional<dr::DType> as_output(detreduce_dtype word) {
    if (word == DETREDUCE_DTYPE_OF_INPUT) return std::nullopt;
    return as<dr::DType>(word);
}
dr::LossRequest as_request(const detreduce_loss_request& r) {
    return {.loss = as<dr::Loss>(r.loss),
            .reduction = as_reduction(r.reduction),
            .method = as<dr::Method>(r.method),
            .dtype = as<dr::DType>(r.dtype),
            .output = as_output(r.output),
            .n = r.n,
            .parameter = r.parameter,
            .weighted = r.weighted != 0,
            .batch = r.batch,
            .with_respect_to = as<dr::LossArgument>(r.with_respect_to),
            .device = as_device(r.device),
            .launch = as_launch(r.launch),
            .state = r.state != 0};
}
dr::LossInputs as_inputs(const detreduce_loss_inputs& in) {
    return {in.x, in.target, in.weight};
}

dr::RowRequest as_request(const detreduce_row_request& r) {
    return {.op = as<dr::RowOp>(r.op),
            .dtype = as<dr::DType>(r.dtype),
            .output = as_output(r.output),
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
            .reduction = as_reduction(r.reduction),
            .method = as<dr::Method>(r.method),
            .device = as_device(r.device),
            .launch = as_launch(r.launch),
            .state = r.state != 0};
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
            .shift_gradient = a.shift_gradient};
}

dr::CosineRequest as_request(const detreduce_cosine_request& r) {
    return {.dtype = as<dr::DType>(r.dtype),
            .output = as_output(r.output),
            .n = r.n,
            .rows = r.rows,
            .stride = r.stride,
            .epsilon = r.epsilon,
            .method = as<dr::Method>(r.method),
            .device = as_device(r.device),
            .launch = as_launch(r.launch)};
}

dr::ChannelNormRequest as_request(const detreduce_channel_norm_request& r) {
    return {.norm = as<dr::ChannelNorm>(r.norm),
            .dtype = as<dr::DType>(r.dtype),
            .parameters = as_output(r.parameters),
            .n = r.n,
            .channels = r.channels,
            .size = r.size,
            .groups = r.groups,
            .epsilon = r.epsilon,
            .momentum = r.momentum,
            .given = r.given != 0,
            .method = as<dr::Method>(r.method),
            .device = as_device(r.device),
            .launch = as_launch(r.launch)};
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

dr::DistillationRequest as_request(const detreduce_distillation_request& r) {
    return {.dtype = as<dr::DType>(r.dtype),
            .output = as_output(r.output),
            .n = r.n,
            .rows = r.rows,
            .stride = r.stride,
            .temperature = r.temperature,
            .reduction = as_reduction(r.reduction),
            .method = as<dr::Method>(r.method),
            .device = as_device(r.device),
            .launch = as_launch(r.launch)};
}

dr::ClipRequest as_request(const detreduce_clip_request& r) {
    return {.n = r.n,
            .tensors = r.tensors,
            .max_norm = r.max_norm,
            .epsilon = r.epsilon,
            .norm = as<dr::DType>(r.norm),
            .device = as_device(r.device),
            .launch = as_launch(r.launch)};
}

/// run(plan, inputs) of a plan in C, where the inputs are such.
template <class InC, class Run>
detreduce_status run_plan(const InC* plan, const detreduce_status& of_arrays, const Run& run) {
    const auto p = plan_of(plan);
    if (!p.status().ok()) return of_plan<InC>(p.status());
    return is_ok(of_arrays) ? of_plan<InC>(run(p)) : of_arrays;
}

constexpr char loss_request_size[] =
    "must be sizeof(detreduce_loss_request), which detreduce_loss_request_init() and DETREDUCE_LOSS_REQUEST_INIT set; "
    "a larger one needs a newer library";
constexpr char row_request_size[] =
    "must be sizeof(detreduce_row_request), which detreduce_row_request_init() and DETREDUCE_ROW_REQUEST_INIT set; "
    "a larger one needs a newer library";
constexpr char cosine_request_size[] =
    "must be sizeof(detreduce_cosine_request), which detreduce_cosine_request_init() and DETREDUCE_COSINE_REQUEST_INIT "
    "set; a larger one needs a newer library";
constexpr char channel_norm_request_size[] =
    "must be sizeof(detreduce_channel_norm_request), which detreduce_channel_norm_request_init() and "
    "DETREDUCE_CHANNEL_NORM_REQUEST_INIT set; a larger one needs a newer library";
constexpr char channel_norm_arrays_size[] =
    "its struct_size must be sizeof(detreduce_channel_norm_arrays), which DETREDUCE_CHANNEL_NORM_ARRAYS_INIT sets; a "
    "larger one needs a newer library";
constexpr char distillation_request_size[] =
    "must be sizeof(detreduce_distillation_request), which detreduce_distillation_request_init() and "
    "DETREDUCE_DISTILLATION_REQUEST_INIT set; a larger one needs a newer library";
constexpr char clip_request_size[] =
    "must be sizeof(detreduce_clip_request), which detreduce_clip_request_init() and DETREDUCE_CLIP_REQUEST_INIT set; "
    "a larger one needs a newer library";
constexpr char loss_inputs_size[] =
    "its struct_size must be sizeof(detreduce_loss_inputs), which DETREDUCE_LOSS_INPUTS_INIT sets; a larger one needs "
    "a newer library";
constexpr char row_arrays_size[] =
    "its struct_size must be sizeof(detreduce_row_arrays), which DETREDUCE_ROW_ARRAYS_INIT sets; a larger one needs a "
    "newer library";

} // namespace
} // namespace detreduce::c_api

using namespace detreduce::c_api;

namespace {

/// The plan of the states of a loss.
template <class InC>
detreduce_status states_of(const InC* plan, detreduce_plan* states) {
    if (states == nullptr) return null("states");
    *states = {};
    const auto p = plan_of(plan);
    if (!p.status().ok()) return of_plan<InC>(p.status());
    if (!p.request().state) return invalid("plan", "must be that of a request for states");
    return store(states, p.states());
}

} // namespace

extern "C" {

const char* detreduce_loss_name(detreduce_loss loss) noexcept {
    return dr::name(as<dr::Loss>(loss)).data();
}
const char* detreduce_reduction_name(detreduce_reduction reduction) noexcept {
    return dr::name(as<dr::Reduction>(reduction)).data();
}
const char* detreduce_row_op_name(detreduce_row_op op) noexcept {
    return dr::name(as<dr::RowOp>(op)).data();
}
detreduce_loss detreduce_parse_loss(const char* text) noexcept {
    return parsed<dr::Loss>(text);
}
detreduce_reduction detreduce_parse_reduction(const char* text) noexcept {
    return parsed<dr::Reduction>(text);
}
detreduce_row_op detreduce_parse_row_op(const char* text) noexcept {
    return parsed<dr::RowOp>(text);
}

int32_t detreduce_loss_spec_version(void) noexcept {
    return dr::spec_version_of(dr::Loss::mse);
}
int32_t detreduce_row_spec_version(void) noexcept {
    return dr::spec_version_of(dr::RowOp::softmax);
}

void detreduce_loss_request_init(detreduce_loss_request* request, size_t struct_size) noexcept {
    set_defaults(request, struct_size, detreduce_loss_request DETREDUCE_LOSS_REQUEST_INIT);
}
void detreduce_row_request_init(detreduce_row_request* request, size_t struct_size) noexcept {
    set_defaults(request, struct_size, detreduce_row_request DETREDUCE_ROW_REQUEST_INIT);
}
void detreduce_clip_request_init(detreduce_clip_request* request, size_t struct_size) noexcept {
    set_defaults(request, struct_size, detreduce_clip_request DETREDUCE_CLIP_REQUEST_INIT);
}

detreduce_status detreduce_make_loss_plan(const detreduce_loss_request* request, detreduce_loss_plan* plan) noexcept {
    if (plan == nullptr) return null("plan");
    *plan = {};
    if (request == nullptr) return null("request");
    if (const detreduce_status bad = check_request(*request, loss_request_size); !is_ok(bad)) return bad;
    if (request->state > 1) return invalid("state", "allowed are 0 and 1; the initialiser sets every field");
    if (request->weighted > 1) return invalid("weighted", "allowed are 0 and 1; the initialiser sets every field");
    return store(plan, dr::make_loss_plan(as_request(*request)));
}
detreduce_status detreduce_loss_plan_status(const detreduce_loss_plan* plan) noexcept {
    return of_plan<detreduce_loss_plan>(plan_of(plan).status());
}
detreduce_status detreduce_loss_plan_states(const detreduce_loss_plan* plan, detreduce_plan* states) noexcept {
    return states_of<detreduce_loss_plan>(plan, states);
}
detreduce_status detreduce_finish_loss(const detreduce_loss_plan* plan, const int64_t* states, void* out,
                                       void* workspace, detreduce_stream stream) noexcept {
    return of_plan<detreduce_loss_plan>(dr::finish(plan_of(plan), states, out, workspace, dr::Stream(stream)));
}
size_t detreduce_loss_plan_workspace_bytes(const detreduce_loss_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::LossPlan& p) { return p.workspace_bytes(); });
}
size_t detreduce_loss_plan_gradient_workspace_bytes(const detreduce_loss_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::LossPlan& p) { return p.gradient_workspace_bytes(); });
}
uint64_t detreduce_loss_plan_results(const detreduce_loss_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::LossPlan& p) { return p.results(); });
}
detreduce_dtype detreduce_loss_plan_output(const detreduce_loss_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::LossPlan& p) { return static_cast<detreduce_dtype>(p.output()); });
}

detreduce_status detreduce_run_loss(const detreduce_loss_plan* plan, const detreduce_loss_inputs* inputs, void* out,
                                    void* workspace, detreduce_stream stream) noexcept {
    return run_plan(plan, check_arrays("inputs", inputs, loss_inputs_size), [&](const dr::LossPlan& p) {
        return dr::run(p, as_inputs(*inputs), out, workspace, dr::Stream(stream));
    });
}
detreduce_status detreduce_run_loss_async(const detreduce_loss_plan* plan, const detreduce_loss_inputs* inputs,
                                          void* out, detreduce_stream stream) noexcept {
    return run_plan(plan, check_arrays("inputs", inputs, loss_inputs_size), [&](const dr::LossPlan& p) {
        return dr::cuda::run_async(p, as_inputs(*inputs), out, dr::Stream(stream));
    });
}
detreduce_status detreduce_run_loss_gradient(const detreduce_loss_plan* plan, const detreduce_loss_inputs* inputs,
                                             const void* upstream, void* dx, void* workspace,
                                             detreduce_stream stream) noexcept {
    return run_plan(plan, check_arrays("inputs", inputs, loss_inputs_size), [&](const dr::LossPlan& p) {
        return dr::run_gradient(p, as_inputs(*inputs), upstream, dx, workspace, dr::Stream(stream));
    });
}
detreduce_status detreduce_run_loss_gradient_async(const detreduce_loss_plan* plan, const detreduce_loss_inputs* inputs,
                                                   const void* upstream, void* dx, detreduce_stream stream) noexcept {
    return run_plan(plan, check_arrays("inputs", inputs, loss_inputs_size), [&](const dr::LossPlan& p) {
        return dr::cuda::run_gradient_async(p, as_inputs(*inputs), upstream, dx, dr::Stream(stream));
    });
}

detreduce_status detreduce_make_row_plan(const detreduce_row_request* request, detreduce_row_plan* plan) noexcept {
    if (plan == nullptr) return null("plan");
    *plan = {};
    if (request == nullptr) return null("request");
    if (const detreduce_status bad = check_request(*request, row_request_size); !is_ok(bad)) return bad;
    if (request->parameters > 1) return invalid("parameters", "allowed are 0 and 1; the initialiser sets every field");
    if (request->state > 1) return invalid("state", "allowed are 0 and 1; the initialiser sets every field");
    if (request->reserved_word != 0) return invalid("reserved_word", "must be 0, as the initialiser sets it");
    return store(plan, dr::make_row_plan(as_request(*request)));
}
detreduce_status detreduce_row_plan_states(const detreduce_row_plan* plan, detreduce_plan* states) noexcept {
    return states_of<detreduce_row_plan>(plan, states);
}
detreduce_status detreduce_finish_rows(const detreduce_row_plan* plan, const int64_t* states, void* out,
                                       void* workspace, detreduce_stream stream) noexcept {
    return of_plan<detreduce_row_plan>(dr::finish(plan_of(plan), states, out, workspace, dr::Stream(stream)));
}
detreduce_status detreduce_row_plan_status(const detreduce_row_plan* plan) noexcept {
    return of_plan<detreduce_row_plan>(plan_of(plan).status());
}
size_t detreduce_row_plan_workspace_bytes(const detreduce_row_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::RowPlan& p) { return p.workspace_bytes(); });
}
uint64_t detreduce_row_plan_results(const detreduce_row_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::RowPlan& p) { return p.results(); });
}
detreduce_dtype detreduce_row_plan_output(const detreduce_row_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::RowPlan& p) { return static_cast<detreduce_dtype>(p.output()); });
}
detreduce_dtype detreduce_row_plan_arithmetic(const detreduce_row_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::RowPlan& p) { return static_cast<detreduce_dtype>(p.arithmetic()); });
}

detreduce_status detreduce_run_rows(const detreduce_row_plan* plan, const detreduce_row_arrays* arrays, void* workspace,
                                    detreduce_stream stream) noexcept {
    return run_plan(plan, check_arrays("arrays", arrays, row_arrays_size), [&](const dr::RowPlan& p) {
        return dr::run(p, as_arrays(*arrays), workspace, dr::Stream(stream));
    });
}
detreduce_status detreduce_run_rows_async(const detreduce_row_plan* plan, const detreduce_row_arrays* arrays,
                                          detreduce_stream stream) noexcept {
    return run_plan(plan, check_arrays("arrays", arrays, row_arrays_size), [&](const dr::RowPlan& p) {
        return dr::cuda::run_async(p, as_arrays(*arrays), dr::Stream(stream));
    });
}

void detreduce_cosine_request_init(detreduce_cosine_request* request, size_t struct_size) noexcept {
    set_defaults(request, struct_size, detreduce_cosine_request DETREDUCE_COSINE_REQUEST_INIT);
}
detreduce_status detreduce_make_cosine_plan(const detreduce_cosine_request* request,
                                            detreduce_cosine_plan* plan) noexcept {
    if (plan == nullptr) return null("plan");
    *plan = {};
    if (request == nullptr) return null("request");
    if (const detreduce_status bad = check_request(*request, cosine_request_size); !is_ok(bad)) return bad;
    if (request->reserved_word != 0) return invalid("reserved_word", "must be 0, as the initialiser sets it");
    return store(plan, dr::make_cosine_plan(as_request(*request)));
}
detreduce_status detreduce_cosine_plan_status(const detreduce_cosine_plan* plan) noexcept {
    return of_plan<detreduce_cosine_plan>(plan_of(plan).status());
}
size_t detreduce_cosine_plan_workspace_bytes(const detreduce_cosine_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::CosinePlan& p) { return p.workspace_bytes(); });
}
detreduce_status detreduce_run_cosine(const detreduce_cosine_plan* plan, const void* x, const void* y, void* out,
                                      void* workspace, detreduce_stream stream) noexcept {
    return run_plan(plan, as_c({}),
                    [&](const dr::CosinePlan& p) { return dr::run(p, x, y, out, workspace, dr::Stream(stream)); });
}
detreduce_status detreduce_run_cosine_gradient(const detreduce_cosine_plan* plan, const void* x, const void* y,
                                               const void* upstream, void* dx, void* workspace,
                                               detreduce_stream stream) noexcept {
    return run_plan(plan, as_c({}), [&](const dr::CosinePlan& p) {
        return dr::run_gradient(p, x, y, upstream, dx, workspace, dr::Stream(stream));
    });
}

const char* detreduce_channel_norm_name(detreduce_channel_norm norm) noexcept {
    return dr::name(as<dr::ChannelNorm>(norm)).data();
}
detreduce_channel_norm detreduce_parse_channel_norm(const char* text) noexcept {
    return parsed<dr::ChannelNorm>(text);
}
void detreduce_channel_norm_request_init(detreduce_channel_norm_request* request, size_t struct_size) noexcept {
    set_defaults(request, struct_size, detreduce_channel_norm_request DETREDUCE_CHANNEL_NORM_REQUEST_INIT);
}
detreduce_status detreduce_make_channel_norm_plan(const detreduce_channel_norm_request* request,
                                                  detreduce_channel_norm_plan* plan) noexcept {
    if (plan == nullptr) return null("plan");
    *plan = {};
    if (request == nullptr) return null("request");
    if (const detreduce_status bad = check_request(*request, channel_norm_request_size); !is_ok(bad)) return bad;
    if (request->reserved_word != 0) return invalid("reserved_word", "must be 0, as the initialiser sets it");
    return store(plan, dr::make_channel_norm_plan(as_request(*request)));
}
detreduce_status detreduce_channel_norm_plan_status(const detreduce_channel_norm_plan* plan) noexcept {
    return of_plan<detreduce_channel_norm_plan>(plan_of(plan).status());
}
uint64_t detreduce_channel_norm_plan_statistics(const detreduce_channel_norm_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::ChannelNormPlan& p) { return p.statistics(); });
}
size_t detreduce_channel_norm_plan_workspace_bytes(const detreduce_channel_norm_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::ChannelNormPlan& p) { return p.workspace_bytes(); });
}
size_t detreduce_channel_norm_plan_gradient_workspace_bytes(const detreduce_channel_norm_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::ChannelNormPlan& p) { return p.gradient_workspace_bytes(); });
}
detreduce_status detreduce_run_channel_norm(const detreduce_channel_norm_plan* plan,
                                            const detreduce_channel_norm_arrays* arrays, void* workspace,
                                            detreduce_stream stream) noexcept {
    return run_plan(plan, check_arrays("arrays", arrays, channel_norm_arrays_size), [&](const dr::ChannelNormPlan& p) {
        return dr::run(p, as_arrays(*arrays), workspace, dr::Stream(stream));
    });
}
detreduce_status detreduce_run_channel_norm_gradient(const detreduce_channel_norm_plan* plan,
                                                     const detreduce_channel_norm_arrays* arrays, void* workspace,
                                                     detreduce_stream stream) noexcept {
    return run_plan(plan, check_arrays("arrays", arrays, channel_norm_arrays_size), [&](const dr::ChannelNormPlan& p) {
        return dr::run_gradient(p, as_arrays(*arrays), workspace, dr::Stream(stream));
    });
}

void detreduce_distillation_request_init(detreduce_distillation_request* request, size_t struct_size) noexcept {
    set_defaults(request, struct_size, detreduce_distillation_request DETREDUCE_DISTILLATION_REQUEST_INIT);
}
detreduce_status detreduce_make_distillation_plan(const detreduce_distillation_request* request,
                                                  detreduce_distillation_plan* plan) noexcept {
    if (plan == nullptr) return null("plan");
    *plan = {};
    if (request == nullptr) return null("request");
    if (const detreduce_status bad = check_request(*request, distillation_request_size); !is_ok(bad)) return bad;
    return store(plan, dr::make_distillation_plan(as_request(*request)));
}
detreduce_status detreduce_distillation_plan_status(const detreduce_distillation_plan* plan) noexcept {
    return of_plan<detreduce_distillation_plan>(plan_of(plan).status());
}
size_t detreduce_distillation_plan_workspace_bytes(const detreduce_distillation_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::DistillationPlan& p) { return p.workspace_bytes(); });
}
detreduce_status detreduce_run_distillation(const detreduce_distillation_plan* plan, const void* x, const void* y,
                                            void* out, void* workspace, detreduce_stream stream) noexcept {
    return run_plan(plan, as_c({}), [&](const dr::DistillationPlan& p) {
        return dr::run(p, x, y, out, workspace, dr::Stream(stream));
    });
}
detreduce_status detreduce_run_distillation_gradient(const detreduce_distillation_plan* plan, const void* x,
                                                     const void* y, const void* upstream, void* dx, void* workspace,
                                                     detreduce_stream stream) noexcept {
    return run_plan(plan, as_c({}), [&](const dr::DistillationPlan& p) {
        return dr::run_gradient(p, x, y, upstream, dx, workspace, dr::Stream(stream));
    });
}

detreduce_status detreduce_make_clip_plan(const detreduce_clip_request* request, detreduce_clip_plan* plan) noexcept {
    if (plan == nullptr) return null("plan");
    *plan = {};
    if (request == nullptr) return null("request");
    if (const detreduce_status bad = check_request(*request, clip_request_size); !is_ok(bad)) return bad;
    if (request->reserved_word != 0) return invalid("reserved_word", "must be 0, as the initialiser sets it");
    return store(plan, dr::make_clip_plan(as_request(*request)));
}
detreduce_status detreduce_clip_plan_status(const detreduce_clip_plan* plan) noexcept {
    return of_plan<detreduce_clip_plan>(plan_of(plan).status());
}
size_t detreduce_clip_plan_workspace_bytes(const detreduce_clip_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::ClipPlan& p) { return p.workspace_bytes(); });
}

detreduce_status detreduce_run_clip(const detreduce_clip_plan* plan, const detreduce_tensor* list, void* norm_out,
                                    void* workspace, detreduce_stream stream) noexcept {
    const std::uint64_t tensors = of_good_plan(plan, [](const dr::ClipPlan& p) { return p.request().tensors; });
    return run_plan(plan, as_c(check_reserved("list", list, tensors)), [&](const dr::ClipPlan& p) {
        // Lists of tensors are handed on as they are (plans.cpp checks that they may be).
        return dr::run(p, reinterpret_cast<const dr::Tensor*>(list), norm_out, workspace, dr::Stream(stream));
    });
}

} // extern "C"
