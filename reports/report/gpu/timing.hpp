// Times contenders on the GPU, in turns.
#pragma once

#include <vector>

#include "contenders.hpp"
#include "pool.hpp"

namespace detreduce::report::gpu {

/// Seconds of each call, contender by contender: `repeats` each, taken between events around every
/// call. In each round all contenders run once, in another order, on fresh slices of the pool,
/// behind a gate. A round that the host could not queue in time is repeated; throws
/// program::Failure when that keeps happening.
[[nodiscard]] std::vector<std::vector<double>> time_in_turns(const std::vector<Contender>& contenders, Pool& pool,
                                                             int repeats);

/// Seconds of each call of one that makes the host wait, which no gate can hold back: the host's
/// latency is in them.
[[nodiscard]] std::vector<double> time_waiting(const Contender& contender, Pool& pool, int repeats);

/// The read-only contender with the smallest median of a few calls.
[[nodiscard]] Contender fastest_read(std::uint64_t n, Pool& pool);

} // namespace detreduce::report::gpu
