// How a plan is carried out: what make_plan() decides once, and run() looks up. The library's own;
// what a caller may choose of it is Plan::launch().
#pragma once

#include <cstddef>
#include <cstdint>

#include <detreduce/types.hpp>

namespace detreduce::detail {

/// What computes the results.
enum class Engine : std::uint8_t {
    zeros,  ///< nothing: there is nothing to reduce, and the results are zeros
    sums,   ///< in the order of lib/SPEC.md, section 3: by tree, kahan, compensated and serial
    atomic, ///< in any order
    products,
    moments, ///< means and variances in a fixed order
    exact,   ///< sums, means and variances by `exact`
    order,   ///< ops that compare, and count_nonzero
    unique,
};

/// Who reduces one group.
enum class Scope : std::uint8_t {
    thread, ///< a long column is cut into parts
    warp,   ///< or some of its threads; a large group is cut into work items, which all blocks share
    block,  ///< by `exact` a flat input of at most 16 KiB, of sums of elements 32, else a column
    grid,   ///< all blocks; on the CPU all threads
    tiles,  ///< all blocks, which are few and take one tile a warp: a short flat input
    list,   ///< all blocks share the tensors of a list
};

/// What launches need to know of a CUDA device.
struct DeviceTraits {
    std::uint32_t sms = 0;         ///< multiprocessors
    bool cooperative = false;      ///< has cooperative launch
    bool dependent_launch = false; ///< has programmatic dependent launch
    bool clusters = false;         ///< has clusters of blocks
};

// What makes plans, and takes them apart.
struct PlanParts;
struct RowPlanParts;

struct Route {
    Engine engine = Engine::zeros;
    Scope scope = Scope::grid;
    bool computed = false; ///< the terms are computed by a function of the caller's, or of a loss
    bool bytes = false;    ///< on a GPU elements of 8 bits are read as they are, and not converted first
    Launch launch = {};
    std::size_t workspace_bytes = 0;
    DeviceTraits device = {};
};

} // namespace detreduce::detail
