// Columns, which threads reduce on their own, as neighbouring threads then read neighbouring
// elements. They are cut into parts where they are too few to keep a device busy, or too long.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <detreduce/plan.hpp>
#include <detreduce/spec/tree_order.hpp>

#include "policies.hpp"

namespace detreduce::cuda {

/// Parts of each group, of `length` elements but the last. Thread t of a warp has group 32·word + t
/// of a word of 32 groups, or two neighbours of two words.
struct Parts {
    std::uint64_t count = 0, n = 0, parts = 1, length = 0;
    std::uint64_t together = 1, sums = 1; ///< parts that are added to one sum; sums of a group

    Parts() = default;
    /// About `threads` of all groups, as far as their length allows. `added`: parts are added to
    /// sums.
    Parts(const Request& r, std::uint64_t longest, std::uint64_t threads, bool added) : count(r.groups), n(r.n) {
        constexpr std::uint64_t shortest = 512, multiple = 64; // loads of a thread do not cross a border
        std::uint64_t most = added ? n : 1;
        // Else one thread joins the parts of a column: no more of them than half the root of its
        // length, where that takes as long as a part.
        while (!added && 4 * most * most * 4 <= n)
            most *= 2;
        most = std::max<std::uint64_t>(1, std::min(most, spec::tiles(n, added ? multiple : shortest)));
        const std::uint64_t wanted = std::clamp<std::uint64_t>(threads / std::max<std::uint64_t>(1, count), 1, most);
        length =
            std::min(std::max<std::uint64_t>(1, spec::tiles(spec::tiles(n, wanted), multiple)) * multiple, longest);
        parts = std::max<std::uint64_t>(1, spec::tiles(n, length));
        if (added) together = policy::longest_exact_sum / length;
        sums = spec::tiles(parts, together);
    }
    [[nodiscard]] DETREDUCE_HD std::uint64_t words() const { return (count + 31) / 32; }

    struct Place {
        std::uint64_t part, word, group, begin, end;
        bool there;
    };
    /// Threads that look at them, each at `columns` neighbouring groups of a part: those of a warp
    /// at so many words.
    [[nodiscard]] DETREDUCE_HD std::uint64_t threads(std::uint32_t columns) const {
        return (words() + columns - 1) / columns * parts * 32;
    }
    /// What thread i of these is to do.
    [[nodiscard]] DETREDUCE_HD Place place(std::uint64_t i, std::uint32_t columns) const {
        const std::uint64_t iteration = i / 32, warps = (words() + columns - 1) / columns, part = iteration / warps,
                            word = columns * (iteration - part * warps), group = word * 32 + columns * (i % 32),
                            begin = part * length, end = n - begin < length ? n : begin + length;
        return {part, word, group, begin, end, group < count};
    }
};

/// Byte offsets in the workspace. `results` has `part_bytes` for each sum of parts. Where parts are
/// added, `remaining` has a bit for each thread, set where a part of its groups is in no sum;
/// `arrived` counts the parts that are done; `states` has `state_bytes` for each long group.
struct PartLayout {
    Parts parts;
    bool has_states;
    std::size_t remaining = 0, arrived, results, states, bytes;

    explicit PartLayout(const Request& r, std::size_t part_bytes, std::uint64_t threads = policy::part_threads,
                        std::size_t state_bytes = 0)
        : parts(r, state_bytes != 0 ? policy::longest_exact_part : policy::longest_part, threads, state_bytes != 0),
          has_states(state_bytes != 0 && r.n > policy::longest_exact_part) {
        constexpr auto align = [](std::uint64_t size) { return static_cast<std::size_t>((size + 255) / 256 * 256); };
        const bool several = parts.parts > 1;
        arrived = several && state_bytes != 0 ? align(parts.words() * 4) : 0;
        results = arrived + (several && state_bytes != 0 ? align(parts.words() * (parts.sums + 1) * 4) : 0);
        states = results + (several ? align(part_bytes * parts.sums * parts.count) : 0);
        bytes = states + (has_states ? align(state_bytes * parts.count) : 0);
    }
};

} // namespace detreduce::cuda
