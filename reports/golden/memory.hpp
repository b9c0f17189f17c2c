// Memory where calls are made: of the CPU here, of a GPU where the CUDA runtime is linked.
#pragma once

#include <cstddef>
#include <memory>

#include <detreduce/plan.hpp>

namespace detreduce::golden {

class Memory {
  public:
    virtual ~Memory() = default;
    [[nodiscard]] virtual Device device() const = 0;
    [[nodiscard]] virtual Launch launch() const { return {}; }
    /// A copy of `bytes` bytes at `host`, or, where that is null, as many zeros; aligned to 256.
    [[nodiscard]] virtual std::shared_ptr<std::byte> copied(const void* host, std::size_t bytes) const = 0;
    /// Copies to the host what is there when all calls are done.
    virtual void fetch(void* host, const std::byte* from, std::size_t bytes) const = 0;
};

[[nodiscard]] std::unique_ptr<Memory> cpu_memory(const Launch& launch = {});

} // namespace detreduce::golden
