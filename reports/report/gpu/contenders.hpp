// What is timed: the read-only kernel, CUB and the library's own methods, each as something to
// launch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <detreduce/accuracy/study.hpp>
#include <detreduce/plan.hpp>

#include "cuda_check.hpp"

namespace detreduce::report::gpu {

struct Contender {
    std::string name, variant;
    /// Queues one pass over the n elements at `x`; throws program::Failure when it cannot.
    std::function<void(const void* x, cudaStream_t stream)> launch;
    /// Where on the device it leaves its result, and how many elements of f32 that is; null where
    /// nobody asks.
    const float* result = nullptr;
    std::uint64_t results = 0;
};

/// The read-only pass in every launch configuration that is tried; the fastest is the yardstick.
[[nodiscard]] std::vector<Contender> read_contenders(DType dtype, std::uint64_t n);

[[nodiscard]] Contender cub_contender(DType dtype, std::uint64_t n);

/// `op` of n elements in all: an op of two inputs takes one half of them as x and the other as y,
/// so that what is read is the same. Nothing when the device or the library does not offer that
/// method or launch.
[[nodiscard]] std::optional<Contender> method_contender(Method method, DType dtype, std::uint64_t n,
                                                        const Launch& launch, std::string variant, Op op = Op::sum);

/// A reduction of somebody's own, which has to outlive this.
[[nodiscard]] Contender own_contender(const accuracy::OwnReduction& own, std::uint64_t n);

/// Queues it. Throws program::Failure, with its name, when it throws or gives an error.
void launch_own(const accuracy::OwnReduction& own, const void* x, std::uint64_t n, void* out, void* workspace,
                cudaStream_t stream);

enum class ShapeSet : std::uint8_t {
    and_small, ///< all, and a list of tensors whose sizes do not depend on n, which is large
    all,
    few, ///< one of each shape
};
/// Reductions of rows, columns and segments, and norms of lists of tensors, made of n elements, and
/// CUB's algorithms for sums and argmax of them.
[[nodiscard]] std::vector<Contender> shape_contenders(DType dtype, std::uint64_t n, const std::vector<Method>& methods,
                                                      ShapeSet set = ShapeSet::and_small);

/// thrust::reduce of f32, or of f64; it makes the host wait.
[[nodiscard]] Contender thrust_contender(DType dtype, std::uint64_t n);

/// cuBLAS' asum, dot of two halves, and nrm2, of n elements of f32, or of f64; the variant is the
/// op. Empty, with the reason, where this machine has no cuBLAS or the build knew none.
[[nodiscard]] std::vector<Contender> cublas_contenders(DType dtype, std::uint64_t n, std::string& why_not);

/// cub::DeviceReduce::Sum of f32 with each of its determinism levels, which allocates for itself.
/// Empty in a build without DETREDUCE_CCCL_DIR.
struct CubLevel {
    std::string name, guarantee;
    Contender contender;
};
[[nodiscard]] std::vector<CubLevel> cub_levels(std::uint64_t n);

/// A copy of n elements, and softmax of rows of `length` elements.
[[nodiscard]] Contender copy_contender(DType dtype, std::uint64_t n);
[[nodiscard]] Contender softmax_contender(DType dtype, std::uint64_t n, std::uint64_t length);

/// Row ops and losses, of n elements, and a copy of them.
[[nodiscard]] std::vector<Contender> row_op_contenders(DType dtype, std::uint64_t n);

} // namespace detreduce::report::gpu
