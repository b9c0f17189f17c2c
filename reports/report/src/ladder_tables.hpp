// Names that whoever measures the ladder and whoever prints it agree on: LadderRow::table and
// family.
#pragma once

namespace detreduce::report {

inline constexpr const char* rungs_table = "rungs";           ///< each rung and library as the literature runs it
inline constexpr const char* threads_table = "threads";       ///< by threads per block
inline constexpr const char* per_thread_table = "per_thread"; ///< by elements per thread
inline constexpr const char* coalesced_table = "coalesced";   ///< coalesced or not
inline constexpr const char* sizes_table = "sizes";           ///< one row of n elements, for every n
inline constexpr const char* softmax_table = "softmax";       ///< rows of several lengths; the yardstick is a copy

inline constexpr const char* three_level_family = "three-level"; ///< whose rungs differ in how the grid ends
inline constexpr const char* library_family = "library";
inline constexpr const char* yardstick_family = "yardstick"; ///< the read-only kernel, and the copy

} // namespace detreduce::report
