// The yardstick of the cost section: a pass that loads every byte and folds it with XOR, and does
// nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <detreduce/types.hpp>

namespace detreduce::report {

/// One way to read. Which is fastest depends on the processor and on where the data is, so the
/// report tries them.
struct ReadWay {
    Isa isa = Isa::baseline; ///< width of the loads; must be in available_isas()
    bool pages = false;      ///< eight pages at once instead of one after the other: more of the prefetcher's streams
};

/// Every way that this processor has.
[[nodiscard]] std::vector<ReadWay> read_ways();

/// XOR of all bytes in groups of eight (the last one padded with zeros); any alignment. At most
/// `threads` threads share the work, each reading one contiguous part of at least half a MiB.
[[nodiscard]] std::uint64_t read_pass(const void* data, std::size_t bytes, ReadWay way, int threads = 1);

} // namespace detreduce::report
