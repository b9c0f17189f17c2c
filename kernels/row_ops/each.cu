// Functors of the library, each of which does one number at a time.
#include <detreduce/spec/channel_norm.hpp>
#include <detreduce/spec/cosine.hpp>
#include <detreduce/spec/distillation.hpp>

#include "cuda_backend.hpp"
#include "for_each.cuh"

namespace detreduce::cuda {

template <class F>
Status enqueue_each(const Device&, std::uint64_t count, const F& f, Stream stream) noexcept {
    return for_each(count, f, stream);
}

#define DETREDUCE_FUNCTOR(F)                                                                                           \
    template Status enqueue_each(const Device&, std::uint64_t, const spec::F&, Stream) noexcept;
DETREDUCE_FUNCTORS(DETREDUCE_FUNCTOR)
#undef DETREDUCE_FUNCTOR

} // namespace detreduce::cuda
