// What becomes of the dot products and norms of rows: cosine similarities and their gradient.
#include <detreduce/spec/cosine.hpp>

#include "cuda_backend.hpp"
#include "for_each.cuh"

namespace detreduce::cuda {

Status enqueue_cosines(const Device&, std::uint64_t rows, const spec::CosineValues& values, Stream stream) noexcept {
    return for_each(rows, values, stream);
}
Status enqueue_cosine_factors(const Device&, std::uint64_t rows, const spec::CosineFactors& factors,
                              Stream stream) noexcept {
    return for_each(rows, factors, stream);
}
Status enqueue_cosine_slopes(const Device&, std::uint64_t elements, const spec::CosineSlopes& slopes,
                             Stream stream) noexcept {
    return for_each(elements, slopes, stream);
}

} // namespace detreduce::cuda
