// The one number that a batch of losses, or the factor of its gradient, ends with.
#include <detreduce/spec/row_math.hpp>

#include "cuda_backend.hpp"
#include "for_each.cuh"

namespace detreduce::cuda {

struct WriteQuotient {
    spec::Quotient quotient;
    __device__ void operator()(std::uint64_t) const { quotient.write(); }
};

Status enqueue_quotient(const Device&, const spec::Quotient& quotient, Stream stream) noexcept {
    return for_each(1, WriteQuotient{quotient}, stream);
}

} // namespace detreduce::cuda
