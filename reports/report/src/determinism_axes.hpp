// What the determinism section varies: each axis turns a method and a device into the jobs whose
// results it compares.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runner.hpp"

namespace detreduce::report {

/// How the jobs of an axis get their data, or their results.
enum class Way {
    same,      ///< all the same data
    permuted,  ///< each another permutation of it
    split,     ///< that, each in another number of pieces, whose states are merged
    ranks,     ///< job i by i + 1 ranks, each with a piece of the data
    batch,     ///< rows: the data is one row, at many places of a matrix of others
    processes, ///< not by jobs: fresh processes of this program say what they get
    mpi,       ///< not by jobs: processes of an MPI job do
    nccl,      ///< not by jobs: GPUs with NCCL do
};

struct Variation {
    std::vector<Job> jobs;
    std::string varied;
    Way way = Way::same;
    std::uint64_t n = 0; ///< elements, of the section's data the first; 0: all of it
};

struct Axis {
    const char* name;
    Guarantee needs;                                ///< the weakest guarantee that promises one result along this axis
    Variation (*plan)(const Job& base, bool quick); ///< nothing varied: the axis does not apply
};

[[nodiscard]] std::span<const Axis> determinism_axes();

/// Elements of the section's data. Not a multiple of anything.
[[nodiscard]] constexpr std::uint64_t determinism_elements(bool quick) {
    return (std::uint64_t{1} << (quick ? 18 : 20)) + 37;
}

/// Way::batch: is row i of `rows` the one that is watched? The first, the last, and every third.
[[nodiscard]] constexpr bool is_watched(std::uint64_t i, std::uint64_t rows) {
    return i % 3 == 0 || i + 1 == rows;
}

/// Way::processes: so many.
[[nodiscard]] constexpr int fresh_processes(bool quick) {
    return quick ? 5 : 10;
}

} // namespace detreduce::report
