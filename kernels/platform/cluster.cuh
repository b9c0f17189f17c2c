// Clusters of blocks (Hopper and later): blocks that run at once and reach each other's shared
// memory. Elsewhere a block is one, and stores in no other.
#pragma once

#include <cstdint>

#include "platform/warp.cuh"

namespace detreduce::cuda {

/// The block's number in its cluster, and the blocks of a cluster.
__device__ __forceinline__ std::uint32_t cluster_rank() {
#if __CUDA_ARCH__ >= 900
    return __clusterRelativeBlockRank();
#else
    return 0;
#endif
}
__device__ __forceinline__ std::uint32_t cluster_blocks() {
#if __CUDA_ARCH__ >= 900
    return __clusterSizeInBlocks();
#else
    return 1;
#endif
}
/// The cluster's number in a grid of one dimension.
__device__ __forceinline__ std::uint32_t cluster_index() {
#if __CUDA_ARCH__ >= 900
    return __clusterIdx().x;
#else
    return blockIdx.x;
#endif
}
/// A barrier for all threads of a cluster, in two halves. Behind the second arrivals are expected
/// that were before the first; what else was written need not be seen.
__device__ __forceinline__ void arrive_in_cluster() {
#if __CUDA_ARCH__ >= 900
    __cluster_barrier_arrive_relaxed();
#endif
}
__device__ __forceinline__ void wait_for_cluster() {
#if __CUDA_ARCH__ >= 900
    __cluster_barrier_wait();
#endif
}

/// Bytes that blocks of the cluster store in this one's shared memory, counted as they arrive,
/// once.
class Arrival {
  public:
    /// Makes the barrier. All threads call it, before the blocks meet. They have one address.
    /// Known: ptxas can tell. If it cannot, it makes a loop over addresses, in which racecheck
    /// reports races that are none, and under synccheck the kernel fails. The minimum of a warp's
    /// addresses needs no loop, but takes time.
    template <bool Known>
    __device__ __forceinline__ void make() {
#if __CUDA_ARCH__ >= 900
        const std::uint32_t at = Known ? address_of(this) : warp_min(address_of(this));
        if (threadIdx.x == 0)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n"
                         "fence.mbarrier_init.release.cluster;" ::"r"(at)
                         : "memory");
#endif
    }
    /// Until so many bytes have arrived, and are seen. The block's first warp calls it.
    __device__ __forceinline__ void wait(std::uint32_t bytes) const {
#if __CUDA_ARCH__ >= 900
        if (threadIdx.x == 0)
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(this)), "r"(bytes)
                         : "memory");
        std::uint32_t done = 0;
        while (done == 0)
            asm volatile("{.reg .pred done;\n"
                         "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%1], 0;\n"
                         "selp.u32 %0, 1, 0, done;}"
                         : "=r"(done)
                         : "r"(address_of(this))
                         : "memory");
#endif
    }
    /// Stores an item at p of the block that is number `rank` of the cluster, where it is counted.
    template <class Item>
    __device__ __forceinline__ void put(Item* p, std::uint32_t rank, const Item& item) const {
        static_assert(sizeof(Item) % 4 == 0);
        std::uint32_t words[sizeof(Item) / 4];
        __builtin_memcpy(words, &item, sizeof item);
#if __CUDA_ARCH__ >= 900
        std::uint32_t to, counted;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(address_of(p)), "r"(rank));
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(counted) : "r"(address_of(this)), "r"(rank));
#pragma unroll
        for (int i = 0; i < static_cast<int>(sizeof(Item) / 4); ++i)
            asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];"
                         :
                         : "r"(to + 4 * i), "r"(words[i]), "r"(counted)
                         : "memory");
#endif
    }

  private:
    [[nodiscard]] static __device__ __forceinline__ std::uint32_t address_of(const void* p) {
        return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
    }
    std::uint64_t state;
};

} // namespace detreduce::cuda
