// What threads do together on the CPU.
#pragma once

#include <algorithm>
#include <cstdint>

#include "host/fp_environment.hpp"

namespace detreduce::host {

/// f(i) for every i < count, by `threads` threads. With one, OpenMP is left alone: it would allocate.
template <class F>
void for_each(std::uint64_t count, std::uint32_t threads, const F& f) {
    if (threads == 1 || count <= 1) {
        for (std::uint64_t i = 0; i < count; ++i)
            f(i);
        return;
    }
#pragma omp parallel num_threads(static_cast <int>(std::min <std::uint64_t>(threads, count)))
    {
        const StandardFpEnvironment environment;
#pragma omp for schedule(static)
        for (std::uint64_t i = 0; i < count; ++i)
            f(i);
    }
}

} // namespace detreduce::host
