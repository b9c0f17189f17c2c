// The C header: ops of host arrays in one call, and exact states.
#include <detreduce/detreduce.hpp>

#include "c_api/shared.hpp"
#include "check_pointer.hpp"

namespace detreduce::c_api {
namespace {

static_assert(sizeof(detreduce_state) == sizeof(dr::ExactState) && alignof(detreduce_state) == alignof(dr::ExactState));
static_assert(DETREDUCE_STATE_WORDS == dr::ExactState::word_count &&
              DETREDUCE_STATE_SERIALIZED_BYTES == dr::ExactState::serialized_bytes);

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
} // namespace detreduce::c_api

using namespace detreduce::c_api;

extern "C" {

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
