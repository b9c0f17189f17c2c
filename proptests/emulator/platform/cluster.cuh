// Stands in for kernels/platform/cluster.cuh.
#pragma once

#include <cstdint>
#include <cstring>

namespace detreduce::cuda {

inline std::uint32_t cluster_rank() {
    return blockIdx.x % emulator::cluster_blocks();
}
inline std::uint32_t cluster_blocks() {
    return emulator::cluster_blocks();
}
inline std::uint32_t cluster_index() {
    return blockIdx.x / emulator::cluster_blocks();
}
inline void arrive_in_cluster() {
    emulator::arrive_in_cluster();
}
inline void wait_for_cluster() {
    emulator::wait_until([] { return emulator::all_in_cluster(); });
}

class Arrival {
  public:
    template <bool Known>
    void make() {
        if (threadIdx.x != 0) return;
        emulator::expect_once();
        arrived = 0;
    }
    void wait(std::uint32_t bytes) const {
        emulator::wait_until([this, bytes] { return arrived == bytes; });
    }
    template <class Item>
    void put(Item* p, std::uint32_t rank, const Item& item) const {
        if (!emulator::all_in_cluster()) emulator::fail("a store in a block that may not run yet");
        if (emulator::has_ended(rank)) emulator::fail("a store in a block that has ended");
        std::memcpy(in_block(p, rank), &item, sizeof item);
        const_cast<Arrival*>(in_block(this, rank))->arrived += sizeof item;
    }

  private:
    template <class Item>
    static Item* in_block(Item* p, std::uint32_t rank) {
        const auto at =
            reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(emulator::dynamic_shared());
        return reinterpret_cast<Item*>(reinterpret_cast<std::uintptr_t>(emulator::dynamic_shared(rank)) + at);
    }
    std::uint64_t arrived;
};

} // namespace detreduce::cuda
