// What is timed: the read-only kernel, CUB and the library's own methods, each as something to launch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <detreduce/plan.hpp>

#include "cuda_check.hpp"

namespace detreduce::report::gpu {

struct Contender {
    std::string name, variant;
    /// Queues one pass over the n elements at `x`; throws program::Failure when it cannot.
    std::function<void(const void* x, cudaStream_t stream)> launch;
};

/// The read-only pass in every launch configuration that is tried; the fastest is the yardstick.
[[nodiscard]] std::vector<Contender> read_contenders(DType dtype, std::uint64_t n);

[[nodiscard]] Contender cub_contender(DType dtype, std::uint64_t n);

/// `op` of n elements in all: an op of two inputs takes one half of them as x and the other as y, so that what is read is the same.
/// Nothing when the device or the library does not offer that method or launch.
[[nodiscard]] std::optional<Contender> method_contender(Method method, DType dtype, std::uint64_t n,
                                                        const Launch& launch, std::string variant, Op op = Op::sum);

/// Sums and argmax of rows, columns and segments, and norms of lists of tensors, made of n elements.
[[nodiscard]] std::vector<Contender> shape_contenders(DType dtype, std::uint64_t n, const std::vector<Method>& methods);

/// Row ops and losses, of n elements, and a copy of them.
[[nodiscard]] std::vector<Contender> row_op_contenders(DType dtype, std::uint64_t n);

} // namespace detreduce::report::gpu
