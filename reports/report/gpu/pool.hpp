// Input data in device memory, handed out in turns so that nothing a timed call reads is still in
// the L2 cache.
#pragma once

#include <cstdint>

#include <detreduce/types.hpp>

#include "cost_data.hpp"
#include "cuda_check.hpp"

namespace detreduce::report::gpu {

class Pool {
  public:
    /// Memory for slices of up to `largest` elements.
    Pool(DType dtype, std::uint64_t largest, std::uint64_t seed);

    /// Puts data of that kind into all that next() hands out until the next fill: slices of n
    /// elements, aligned to 512 bytes.
    void fill(Data data, std::uint64_t n);
    void fill(const Adversary& data, std::uint64_t n);

    /// The next slice of a window that holds at least two of them and four times the L2 cache.
    [[nodiscard]] const void* next();

    [[nodiscard]] DType dtype() const { return dtype_; }
    [[nodiscard]] std::uint64_t slice_elements() const { return n_; }

    /// Device memory that a pool for slices of that many bytes takes.
    [[nodiscard]] static std::size_t bytes_for(std::size_t largest);

  private:
    template <class Make>
    void fill_by(std::uint64_t n, const Make& make);

    DType dtype_;
    std::uint64_t seed_, n_ = 0;
    DeviceMemory memory_;
    std::size_t slice_ = 0, window_ = 0, at_ = 0; // bytes
};

} // namespace detreduce::report::gpu
