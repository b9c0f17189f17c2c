// Input data in device memory, handed out in turns so that nothing a timed call reads is still in the L2 cache.
#pragma once

#include <cstdint>

#include <detreduce/types.hpp>

#include "cuda_check.hpp"

namespace detreduce::report::gpu {

class Pool {
  public:
    /// `bytes` of uniform random numbers in [−1, 1) of `dtype`, a function of (seed, position).
    Pool(std::size_t bytes, DType dtype, std::uint64_t seed);

    /// The next `bytes` of a window of the pool that holds at least two slices and four times the L2 cache.
    [[nodiscard]] const void* next(std::size_t bytes);

    /// Pool size that next(largest) needs.
    [[nodiscard]] static std::size_t bytes_for(std::size_t largest);

  private:
    DeviceMemory memory_;
    std::size_t size_, at_ = 0;
};

} // namespace detreduce::report::gpu
