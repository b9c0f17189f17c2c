// What is done for each of many numbers, one at a time and alone, on CPU and GPU alike.
#pragma once

#include "cuda_call.hpp"
#include "host/for_each.hpp"
#include "host/fp_environment.hpp"

namespace detreduce {

/// f(i) for every i below count, on the device, which may be the CPU with so many threads.
template <class F>
[[nodiscard]] Status for_each_on(const Device& device, std::uint32_t threads, std::uint64_t count, const F& f,
                                 Stream stream) {
    if (device.backend == Backend::cuda) {
        const cuda::Functions* const there = cuda::functions();
        return there != nullptr ? there->each.of(f)(device, count, f, stream) : cuda::no_backend;
    }
    host::in_standard_environment([&] { host::for_each(count, threads, f); });
    return {};
}

} // namespace detreduce
