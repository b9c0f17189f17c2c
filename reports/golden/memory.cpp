#include "golden/memory.hpp"

#include <cstring>
#include <new>

namespace detreduce::golden {
namespace {

class CpuMemory : public Memory {
  public:
    explicit CpuMemory(const Launch& launch) : launch_(launch) {}
    [[nodiscard]] Device device() const override { return cpu; }
    [[nodiscard]] Launch launch() const override { return launch_; }
    [[nodiscard]] std::shared_ptr<std::byte> copied(const void* host, std::size_t bytes) const override {
        constexpr std::align_val_t boundary{256};
        const std::shared_ptr<std::byte> memory(static_cast<std::byte*>(::operator new(bytes, boundary)),
                                                [](std::byte* p) { ::operator delete(p, boundary); });
        if (host == nullptr) std::memset(memory.get(), 0, bytes);
        if (host != nullptr && bytes > 0) std::memcpy(memory.get(), host, bytes);
        return memory;
    }
    void fetch(void* host, const std::byte* from, std::size_t bytes) const override {
        if (bytes > 0) std::memcpy(host, from, bytes);
    }

  private:
    Launch launch_;
};

} // namespace

std::unique_ptr<Memory> cpu_memory(const Launch& launch) {
    return std::make_unique<CpuMemory>(launch);
}

} // namespace detreduce::golden
