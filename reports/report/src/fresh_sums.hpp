// Sums in fresh processes: `detreduce fresh-sums`, which help does not show, prints the results of
// one; the determinism section starts a few.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <detreduce/types.hpp>

#include "measure.hpp"

namespace detreduce::report {

/// One line for each dtype and method on each device, "f32 tree cpu 0x3f800000": the section's data
/// (measure_determinism.cpp), summed once.
[[nodiscard]] std::string fresh_sums(const Options& options);

/// Starts `detreduce fresh-sums` with the same data, devices and seed, and returns what it printed.
/// Throws program::Failure when it fails or takes minutes, program::Interrupted after Ctrl-C.
[[nodiscard]] std::string run_fresh_process(const Options& options, const Progress& progress);

/// The bits of that line of `text`, `where` a device, or what else is there in its place; throws
/// program::Failure when it is not there.
[[nodiscard]] std::uint64_t fresh_bits(std::string_view text, DType dtype, Method method, std::string_view where);

} // namespace detreduce::report
