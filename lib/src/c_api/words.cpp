// The C header: its words, which are those of C++, and what there is to say about the library and a
// status.
#include <cinttypes>
#include <cstdio>

#include <detreduce/detreduce.hpp>

#include "c_api/shared.hpp"

namespace detreduce::c_api {
namespace {

// One list of words in two languages: a new enumerator needs its line in c/words.h.
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

constexpr const char* backend_names[] = {"cpu", "cuda"};

} // namespace
} // namespace detreduce::c_api

using namespace detreduce::c_api;

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
    return parsed<dr::Op>(text);
}
detreduce_method detreduce_parse_method(const char* text) noexcept {
    return parsed<dr::Method>(text);
}
detreduce_dtype detreduce_parse_dtype(const char* text) noexcept {
    return parsed<dr::DType>(text);
}
detreduce_shape detreduce_parse_shape(const char* text) noexcept {
    return parsed<dr::Shape>(text);
}
detreduce_schedule detreduce_parse_schedule(const char* text) noexcept {
    return parsed<dr::Schedule>(text);
}
detreduce_nan_policy detreduce_parse_nan_policy(const char* text) noexcept {
    return parsed<dr::NanPolicy>(text);
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

} // extern "C"
