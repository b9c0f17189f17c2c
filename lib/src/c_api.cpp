// The C header: words to enumerators, plans and states to the classes they stand for.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

#include <detreduce/detreduce.h>
#include <detreduce/detreduce.hpp>

#include "check_pointer.hpp"

namespace dr = detreduce;

namespace {

template <class Enum>
constexpr bool is(std::int32_t value, Enum word) {
    return value == static_cast<std::int32_t>(word);
}

// One list of words in two languages: a new enumerator needs its line in detreduce.h.
#define DETREDUCE_CHECK(name, c_name) static_assert(is(DETREDUCE_OP_##c_name, dr::Op::name));
DETREDUCE_OPS(DETREDUCE_CHECK)
#undef DETREDUCE_CHECK
#define DETREDUCE_CHECK(name, c_name) static_assert(is(DETREDUCE_METHOD_##c_name, dr::Method::name));
DETREDUCE_METHODS(DETREDUCE_CHECK)
#undef DETREDUCE_CHECK
#define DETREDUCE_CHECK(name, c_name) static_assert(is(DETREDUCE_SHAPE_##c_name, dr::Shape::name));
DETREDUCE_SHAPES(DETREDUCE_CHECK)
#undef DETREDUCE_CHECK
#define DETREDUCE_CHECK(name, c_name, type) static_assert(is(DETREDUCE_DTYPE_##c_name, dr::DType::name));
DETREDUCE_FORMATS(DETREDUCE_CHECK)
#undef DETREDUCE_CHECK
static_assert(is(DETREDUCE_SCHEDULE_AUTOMATIC, dr::Schedule::automatic) &&
              is(DETREDUCE_SCHEDULE_TWO_PASS, dr::Schedule::two_pass) &&
              is(DETREDUCE_SCHEDULE_LAST_BLOCK, dr::Schedule::last_block) &&
              is(DETREDUCE_SCHEDULE_COOPERATIVE, dr::Schedule::cooperative));
static_assert(is(DETREDUCE_NAN_PROPAGATE, dr::NanPolicy::propagate) && is(DETREDUCE_NAN_IGNORE, dr::NanPolicy::ignore));
static_assert(is(DETREDUCE_BACKEND_CPU, dr::Backend::cpu) && is(DETREDUCE_BACKEND_CUDA, dr::Backend::cuda));
static_assert(is(DETREDUCE_ISA_AUTOMATIC, dr::Isa::automatic) && is(DETREDUCE_ISA_BASELINE, dr::Isa::baseline) &&
              is(DETREDUCE_ISA_AVX2, dr::Isa::avx2) && is(DETREDUCE_ISA_AVX512, dr::Isa::avx512) &&
              is(DETREDUCE_ISA_NEON, dr::Isa::neon));
static_assert(is(DETREDUCE_GUARANTEE_NONE, dr::Guarantee::none) &&
              is(DETREDUCE_GUARANTEE_RUN_TO_RUN, dr::Guarantee::run_to_run) &&
              is(DETREDUCE_GUARANTEE_DEVICE, dr::Guarantee::device) &&
              is(DETREDUCE_GUARANTEE_ORDER, dr::Guarantee::order));
static_assert(is(DETREDUCE_STATE_MERGE_SUM, dr::StateMerge::sum) &&
              is(DETREDUCE_STATE_MERGE_MAX, dr::StateMerge::max) &&
              is(DETREDUCE_STATE_MERGE_PAIR, dr::StateMerge::pair));
static_assert(is(DETREDUCE_OK, dr::StatusCode::ok) &&
              is(DETREDUCE_INVALID_ARGUMENT, dr::StatusCode::invalid_argument) &&
              is(DETREDUCE_UNSUPPORTED, dr::StatusCode::unsupported) &&
              is(DETREDUCE_NO_DEVICE, dr::StatusCode::no_device) &&
              is(DETREDUCE_CUDA_ERROR, dr::StatusCode::cuda_error) &&
              is(DETREDUCE_OUT_OF_MEMORY, dr::StatusCode::out_of_memory));

static_assert(DETREDUCE_NO_ELEMENT == dr::Status::no_element);
static_assert(sizeof(detreduce_request) == 144 && sizeof(detreduce_plan) == 256 && sizeof(detreduce_launch) == 32);
static_assert(sizeof(detreduce_state) == sizeof(dr::ExactState) && alignof(detreduce_state) == alignof(dr::ExactState));
static_assert(DETREDUCE_STATE_WORDS == dr::ExactState::word_count &&
              DETREDUCE_STATE_SERIALIZED_BYTES == dr::ExactState::serialized_bytes);
// Lists of tensors are handed on as they are.
static_assert(sizeof(detreduce_tensor) == sizeof(dr::Tensor) &&
              offsetof(detreduce_tensor, data) == offsetof(dr::Tensor, data) &&
              offsetof(detreduce_tensor, n) == offsetof(dr::Tensor, n) &&
              offsetof(detreduce_tensor, dtype) == offsetof(dr::Tensor, dtype) && sizeof(dr::DType) == 1);

/// What is in a detreduce_plan. The mark tells it from memory that make_plan() has not written.
struct Stored {
    std::uint64_t mark;
    dr::Plan plan;
};
static_assert(std::is_trivially_copyable_v<Stored> && sizeof(Stored) <= sizeof(detreduce_plan) &&
              alignof(Stored) <= alignof(detreduce_plan));
constexpr std::uint64_t plan_mark = 0x316e616c70746564u;

/// The enumerator of a word; of one that has none, 255, which never has a name: nothing may wrap around to a valid one.
template <class Enum>
Enum as(std::int32_t word) {
    return static_cast<Enum>(word >= 0 && word < 255 ? word : 255);
}

detreduce_status as_c(const dr::Status& s) {
    return {static_cast<detreduce_status_code>(s.code), s.argument, s.allowed, s.cuda_code, s.index, {}};
}
detreduce_status invalid(const char* argument, const char* allowed) {
    return {DETREDUCE_INVALID_ARGUMENT, argument, allowed, 0, DETREDUCE_NO_ELEMENT, {}};
}
detreduce_status null(const char* argument) {
    return invalid(argument, "must not be null");
}

template <class T, std::size_t N>
bool are_zero(const T (&reserved)[N]) {
    return std::all_of(reserved, reserved + N, [](T r) { return r == 0; });
}

dr::Launch as_launch(const detreduce_launch& l) {
    return {as<dr::Schedule>(l.schedule), l.grid, l.block, l.threads, as<dr::Isa>(l.isa)};
}

dr::Device as_device(const detreduce_device& d) {
    return {as<dr::Backend>(d.backend), d.index};
}

dr::Request as_request(const detreduce_request& r) {
    dr::Request request{.op = as<dr::Op>(r.op),
                        .method = as<dr::Method>(r.method),
                        .dtype = as<dr::DType>(r.dtype),
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
                        .first_index = r.first_index};
    if (r.output != DETREDUCE_DTYPE_OF_INPUT) request.output = as<dr::DType>(r.output);
    return request;
}

/// The plan at `plan`; one that says that it must be made, if it was not.
dr::Plan plan_of(const detreduce_plan* plan) {
    Stored stored{};
    if (plan != nullptr) std::memcpy(static_cast<void*>(&stored), plan, sizeof stored);
    return stored.mark == plan_mark ? stored.plan : dr::Plan();
}

/// `status`, which calls what makes a plan by its name in C++, with its name in C.
detreduce_status of_plan(const dr::Status& status) {
    if (std::strcmp(status.argument, "plan") == 0 && std::strcmp(status.allowed, dr::Plan().status().allowed) == 0)
        return invalid("plan", "must come from detreduce_make_plan()");
    return as_c(status);
}

/// The lists of tensors of a run, whose bytes for later are 0. Null and misaligned ones are for run() to refuse.
dr::Status check_reserved(const dr::Plan& plan, const char* argument, const void* at) {
    if (plan.request().shape != dr::Shape::tensors || at == nullptr || dr::misaligned(at, alignof(detreduce_tensor)))
        return {};
    const auto* const list = static_cast<const detreduce_tensor*>(at);
    for (std::uint64_t i = 0; i < plan.request().groups; ++i) {
        if (!are_zero(list[i].reserved)) return dr::invalid(argument, "the reserved bytes of a tensor must be 0", i);
    }
    return {};
}
/// run(plan, inputs) of a plan in C. `reads`: whether it reads lists of plans of this backend; else it refuses the plan.
template <class Run>
detreduce_status run_plan(const detreduce_plan* in_c, const dr::Inputs& in, bool (*reads)(dr::Backend),
                          const Run& run) {
    const dr::Plan plan = plan_of(in_c);
    if (plan.status().ok() && reads(plan.request().device.backend)) {
        if (const dr::Status bad = check_reserved(plan, "x", in.x); !bad.ok()) return as_c(bad);
        if (dr::info(plan.request().op).inputs == 2) { // else run() refuses it
            if (const dr::Status bad = check_reserved(plan, "y", in.y); !bad.ok()) return as_c(bad);
        }
    }
    return of_plan(run(plan, in));
}

/// What f says of a good plan, else 0.
template <class F>
auto of_good_plan(const detreduce_plan* plan, const F& f) -> decltype(f(dr::Plan())) {
    const dr::Plan p = plan_of(plan);
    return p.status().ok() ? f(p) : decltype(f(p)){};
}

// Names are literals, so their data() ends with a zero.
template <class Enum>
const char* name_of(std::int32_t word) {
    return dr::name(as<Enum>(word)).data();
}
template <class Enum>
std::int32_t parsed(std::optional<Enum> (*parse)(std::string_view) noexcept, const char* text) {
    const auto value = text != nullptr ? parse(text) : std::nullopt;
    return value ? static_cast<std::int32_t>(*value) : DETREDUCE_UNKNOWN;
}
constexpr const char* backend_names[] = {"cpu", "cuda"};

/// One op of host arrays.
detreduce_status on_cpu(dr::Request request, const void* x, const void* y, void* out) {
    request.device = dr::cpu;
    return as_c(dr::run(dr::make_plan(request), {x, y}, out));
}
template <class T>
detreduce_status sum_op(dr::Op op, const T* x, const T* y, std::uint64_t n, detreduce_method method, T* out) {
    return on_cpu({.op = op, .method = as<dr::Method>(method), .dtype = dr::dtype_of<T>, .n = n}, x, y, out);
}
template <class T>
detreduce_status order_op(dr::Op op, const T* x, std::uint64_t n, detreduce_nan_policy nan, void* out) {
    return on_cpu({.op = op, .dtype = dr::dtype_of<T>, .n = n, .nan = as<dr::NanPolicy>(nan)}, x, nullptr, out);
}

// States are copied in and out, for the two types are two as far as C++ is concerned.
dr::ExactState state_of(const detreduce_state& state) {
    dr::ExactState s;
    std::memcpy(s.words().data(), &state, sizeof state);
    return s;
}
void put(detreduce_state& to, const dr::ExactState& state) {
    std::memcpy(&to, state.words().data(), sizeof to);
}
/// f(state) on the state at `state`.
template <class F>
detreduce_status change(detreduce_state* state, const F& f) {
    if (state == nullptr) return null("state");
    dr::ExactState s = state_of(*state);
    const dr::Status status = f(s);
    put(*state, s); // what fails leaves it as it was, or beyond its headroom
    return as_c(status);
}
// On the device there is only memory.
dr::ExactState* on_device(detreduce_state* state) {
    return reinterpret_cast<dr::ExactState*>(state);
}
const dr::ExactState* on_device(const detreduce_state* state) {
    return reinterpret_cast<const dr::ExactState*>(state);
}

} // namespace

extern "C" {

const char* detreduce_status_name(detreduce_status_code code) noexcept {
    return dr::name(static_cast<dr::StatusCode>(code)).data();
}

size_t detreduce_status_message(const detreduce_status* status, char* text, size_t size) noexcept {
    if (text != nullptr && size > 0) *text = '\0';
    if (status == nullptr) return 0;
    const char *const name = detreduce_status_name(status->code),
                      *const argument = status->argument ? status->argument : "",
                      *const allowed = status->allowed ? status->allowed : "";
    if (text == nullptr) size = 0;
    int length = 0;
    if (status->code == DETREDUCE_OK) {
        length = std::snprintf(text, size, "%s", name);
    } else if (status->code == DETREDUCE_CUDA_ERROR) {
        length =
            std::snprintf(text, size, "%s %d in %s: %s", name, static_cast<int>(status->cuda_error), argument, allowed);
    } else if (status->index == DETREDUCE_NO_ELEMENT) {
        length = std::snprintf(text, size, "%s '%s': %s", name, argument, allowed);
    } else {
        length = std::snprintf(text, size, "%s '%s[%" PRIu64 "]': %s", name, argument, status->index, allowed);
    }
    return length < 0 ? 0 : static_cast<size_t>(length);
}

const char* detreduce_op_name(detreduce_op op) noexcept {
    return name_of<dr::Op>(op);
}
const char* detreduce_method_name(detreduce_method method) noexcept {
    return name_of<dr::Method>(method);
}
const char* detreduce_dtype_name(detreduce_dtype dtype) noexcept {
    return name_of<dr::DType>(dtype);
}
const char* detreduce_shape_name(detreduce_shape shape) noexcept {
    return name_of<dr::Shape>(shape);
}
const char* detreduce_schedule_name(detreduce_schedule schedule) noexcept {
    return name_of<dr::Schedule>(schedule);
}
const char* detreduce_nan_policy_name(detreduce_nan_policy nan) noexcept {
    return name_of<dr::NanPolicy>(nan);
}
const char* detreduce_backend_name(detreduce_backend backend) noexcept {
    return backend == DETREDUCE_BACKEND_CPU || backend == DETREDUCE_BACKEND_CUDA ? backend_names[backend] : "?";
}

detreduce_op detreduce_parse_op(const char* text) noexcept {
    return parsed(dr::parse_op, text);
}
detreduce_method detreduce_parse_method(const char* text) noexcept {
    return parsed(dr::parse_method, text);
}
detreduce_dtype detreduce_parse_dtype(const char* text) noexcept {
    return parsed(dr::parse_dtype, text);
}
detreduce_shape detreduce_parse_shape(const char* text) noexcept {
    return parsed(dr::parse_shape, text);
}
detreduce_schedule detreduce_parse_schedule(const char* text) noexcept {
    return parsed(dr::parse_schedule, text);
}
detreduce_nan_policy detreduce_parse_nan_policy(const char* text) noexcept {
    return parsed(dr::parse_nan_policy, text);
}
detreduce_backend detreduce_parse_backend(const char* text) noexcept {
    for (std::int32_t b = 0; text != nullptr && b < 2; ++b) {
        if (std::strcmp(text, backend_names[b]) == 0) return b;
    }
    return DETREDUCE_UNKNOWN;
}

size_t detreduce_dtype_bytes(detreduce_dtype dtype) noexcept {
    return dr::size_of(as<dr::DType>(dtype));
}

const char* detreduce_version(void) noexcept {
    return dr::version;
}
int32_t detreduce_spec_version(void) noexcept {
    return dr::spec_version;
}
int32_t detreduce_built_with_cuda(void) noexcept {
    return dr::cuda::built_with_cuda();
}
int32_t detreduce_cuda_device_count(void) noexcept {
    try {
        return static_cast<std::int32_t>(dr::cuda::devices().size());
    } catch (...) { // out of memory: then none is of use
        return 0;
    }
}

void detreduce_request_init(detreduce_request* request, size_t struct_size) noexcept {
    if (request == nullptr || struct_size < sizeof struct_size) return;
    detreduce_request defaults = DETREDUCE_REQUEST_INIT;
    defaults.struct_size = struct_size;
    std::memset(request, 0, struct_size);
    std::memcpy(request, &defaults, std::min(struct_size, sizeof defaults));
}

detreduce_status detreduce_make_plan(const detreduce_request* request, detreduce_plan* plan) noexcept {
    if (plan == nullptr) return null("plan");
    *plan = {};
    if (request == nullptr) return null("request");
    if (request->struct_size != sizeof *request)
        return invalid("struct_size", "must be sizeof(detreduce_request), which detreduce_request_init() and "
                                      "DETREDUCE_REQUEST_INIT set; a larger one needs a newer library");
    if (!are_zero(request->reserved)) return invalid("reserved", "must be 0, as detreduce_request_init() sets it");
    if (!are_zero(request->launch.reserved))
        return invalid("launch.reserved", "must be 0, as detreduce_request_init() sets it");
    if (request->each > 1) return invalid("each", "allowed are 0 and 1; detreduce_request_init() sets every field");
    if (request->state > 1) return invalid("state", "allowed are 0 and 1; detreduce_request_init() sets every field");
    const Stored stored{plan_mark, dr::make_plan(as_request(*request))};
    std::memcpy(plan, &stored, sizeof stored);
    return as_c(stored.plan.status());
}

detreduce_status detreduce_plan_status(const detreduce_plan* plan) noexcept {
    return of_plan(plan_of(plan).status());
}
size_t detreduce_plan_workspace_bytes(const detreduce_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::Plan& p) { return p.workspace_bytes(); });
}
uint64_t detreduce_plan_results(const detreduce_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::Plan& p) { return p.results(); });
}
size_t detreduce_plan_result_bytes(const detreduce_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::Plan& p) { return p.result_bytes(); });
}
detreduce_dtype detreduce_plan_output(const detreduce_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::Plan& p) { return static_cast<detreduce_dtype>(p.output()); });
}
detreduce_guarantee detreduce_plan_guarantee(const detreduce_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::Plan& p) { return static_cast<detreduce_guarantee>(p.guarantee()); });
}
detreduce_method detreduce_plan_method(const detreduce_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::Plan& p) { return static_cast<detreduce_method>(p.request().method); });
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
    return of_good_plan(plan, [](const dr::Plan& p) { return p.state_words(); });
}
detreduce_state_merge_kind detreduce_plan_state_merge(const detreduce_plan* plan) noexcept {
    return of_good_plan(plan, [](const dr::Plan& p) {
        return p.request().state ? static_cast<detreduce_state_merge_kind>(dr::state_merge(p)) : 0;
    });
}
detreduce_status detreduce_states_merge(const detreduce_plan* plan, int64_t* states, const int64_t* others) noexcept {
    return of_plan(dr::merge(plan_of(plan), states, others));
}
detreduce_status detreduce_states_normalize(const detreduce_plan* plan, int64_t* states) noexcept {
    return of_plan(dr::normalize(plan_of(plan), states));
}
detreduce_status detreduce_states_finish(const detreduce_plan* plan, const int64_t* states, void* out) noexcept {
    return of_plan(dr::finish(plan_of(plan), states, out));
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

// The arrays of two types and the ops of each kind: one line an op, for what differs is its name.
// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot be in parentheses
#define DETREDUCE_ONE_INPUT(op, suffix, T)                                                                             \
    detreduce_status detreduce_##op##_##suffix(const T* x, uint64_t n, detreduce_method method, T* out) noexcept {     \
        return sum_op<T>(dr::Op::op, x, nullptr, n, method, out);                                                      \
    }
#define DETREDUCE_TWO_INPUTS(op, suffix, T)                                                                            \
    detreduce_status detreduce_##op##_##suffix(const T* x, const T* y, uint64_t n, detreduce_method method,            \
                                               T* out) noexcept {                                                      \
        return sum_op<T>(dr::Op::op, x, y, n, method, out);                                                            \
    }
#define DETREDUCE_ORDER(op, suffix, T, Out)                                                                            \
    detreduce_status detreduce_##op##_##suffix(const T* x, uint64_t n, detreduce_nan_policy nan, Out* out) noexcept {  \
        return order_op<T>(dr::Op::op, x, n, nan, out);                                                                \
    }
#define DETREDUCE_CALLS(suffix, T)                                                                                     \
    DETREDUCE_ONE_INPUT(sum, suffix, T)                                                                                \
    DETREDUCE_ONE_INPUT(mean, suffix, T)                                                                               \
    DETREDUCE_ONE_INPUT(asum, suffix, T)                                                                               \
    DETREDUCE_ONE_INPUT(sumsq, suffix, T)                                                                              \
    DETREDUCE_ONE_INPUT(nrm2, suffix, T)                                                                               \
    DETREDUCE_TWO_INPUTS(dot, suffix, T)                                                                               \
    DETREDUCE_TWO_INPUTS(sumdiffsq, suffix, T)                                                                         \
    DETREDUCE_TWO_INPUTS(mse, suffix, T)                                                                               \
    DETREDUCE_TWO_INPUTS(mae, suffix, T)                                                                               \
    DETREDUCE_ORDER(min, suffix, T, T)                                                                                 \
    DETREDUCE_ORDER(max, suffix, T, T)                                                                                 \
    DETREDUCE_ORDER(nrminf, suffix, T, T)                                                                              \
    DETREDUCE_ORDER(argmin, suffix, T, uint64_t)                                                                       \
    DETREDUCE_ORDER(argmax, suffix, T, uint64_t)
// NOLINTEND(bugprone-macro-parentheses)
DETREDUCE_CALLS(f32, float)
DETREDUCE_CALLS(f64, double)

void detreduce_state_init(detreduce_state* state) noexcept {
    if (state != nullptr) *state = {};
}

detreduce_status detreduce_state_add(detreduce_state* state, detreduce_dtype dtype, const void* x, uint64_t n,
                                     const detreduce_launch* launch) noexcept {
    if (launch != nullptr && !are_zero(launch->reserved)) return invalid("launch.reserved", "must be 0");
    return change(state, [&](dr::ExactState& s) {
        return s.add(as<dr::DType>(dtype), x, n, launch ? as_launch(*launch) : dr::Launch{});
    });
}
detreduce_status detreduce_state_merge(detreduce_state* state, const detreduce_state* term) noexcept {
    if (term == nullptr) return null("term");
    return change(state, [&](dr::ExactState& s) { return s.merge(state_of(*term)); });
}
detreduce_status detreduce_state_subtract(detreduce_state* state, const detreduce_state* term) noexcept {
    if (term == nullptr) return null("term");
    return change(state, [&](dr::ExactState& s) { return s.subtract(state_of(*term)); });
}
detreduce_status detreduce_state_normalize(detreduce_state* state) noexcept {
    return change(state, [](dr::ExactState& s) {
        s.normalize();
        return dr::Status{};
    });
}

detreduce_status detreduce_state_round(const detreduce_state* state, detreduce_dtype dtype, void* out) noexcept {
    if (state == nullptr) return null("state");
    const auto d = as<dr::DType>(dtype);
    if (!dr::is_dtype(d)) return invalid("dtype", dr::allowed_dtypes);
    if (out == nullptr) return null("out");
    if (const dr::Status bad = dr::check_alignment("out", out, d); !bad.ok()) return as_c(bad);
    const dr::ExactState s = state_of(*state);
    dr::with_dtype(d, [&]<class T>(T) { *static_cast<T*>(out) = s.round<T>(); });
    return as_c({});
}

int32_t detreduce_state_is_nan(const detreduce_state* state) noexcept {
    return state != nullptr && state_of(*state).is_nan();
}
int32_t detreduce_state_is_inf(const detreduce_state* state) noexcept {
    return state != nullptr && state_of(*state).is_infinite();
}
int32_t detreduce_state_equal(const detreduce_state* a, const detreduce_state* b) noexcept {
    return a != nullptr && b != nullptr && state_of(*a) == state_of(*b);
}
int64_t detreduce_state_count(const detreduce_state* state) noexcept {
    return state != nullptr ? state_of(*state).count() : 0;
}

detreduce_status detreduce_state_serialize(const detreduce_state* state, void* blob, size_t size) noexcept {
    if (state == nullptr) return null("state");
    if (blob == nullptr) return null("blob");
    if (size < DETREDUCE_STATE_SERIALIZED_BYTES) return invalid("size", "allowed are 616 bytes and more");
    const auto bytes = state_of(*state).serialize();
    std::memcpy(blob, bytes.data(), bytes.size());
    return as_c({});
}
detreduce_status detreduce_state_deserialize(const void* blob, size_t size, detreduce_state* state) noexcept {
    if (blob == nullptr) return null("blob");
    return change(state, [&](dr::ExactState& s) {
        return dr::ExactState::deserialize({static_cast<const std::byte*>(blob), size}, s);
    });
}

detreduce_status detreduce_cuda_state_add(detreduce_state* state, detreduce_dtype dtype, const void* x, uint64_t n,
                                          detreduce_stream stream) noexcept {
    return as_c(dr::cuda::add(on_device(state), as<dr::DType>(dtype), x, n, dr::Stream(stream)));
}
detreduce_status detreduce_cuda_state_merge(detreduce_state* state, const detreduce_state* term,
                                            detreduce_stream stream) noexcept {
    return as_c(dr::cuda::merge(on_device(state), on_device(term), dr::Stream(stream)));
}
detreduce_status detreduce_cuda_state_round(const detreduce_state* state, detreduce_dtype dtype, void* out,
                                            detreduce_stream stream) noexcept {
    return as_c(dr::cuda::round(on_device(state), as<dr::DType>(dtype), out, dr::Stream(stream)));
}

} // extern "C"
