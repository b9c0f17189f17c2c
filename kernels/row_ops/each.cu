// Functors of the library, each of which does one number at a time.
#include <detreduce/spec/channel_norm.hpp>
#include <detreduce/spec/cosine.hpp>
#include <detreduce/spec/distillation.hpp>
#include <detreduce/spec/row_math.hpp>

#include "cuda_backend.hpp"
#include "for_each.cuh"
#include "platform/warp.cuh"

namespace detreduce::cuda {

/// The one number that a batch of losses, or the factor of its gradient, ends with, by one block.
struct WriteQuotient {
    spec::Quotient quotient;
    CountedTargets counted;

    __device__ void operator()(std::uint64_t) const {
        spec::Quotient q = quotient;
        if (counted.targets != nullptr) {
            q.denominator = nullptr;
            q.otherwise = count();
        }
        if (threadIdx.x == 0) q.write();
    }
    /// To the first thread.
    [[nodiscard]] __device__ __forceinline__ double count() const {
        __shared__ std::uint32_t of_warps[for_each_threads / warp_size];
        std::uint32_t classes = 0;
        bool unknown = false;
#pragma unroll
        for (std::uint32_t i = 0; i < CountedTargets::most / for_each_threads; ++i) { // loaded at once
            const std::uint32_t row = i * for_each_threads + threadIdx.x;
            const std::int64_t target = row < counted.rows ? counted.targets[row] : counted.ignore_index;
            const auto c = spec::RowClass<float>::of(target, counted.ignore_index, counted.n);
            classes += c.there;
            unknown = unknown || (!c.there && c.otherwise != 0);
        }
        classes = warp_add(classes);
        if (threadIdx.x % warp_size == 0) of_warps[threadIdx.x / warp_size] = classes;
        if (__syncthreads_or(unknown) != 0) return spec::quiet_nan<double>;
        for (std::uint32_t warp = 1; threadIdx.x == 0 && warp < for_each_threads / warp_size; ++warp)
            classes += of_warps[warp];
        return classes;
    }
};

Status enqueue_quotient(const Device&, const spec::Quotient& quotient, const CountedTargets& counted,
                        Stream stream) noexcept {
    return for_each(for_each_threads, WriteQuotient{quotient, counted}, stream);
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
