// Functors of the library, each of which does one number at a time.
#include <detreduce/spec/channel_norm.hpp>
#include <detreduce/spec/cosine.hpp>
#include <detreduce/spec/distillation.hpp>
#include <detreduce/spec/row_math.hpp>

#include "cuda_backend.hpp"
#include "for_each.cuh"

namespace detreduce::cuda {

/// The one number that a batch of losses, or the factor of its gradient, ends with.
struct WriteQuotient {
    spec::Quotient quotient;
    __device__ void operator()(std::uint64_t) const { quotient.write(); }
};

Status enqueue_quotient(const Device&, const spec::Quotient& quotient, Stream stream) noexcept {
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
