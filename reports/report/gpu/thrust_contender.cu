// thrust::reduce as its users call it: it returns the sum, so the host waits for it.
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>

#include <memory>

#include "contenders.hpp"

namespace detreduce::report::gpu {

namespace {

template <class T>
Contender contender(std::uint64_t n) {
    const auto out = std::make_shared<DeviceMemory>(sizeof(T));
    return {"thrust::reduce", "",
            [=](const void* x, cudaStream_t stream) {
                const auto* const first = static_cast<const T*>(x);
                const T sum = thrust::reduce(thrust::cuda::par.on(stream), first, first + n);
                // To where the ladder looks for it: queued, and kept by the driver until then, as
                // it is not pinned.
                check(cudaMemcpyAsync(out->get(), &sum, sizeof sum, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
            },
            static_cast<const float*>(out->get()), sizeof(T) == sizeof(float) ? 1u : 0u};
}

} // namespace

Contender thrust_contender(DType dtype, std::uint64_t n) {
    return dtype == DType::f64 ? contender<double>(n) : contender<float>(n);
}

} // namespace detreduce::report::gpu
