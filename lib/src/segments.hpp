// What is said about ids and offsets of segments, wherever they were looked at.
#pragma once

#include <detreduce/spec/ascending.hpp>
#include <detreduce/status.hpp>

namespace detreduce {

[[nodiscard]] inline spec::Ascending as_ascending(const std::uint64_t* offsets, std::uint64_t groups, std::uint64_t n,
                                                  bool whole) {
    return {offsets, groups + 1, n + 1, true, whole};
}

/// The minimum of the findings of all entries, in host memory.
[[nodiscard]] inline std::uint64_t find_fault(const spec::Ascending& a) {
    for (std::uint64_t i = 0; i < a.count; ++i) {
        if (const spec::Fault fault = spec::fault_at(a, i); fault != spec::Fault::none) return spec::finding(i, fault);
    }
    return spec::no_finding;
}

/// The status of what was found in ids, and in offsets.
[[nodiscard]] Status status_of_ids(std::uint64_t found);
[[nodiscard]] Status status_of_offsets(std::uint64_t found);

} // namespace detreduce
