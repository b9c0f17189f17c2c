// Reductions of data in device memory, and what devices there are. Without CUDA in the build these
// report no_device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <detreduce/exact_state.hpp>
#include <detreduce/plan.hpp>

#pragma GCC visibility push(default)
namespace detreduce::cuda {

/// Sum of the n elements at device pointer `x` into device pointer `out`, enqueued on `stream` of
/// the current device.
///
/// formula, shapes, guarantee, error bound, passes, NaN and empty: as run()
/// dtypes       float16, bfloat16 (layout of __half, __nv_bfloat16), float, double; Out as
///              Request::output
/// workspace    from the stream-ordered allocator (cudaMallocAsync, cudaFreeAsync), freed in stream
///              order
/// stream       enqueued, not synchronised; may be captured in a graph
/// errors       the status of the plan or of run(); cuda_error, also on devices without memory
///              pools
template <class T, class Out>
Status sum(const T* x, std::uint64_t n, Out* out, Method method = Method::automatic, Stream stream = nullptr) noexcept;

/// `op` of the n elements at device pointers `x` and `y` (null for ops of one input) into device
/// pointer `out`: otherwise as sum(). Op minmax writes two elements. For argmin and argmax there is
/// arg(), for what counts count().
template <class T, class Out>
Status reduce(Op op, const T* x, const T* y, std::uint64_t n, Out* out, Method method = Method::automatic,
              Stream stream = nullptr) noexcept;

/// Mean and variance of the n elements at device pointer `x`, or what of them Op::variance,
/// Op::stddev or Op::moments gives, into device pointer `out`, which has room for two results of
/// Op::moments: otherwise as sum().
///
/// ddof         what is taken from n in the variance's divisor
/// errors       also invalid_argument for other ops
template <class T, class Out>
Status moments(Op op, const T* x, std::uint64_t n, Out* out, Method method = Method::automatic, std::uint64_t ddof = 0,
               Stream stream = nullptr) noexcept;

/// The index of an element that argmin or argmax finds among the n at device pointer `x`, into
/// device pointer `index`: otherwise as sum().
///
/// errors       also invalid_argument for other ops
template <class T>
Status arg(Op op, const T* x, std::uint64_t n, std::uint64_t* index, NanPolicy nan = NanPolicy::propagate,
           Stream stream = nullptr) noexcept;

/// How many of the n elements at device pointer `x` count_nonzero or count_unique counts, into
/// device pointer `result`: otherwise as sum().
///
/// errors       also invalid_argument for other ops
template <class T>
Status count(Op op, const T* x, std::uint64_t n, std::uint64_t* result, Stream stream = nullptr) noexcept;

/// run() with the workspace taken from the stream-ordered allocator; what the typed calls above are
/// made of. invalid_argument for a plan that was not made for a CUDA device.
Status run_async(const Plan& plan, Inputs in, void* out, Stream stream = nullptr) noexcept;

/// Adds the n elements at device pointer `x` to the state at device pointer `state`, which is
/// normalized afterwards.
///
/// shapes       x: n contiguous elements of `dtype`, aligned to the element; state: one ExactState,
///              aligned to 8 bytes, that holds zero bytes (the empty sum) or what a host or device
///              made
/// guarantee    the bytes of the state are those that ExactState::add gives on the host, also
///              beyond its headroom.
///              No Status says that here: is_beyond() of the state on the host does, and its sum is
///              NaN
/// workspace    none
/// stream       enqueued on `stream` of the current device, not synchronised, nothing allocated;
///              may be captured in a graph
/// errors       invalid_argument, no_device, cuda_error
/// source       lib/SPEC.md, section 7
Status add(ExactState* state, DType dtype, const void* x, std::uint64_t n, Stream stream = nullptr) noexcept;

/// Adds the state at device pointer `term` to that at device pointer `state`, which is normalized
/// afterwards. Otherwise as add().
Status merge(ExactState* state, const ExactState* term, Stream stream = nullptr) noexcept;

/// Rounds the state at device pointer `state` to one element of `dtype` at device pointer `out`.
/// The state stays. Otherwise as add().
Status round(const ExactState* state, DType dtype, void* out, Stream stream = nullptr) noexcept;

struct DeviceInfo {
    int index = 0;
    std::string name;
    int major = 0, minor = 0; ///< compute capability
    int multiprocessors = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t l2_bytes = 0;
    double peak_bytes_per_s = 0; ///< from the device's own properties; 0 when it does not tell
};

/// Was this library built with its CUDA backend?
[[nodiscard]] bool built_with_cuda() noexcept;

/// The usable devices; empty when there is none (`why`, if given, then says why).
[[nodiscard]] std::vector<DeviceInfo> devices(std::string* why = nullptr);

/// Versions as CUDA writes them (13000 is 13.0); 0 when there is none.
[[nodiscard]] int driver_version() noexcept;
[[nodiscard]] int runtime_version() noexcept;

template <class T, class Out>
Status reduce(Op op, const T* x, const T* y, std::uint64_t n, Out* out, Method method, Stream stream) noexcept {
    if (info(op).results != 1)
        return {StatusCode::invalid_argument, "op",
                "allowed are ops of one result; for minmax run_async() takes a plan, for moments there is moments()"};
    const Request request{.op = op, .method = method, .dtype = dtype_of<T>, .output = dtype_of<Out>, .n = n};
    return run_async(make_plan(request), {x, y}, out, stream);
}

template <class T, class Out>
Status moments(Op op, const T* x, std::uint64_t n, Out* out, Method method, std::uint64_t ddof,
               Stream stream) noexcept {
    if (info(op).kind != Kind::moments)
        return {StatusCode::invalid_argument, "op", "allowed are variance, stddev and moments"};
    const Request request{
        .op = op, .method = method, .dtype = dtype_of<T>, .output = dtype_of<Out>, .n = n, .ddof = ddof};
    return run_async(make_plan(request), x, out, stream);
}

template <class T>
Status arg(Op op, const T* x, std::uint64_t n, std::uint64_t* index, NanPolicy nan, Stream stream) noexcept {
    if (op != Op::argmin && op != Op::argmax)
        return {StatusCode::invalid_argument, "op", "allowed are argmin and argmax"};
    return run_async(make_plan({.op = op, .dtype = dtype_of<T>, .n = n, .nan = nan}), x, index, stream);
}

template <class T>
Status count(Op op, const T* x, std::uint64_t n, std::uint64_t* result, Stream stream) noexcept {
    if (info(op).kind != Kind::count)
        return {StatusCode::invalid_argument, "op", "allowed are count_nonzero and count_unique"};
    return run_async(make_plan({.op = op, .dtype = dtype_of<T>, .n = n}), x, result, stream);
}

template <class T, class Out>
Status sum(const T* x, std::uint64_t n, Out* out, Method method, Stream stream) noexcept {
    return reduce(Op::sum, x, static_cast<const T*>(nullptr), n, out, method, stream);
}

} // namespace detreduce::cuda
#pragma GCC visibility pop
