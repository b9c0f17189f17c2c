// transform_reduce on the GPU, to be included from code that nvcc compiles (C++20, CUDA 12 or
// newer): the library's own kernels, with the caller's function inside them.
#pragma once

#if !defined(__CUDACC__)
#error "detreduce: transform_reduce.cuh holds kernels; include it from a .cu file that nvcc compiles"
#endif
#if !__has_include(<detreduce/kernels/transform/launch.cuh>)
#error "detreduce: this detreduce was built without CUDA (DETREDUCE_CUDA=OFF), so it has no transform_reduce.cuh"
#endif

#include <detreduce/transform_reduce.hpp>

#include <detreduce/kernels/transform/launch.cuh>

#include <detreduce/kernels/sequence/upper.cuh>

namespace detreduce::cuda {

/// What transform_run() needs: sizes, options and device, checked once. A plain value, as Plan is.
///
/// T            type of the elements: float16, bfloat16 (layout of __half, __nv_bfloat16), float,
///              double
/// Out          that of the result, also float8_e4m3 and float8_e5m2 (exact); std::int64_t of a
///              state (TransformOptions::state)
template <Element T, TermResult Out = T>
class TransformPlan {
    static_assert(!fp::has_8_bits<T>, "elements of 8 bits are transformed on the CPU only");

  public:
    /// For n elements. For a device given by its index, or -1 for the current one, this reads a few
    /// cached attributes of the device; it does not create work on any stream. errors: see
    /// status().
    explicit TransformPlan(std::uint64_t n, const TransformOptions& options = {}, int device = -1) noexcept
        : checked_(
              detail::plan_transform(dtype_of<T>, detail::dtype_of_out<Out>, n, options, {Backend::cuda, device})) {
        if (const Status bad = detail::check_state_out<Out>(options); !bad.ok()) checked_.status = bad;
    }

    /// invalid_argument and unsupported, as make_plan(), and `method`, `finalize`,
    /// `launch.schedule`, `launch.block` for what transform_reduce has not
    [[nodiscard]] const Status& status() const noexcept { return checked_.status; }
    /// Bytes of device memory, aligned to 256, that transform_run() needs.
    [[nodiscard]] std::size_t workspace_bytes() const noexcept { return checked_.plan.workspace_bytes(); }
    /// Sums or means of elements of the same size, method and device have this plan: not for run(),
    /// which knows no function.
    [[nodiscard]] const Plan& plan() const noexcept { return checked_.plan; }

  private:
    detail::CheckedPlan checked_;
};

namespace transform {

template <int Inputs, class T, class Out, class F>
Status run(const TransformPlan<T, Out>& plan, const F& f, const T* x, const T* y, Out* out, void* workspace,
           Stream stream) noexcept {
    if (!plan.status().ok()) return plan.status();
    const Plan& p = plan.plan();
    if (const Status bad = detail::check_transform(p, Inputs, x, y, out, workspace); !bad.ok()) return bad;
    const DeviceScope scope(p.request().device.index);
    if (!scope.status().ok()) return scope.status();
    if (p.request().n == 0) { // the sum, or the state, of nothing is zeros
        const std::size_t bytes = p.request().state ? p.state_words() * sizeof(std::int64_t) : sizeof(Out);
        return from_cuda("cudaMemsetAsync", cudaMemsetAsync(out, 0, bytes, stream));
    }
    return launch_transform<T, Inputs>(p, f, x, y, out, workspace, stream);
}

template <int Inputs, class T, class Out, class F>
Status run_async(const F& f, const T* x, const T* y, std::uint64_t n, Out* out, const TransformOptions& options,
                 Stream stream) noexcept {
    const TransformPlan<T, Out> plan(n, options);
    if (!plan.status().ok()) return plan.status();
    void* workspace = nullptr;
    if (plan.workspace_bytes() > 0) {
        const Status got = from_cuda("cudaMallocAsync", cudaMallocAsync(&workspace, plan.workspace_bytes(), stream));
        if (!got.ok()) return got;
    }
    const Status ran = run<Inputs>(plan, f, x, y, out, workspace, stream);
    const Status freed = workspace ? from_cuda("cudaFreeAsync", cudaFreeAsync(workspace, stream)) : Status{};
    return ran.ok() ? freed : ran;
}

} // namespace transform

/// The sum, or the mean, of the terms f(x[i]), or f(x[i], y[i]), of the plan's n elements at device
/// pointers x (and y), into device pointer `out`, enqueued on `stream` of the plan's device.
///
/// formula, shapes, dtypes, guarantee, error bound, NaN, empty: as transform_reduce() for host
/// memory, whose bits these are
/// flags        compile with --fmad=false and without --use_fast_math, as
///              detreduce::reproducible_fp does: nvcc otherwise contracts a * b + c in f, which
///              gives other bits than the CPU, and nothing can look for it here
/// f            trivially copyable; its operator() is __device__ (or __host__ __device__) and
///              const. Members come along by value, up to what a kernel's parameters hold
/// passes       one over x and y
/// workspace    plan.workspace_bytes() bytes of device memory, aligned to 256, private to this call
///              until it is done
/// stream       not synchronised, nothing allocated; may be captured in a graph. x, y, out and
///              workspace must not overlap, but for x and y
/// errors       the status of the plan; invalid_argument for a null or misaligned pointer;
///              cuda_error
template <Element T, TermResult Out, class F>
Status transform_run(const TransformPlan<T, Out>& plan, const F& f, const T* x, Out* out, void* workspace,
                     Stream stream = nullptr) noexcept {
    return transform::run<1>(plan, f, x, static_cast<const T*>(nullptr), out, workspace, stream);
}
template <Element T, TermResult Out, class F>
Status transform_run(const TransformPlan<T, Out>& plan, const F& f, const T* x, const T* y, Out* out, void* workspace,
                     Stream stream = nullptr) noexcept {
    return transform::run<2>(plan, f, x, y, out, workspace, stream);
}

/// The same on the current device with the workspace from the stream-ordered allocator
/// (cudaMallocAsync), freed in stream order.
template <Element T, TermResult Out, class F>
Status transform_reduce(const F& f, const T* x, std::uint64_t n, Out* out, const TransformOptions& options = {},
                        Stream stream = nullptr) noexcept {
    return transform::run_async<1>(f, x, static_cast<const T*>(nullptr), n, out, options, stream);
}
template <Element T, TermResult Out, class F>
Status transform_reduce(const F& f, const T* x, const T* y, std::uint64_t n, Out* out,
                        const TransformOptions& options = {}, Stream stream = nullptr) noexcept {
    return transform::run_async<2>(f, x, y, n, out, options, stream);
}

} // namespace detreduce::cuda
