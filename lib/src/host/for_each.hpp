// What threads do together on the CPU.
#pragma once

#include <algorithm>
#include <cstdint>

#include "host/pool.hpp"

namespace detreduce::host {

/// f(i) for every i < count, by `threads` threads (host/pool.hpp), each of which takes a run of
/// neighbours.
template <class F>
void for_each(std::uint64_t count, std::uint32_t threads, const F& f) {
    const auto work = [](const void* of, std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i)
            (*static_cast<const F*>(of))(i);
    };
    if (threads == 1 || count <= 1) return work(&f, 0, count);
    run_parts(count, threads, &f, work);
}

/// f(i, threads): one after the other, each by all threads; or, where there are enough, each by
/// one.
template <class F>
void for_each_or_together(std::uint64_t count, std::uint32_t threads, const F& f) {
    if (count >= 4 * std::uint64_t{threads}) return for_each(count, threads, [&](std::uint64_t i) { f(i, 1u); });
    for (std::uint64_t i = 0; i < count; ++i)
        f(i, threads);
}

/// The same where each has `parts` parts that threads can share.
template <class F>
void for_each_or_together(std::uint64_t count, std::uint64_t parts, std::uint32_t threads, const F& f) {
    if (parts <= 1 || count >= threads) return for_each(count, threads, [&](std::uint64_t i) { f(i, 1u); });
    for (std::uint64_t i = 0; i < count; ++i)
        f(i, threads);
}

/// f(i, begin, end) for run i of n ≥ 1 elements; there are at most `most` runs.
template <class F>
void for_runs(std::uint64_t n, std::uint32_t most, std::uint32_t threads, const F& f) {
    const std::uint64_t run = (n + most - 1) / most;
    for_each((n + run - 1) / run, threads, [&](std::uint64_t i) { f(i, i * run, std::min((i + 1) * run, n)); });
}

} // namespace detreduce::host
