// transform_reduce on the GPU behind calls that name no function, so that nvcc compiles the kernels
// and nothing of the tests.
#pragma once

#include <detreduce/transform_reduce.hpp>

namespace detreduce::proptests {

/// What the tests' function may be given: two inputs of f32, one of f16 and f64. All of both, and
/// bf16, would take three times as long to compile.
template <class T>
inline constexpr int gpu_inputs = fp::is_f32<T> ? 2 : 1;

/// A call; f points to a TermFunction for elements of T, x, y, out and workspace to device memory.
template <class T>
struct GpuTransform {
    DType output; ///< unless it is a state (TransformOptions::state)
    const void* f;
    const T *x, *y;
    std::uint64_t n;
    void* out;
    TransformOptions options = {};
    Stream stream = nullptr;

    Status workspace(std::size_t& bytes) const;
    Status run(void* workspace) const;
    Status run_without_workspace() const;
};

} // namespace detreduce::proptests
