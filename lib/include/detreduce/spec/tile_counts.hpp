// How many elements the groups of a tile hold that are merged in the order of `tree`
// (spec/tree_order.hpp), for accumulators that need to know. Items are elements, or groups of
// `unit` elements each; the last item of all may be a smaller group.
#pragma once

#include <cstdint>

#include <detreduce/config.hpp>

namespace detreduce::spec {

/// A tile of m ≥ 1 items, in rows of `Lanes`.
template <std::uint32_t Lanes>
struct TileCounts {
    std::uint32_t m;
    std::uint64_t unit = 1, missing = 0; ///< elements of an item, and how many fewer the tile's last one has

    /// In lane j, rows first … last − 1 of the tile.
    [[nodiscard]] DETREDUCE_HD constexpr std::uint64_t in_rows(std::uint32_t j, std::uint32_t first,
                                                               std::uint32_t last) const {
        const std::uint32_t rows = j < m ? (m - 1 - j) / Lanes + 1 : 0, end = rows < last ? rows : last;
        const std::uint32_t row_of_last = (m - 1) / Lanes;
        const bool has_last = (m - 1) % Lanes == j && first <= row_of_last && row_of_last < last;
        return elements(first < end ? end - first : 0, has_last);
    }
    /// In the lanes j, j + step, j + 2·step, …
    [[nodiscard]] DETREDUCE_HD constexpr std::uint64_t in_lanes(std::uint32_t j, std::uint32_t step) const {
        return elements(j < m ? (m - 1 - j) / step + 1 : 0, (m - 1) % step == j);
    }

  private:
    [[nodiscard]] DETREDUCE_HD constexpr std::uint64_t elements(std::uint32_t items, bool has_last) const {
        return items * unit - (has_last ? missing : 0);
    }
};

} // namespace detreduce::spec
