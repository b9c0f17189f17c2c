// The order of lib/SPEC.md, section 3, on the CPU. Results of tiles stream in, and full tiles of
// them move up a level. A level keeps one tile, 32 to 128 KiB of items.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <detreduce/plan.hpp>
#include <detreduce/spec/tree_order.hpp>

#include "host/arena.hpp"
#include "host/for_each.hpp"

namespace detreduce::host {

/// Lane j of a chunk of m > j accumulators: its rows in order, or as a binary tree.
template <class Acc>
[[nodiscard]] Acc reduce_rows(const Acc* items, std::uint64_t m, std::uint32_t j, std::uint32_t lanes) {
    Acc row[spec::rows_per_chunk] = {items[j]};
    std::uint32_t rows = 1;
    for (std::uint64_t i = j + lanes; i < m; i += lanes) {
        if constexpr (Acc::pairwise_rows) {
            row[rows++] = items[i];
        } else {
            row[0].merge(items[i]);
        }
    }
    for (std::uint32_t step = 1; step < rows; step *= 2) {
        for (std::uint32_t r = 0; r + step < rows; r += 2 * step)
            row[r].merge(row[r + step]);
    }
    return row[0];
}

/// One tile of `m` ≥ 1 accumulators, in the order of SPEC.md: plain loops, since one item in 4096
/// or 8192 gets here.
template <class Acc, class Order>
[[nodiscard]] Acc reduce_accumulators(const Acc* items, std::uint64_t m) {
    constexpr std::uint32_t lanes = Order::lanes;
    const Buffer<std::array<Acc, lanes>> chunk(spec::chunks_per_tile);
    const std::uint64_t chunks = spec::tiles(m, Order::chunk);
    const auto in_row = [m](std::uint64_t c) { // lanes of chunk c that hold anything
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(lanes, m - c * Order::chunk));
    };
    for (std::uint64_t c = 0; c < chunks; ++c) {
        const std::uint64_t begin = c * Order::chunk, end = std::min<std::uint64_t>(m, begin + Order::chunk);
        for (std::uint32_t j = 0; j < in_row(c); ++j)
            chunk[c][j] = reduce_rows<Acc>(items + begin, end - begin, j, lanes);
    }
    for (std::uint32_t step = 1; step < chunks; step *= 2) {
        for (std::uint32_t c = 0; c + step < chunks; c += 2 * step) {
            for (std::uint32_t j = 0; j < in_row(c + step); ++j)
                chunk[c][j].merge(chunk[c + step][j]);
        }
    }
    for (std::uint32_t half = lanes / 2; half >= 1; half /= 2) {
        for (std::uint32_t j = 0; j < half && j + half < in_row(0); ++j)
            chunk[0][j].merge(chunk[0][j + half]);
    }
    return chunk[0][0];
}

/// Results of tiles of the input, up to max_n, on their way to the root. About 64 KiB for one word
/// an accumulator, 128 KiB for two, 256 KiB for four.
template <class Acc, class Order, std::uint64_t MaxN = max_n, int Count = max_levels>
class Levels {
  public:
    /// Room for the next Order::tile results of tiles of the input.
    [[nodiscard]] Acc* next() { return items(0); }

    /// Takes the `count` results written to next(): a full tile, or the last.
    void take(std::uint64_t count) {
        count_[0] = count;
        for (int level = 0; level + 1 < Count && count_[level] == Order::tile; ++level)
            move_up(level);
    }

    [[nodiscard]] Acc finish() {
        int level = 0;
        for (; !is_last(level); ++level) {
            if (count_[level] > 0) move_up(level);
        }
        return count_[level] == 1 ? *items(level) : reduce_accumulators<Acc, Order>(items(level), count_[level]);
    }

  private:
    /// The most results that level `level` holds at once.
    [[nodiscard]] static constexpr std::uint64_t capacity(int level) {
        std::uint64_t results = MaxN;
        for (int l = 0; l <= level; ++l)
            results = spec::tiles(results, Order::tile);
        return results < Order::tile ? results : Order::tile;
    }
    [[nodiscard]] static constexpr std::uint64_t offset(int level) {
        std::uint64_t sum = 0;
        for (int l = 0; l < level; ++l)
            sum += capacity(l);
        return sum;
    }
    static_assert(capacity(Count - 1) == 1, "more levels are needed for MaxN");

    [[nodiscard]] Acc* items(int level) { return items_.data() + offset(level); }

    void move_up(int level) {
        items(level + 1)[count_[level + 1]++] = reduce_accumulators<Acc, Order>(items(level), count_[level]);
        count_[level] = 0;
    }
    [[nodiscard]] bool is_last(int level) const {
        for (int above = level + 1; above < Count; ++above) {
            if (count_[above] != 0) return false;
        }
        return true;
    }

    static_assert(sizeof(Acc) * (offset(Count) + Order::tile / spec::rows_per_chunk) <= arena_bytes);
    Buffer<Acc> items_{offset(Count)};
    std::uint64_t count_[Count] = {};
};

/// n ≥ 1 items in the order of elements of T. tile(first, m) reduces a tile of them; threads take
/// runs of neighbouring tiles.
template <class Acc, class T, class Tile>
[[nodiscard]] Acc reduce_tiles(std::uint64_t n, std::uint32_t threads, const Tile& tile) {
    using Above = spec::TreeOrder<sizeof(typename Acc::Value)>;
    constexpr std::uint32_t size = spec::TreeOrder<sizeof(T)>::tile;
    if (n <= size) return tile(0, static_cast<std::uint32_t>(n));
    Levels<Acc, Above, spec::tiles(max_n, size) * Above::tile> levels;
    const std::uint64_t all = spec::tiles(n, size);
    for (std::uint64_t first = 0; first < all; first += Above::tile) {
        const std::uint64_t count = std::min<std::uint64_t>(Above::tile, all - first);
        Acc* const out = levels.next();
        for_each(count, threads, [&](std::uint64_t i) {
            const std::uint64_t begin = (first + i) * size;
            out[i] = tile(begin, static_cast<std::uint32_t>(std::min<std::uint64_t>(size, n - begin)));
        });
        levels.take(count);
    }
    return levels.finish();
}

} // namespace detreduce::host
