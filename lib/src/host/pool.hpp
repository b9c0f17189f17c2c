// The threads of the CPU backend: one pool in a process.
#pragma once

#include <cstdint>

namespace detreduce::host {

/// What launch.threads = 0 means for inputs that are large enough: DETREDUCE_NUM_THREADS, or the
/// first number of OMP_NUM_THREADS, or one for each processor that this process may run
/// on. 1 … max_threads, read once.
[[nodiscard]] std::uint32_t usual_threads() noexcept;

/// work(f, begin, end) for the parts of [0, count), as even as can be and each a run of neighbours.
/// There are min(threads, count) of them, 2 or more. They are done when this returns, in a
/// StandardFpEnvironment, by the calling thread and as many others as there are or can be made:
/// none that can be made is no error. Nothing is allocated but new threads. Any number of threads
/// may be in here at once, and a part may call this again.
using Work = void (*)(const void* f, std::uint64_t begin, std::uint64_t end);
void run_parts(std::uint64_t count, std::uint32_t threads, const void* f, Work work) noexcept;

} // namespace detreduce::host
