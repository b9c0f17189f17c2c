// Functors of the library, each of which does one number at a time.
#include <detreduce/spec/channel_norm.hpp>
#include <detreduce/spec/cosine.hpp>
#include <detreduce/spec/distillation.hpp>
#include <detreduce/spec/row_math.hpp>

#include "cuda_backend.hpp"
#include "for_each.cuh"
#include "platform/warp.cuh"

namespace detreduce::cuda {

/// The one number that a batch of losses, or the factor of its gradient, ends with.
struct WriteQuotient {
    spec::Quotient quotient;
    __device__ void operator()(std::uint64_t) const { quotient.write(); }
};

/// The same, of a block.
struct WriteQuotientOfCount {
    spec::Quotient quotient;
    CountedTargets counted;

    __device__ void operator()(std::uint64_t) const {
        __shared__ std::uint32_t of_warps[for_each_threads / warp_size];
        std::uint32_t count = 0;
        bool unknown = false;
#pragma unroll
        for (std::uint32_t i = 0; i < CountedTargets::most / for_each_threads; ++i) { // loaded at once
            const std::uint32_t row = i * for_each_threads + threadIdx.x;
            const std::int64_t target = row < counted.rows ? counted.targets[row] : counted.ignore_index;
            const auto c = spec::RowClass<float>::of(target, counted.ignore_index, counted.n);
            count += c.there;
            unknown = unknown || (!c.there && c.otherwise != 0);
        }
        count = warp_add(count);
        if (threadIdx.x % warp_size == 0) of_warps[threadIdx.x / warp_size] = count;
        unknown = __syncthreads_or(unknown) != 0;
        if (threadIdx.x != 0) return;
        for (std::uint32_t warp = 1; warp < for_each_threads / warp_size; ++warp)
            count += of_warps[warp];
        spec::Quotient q = quotient;
        q.denominator = nullptr;
        q.otherwise = unknown ? spec::quiet_nan<double> : static_cast<double>(count);
        q.write();
    }
};

Status enqueue_quotient(const Device&, const spec::Quotient& quotient, const CountedTargets& counted,
                        Stream stream) noexcept {
    if (counted.targets != nullptr) return for_each(for_each_threads, WriteQuotientOfCount{quotient, counted}, stream);
    return for_each(1, WriteQuotient{quotient}, stream);
}

template <class F>
Status enqueue_each(const Device&, std::uint64_t count, const F& f, Stream stream) noexcept {
    return for_each(count, f, stream);
}

#define DETREDUCE_FUNCTOR(F)                                                                                           \
    template Status enqueue_each(const Device&, std::uint64_t, const spec::F&, Stream) noexcept;
DETREDUCE_FUNCTORS(DETREDUCE_FUNCTOR)
#undef DETREDUCE_FUNCTOR

} // namespace detreduce::cuda
