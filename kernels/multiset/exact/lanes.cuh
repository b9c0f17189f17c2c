// Groups of neighbouring elements by a few threads of a warp each, 2 to 32: as many as a group has
// work for. A warp takes up to 32 groups, a set of them at a time, by tiles of four loads of 16
// bytes a thread. The sums of a group's bins then come to one thread, so that in the end each
// thread has a group to round. Groups may begin and end anywhere: whole vectors are loaded, of
// which elements of other groups are left out. Of elements no tile is loaded ahead: that would
// take the registers of more warps, which wait for each other's loads as well.
#pragma once

#include "groups/work_items.cuh"
#include "multiset/exact/bin_sums.cuh"

namespace detreduce::cuda::exact {

/// What the kernels of groups do: small groups, which a warp each reduces; work items of large
/// ones, a block each.
struct GroupWork {
    Groups groups{};
    WorkTable table{};
    Word* states = nullptr;  ///< of work items, one after the other
    std::uint64_t end = 0;   ///< of the elements of all groups
    bool dense = false;      ///< is there nothing between groups?
    std::uint32_t batch = 1; ///< small groups that a warp takes at a time, at most 32
    /// Of each batch, which is then of 2^batch_log groups, a bit for each group that
    /// plain_kernel has left; null: it was not asked.
    std::uint32_t* left = nullptr;
    int batch_log = 0;
};

/// What is known of a group whose elements were added to these bins.
template <class BinsOf>
struct HeldIn {
    using type = Word[BinsOf::count];
    using Place = typename BinsOf::Place;
};
/// Of sums in the place of bins these are that.
template <class BinsOf>
requires(BinsOf::without_bins) struct HeldIn<BinsOf> {
    using type = BinsOf;
    using Place = int;
};

/// What a thread has of a batch: where its group number `lane` is, and, when it is summed, the sums
/// of group number lane_group().
template <class Input, class Bins = typename Input::FirstBins>
struct LaneSums {
    using T = typename Input::Type;
    using Map = typename Input::MapType;
    using BinsOf = Bins;
    using Held = HeldIn<BinsOf>;
    static constexpr bool plain = std::is_same_v<typename Held::type, BinsOf>;
    using Walk = TermWalk<T, Map, Input::vectors>;
    using Mine = typename Input::Mine;
    static constexpr int vectors = Input::vectors, per_vector = 16 / static_cast<int>(sizeof(T));
    static constexpr int head_bit = 26, tail_bit = 29; ///< of `shape`, whose lower bits are the number of vectors
    static constexpr std::uint32_t most_vectors = (1u << head_bit) - 1;
    /// The next tile, while one is added. Where f32 and f64 have no bins, more warps are faster.
    static constexpr bool loads_ahead = !Map::linear && !Input::binary && !(plain && !fp::has_16_bits<T>);
    /// Elements of the longest group that is summed here. Rows have two work items here at most,
    /// and one where a term has parts.
    static constexpr std::uint64_t longest = BinsOf::most_held / BinsOf::parts;
    static_assert(longest >= (BinsOf::parts == 1 ? 2 : 1) * policy::work_item_elements);

    const Input& input;   ///< all groups
    std::uint64_t at = 0; ///< address of the first vector
    /// Vectors; elements of the first one that are left out; elements of the last one, or 0: all.
    std::uint32_t shape = 0;
    int lanes_log = 5;      ///< threads of a group
    bool two_sets = false;  ///< are groups so short that a tile is of two sets?
    bool any_edges = false; ///< are there vectors of which elements are left out?

    typename Held::type mine;
    typename Held::Place place{};
    // Of bins:
    bool moved = false; ///< is the window another?
    bool fits = false;  ///< `mine` is all there is of the thread's group

    [[nodiscard]] static __device__ __forceinline__ std::uint32_t lane() { return threadIdx.x % warp_size; }
    [[nodiscard]] __device__ __forceinline__ int lanes() const { return 1 << lanes_log; }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t lane_of_group() const { return lane() & (lanes() - 1); }
    /// The thread's group in set number `set`.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t group_in(std::uint32_t set) const {
        return (set << (5 - lanes_log)) + (lane() >> lanes_log);
    }
    /// The one whose sums it has in the end.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t lane_group() const { return group_in(lane_of_group()); }
    /// The thread that has those of this group.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t thread_of(std::uint32_t group) const {
        const int sets_log = 5 - lanes_log;
        return ((group & ((1u << sets_log) - 1)) << lanes_log) + (group >> sets_log);
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t vectors_of(std::uint32_t group) const {
        return shuffle_from(shape, group) & most_vectors;
    }

    /// Says which elements the thread's group in the batch has; false if there are none, or if they
    /// cannot be summed here. Elements before and behind a group may be loaded if groups are
    /// `dense`, but none before those of `input` and none from number `end` on.
    __device__ __forceinline__ bool set_group(const Span& span, std::uint64_t end, bool dense) {
        const auto first = reinterpret_cast<std::uintptr_t>(input.x + span.begin),
                   last = reinterpret_cast<std::uintptr_t>(input.x + span.begin + span.n);
        const std::uintptr_t from = first & ~std::uintptr_t{15}, to = (last + 15) & ~std::uintptr_t{15};
        const bool can = span.n > 0 && span.n <= longest && input.step == 1 &&
                         from >= reinterpret_cast<std::uintptr_t>(input.x) &&
                         to <= reinterpret_cast<std::uintptr_t>(input.x + end) &&
                         (dense || (from == first && to == last)) && (!Input::binary || (distance() & 15) == 0);
        at = from;
        shape = !can ? 0
                     : static_cast<std::uint32_t>((to - from) / 16) |
                           static_cast<std::uint32_t>((first - from) / sizeof(T)) << head_bit |
                           static_cast<std::uint32_t>((last & 15) / sizeof(T)) << tail_bit;
        return can;
    }
    [[nodiscard]] __device__ __forceinline__ std::intptr_t distance() const {
        return reinterpret_cast<const char*>(input.y) - reinterpret_cast<const char*>(input.x);
    }

    /// Could all terms of the group in `mine` be −0? Then the sum is zero, and the first one shows
    /// it.
    [[nodiscard]] __device__ __forceinline__ bool may_be_minus_zero(const Groups& groups, std::uint64_t group) const {
        if constexpr (Walk::counts_minus_zeros) {
            Word any = 0;
#pragma unroll
            for (const Word w : mine)
                any |= w;
            if (any != 0) return false;
            const std::uint64_t first = span_of(groups, group).begin;
            const T x = load_number(input.x + first), y = Input::binary ? load_number(input.y + first) : x;
            return Walk::is_minus_zero(static_cast<double>(widen(x)), static_cast<double>(widen(y)));
        } else {
            return false;
        }
    }

    [[nodiscard]] static __device__ __forceinline__ std::uint32_t tiles_of(std::uint32_t n) {
        return (n + vectors * warp_size - 1) / (vectors * warp_size);
    }

    /// A tile of one set of groups, or of two sets of short ones.
    struct Tile {
        std::uint32_t set, tile;
    };
    /// The thread's group and the number in it of its vector i of a tile.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t group_of(const Tile& t, int i) const {
        return group_in(t.set + (two_sets && 2 * i >= vectors ? 1 : 0));
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t number_of(const Tile& t, int i) const {
        const int in_set = two_sets && 2 * i >= vectors ? i - vectors / 2 : i;
        return t.tile * (vectors * warp_size) + lane_of_group() + (in_set << lanes_log);
    }

    /// The thread's vectors of a tile; zeros behind the end.
    __device__ __forceinline__ void load(const Tile& t, Mine& x, Mine& y) const {
        std::uint32_t group = group_of(t, 0), count = vectors_of(group);
        std::uint64_t p = shuffle_from(at, group);
        if (all_of_warp(lanes_log == 5 && (t.tile + 1) * (vectors * warp_size) <= count)) { // all of one group
            const auto* const from = reinterpret_cast<const char*>(p + 16 * number_of(t, 0));
#pragma unroll
            for (int i = 0; i < vectors; ++i) {
                x.v[i] = load16_once(from + i * (16 * warp_size));
                if constexpr (Input::binary) y.v[i] = load16_once(from + distance() + i * (16 * warp_size));
            }
            return;
        }
#pragma unroll
        for (int i = 0; i < vectors; ++i) {
            if (2 * i == vectors && two_sets) {
                group = group_of(t, i);
                count = vectors_of(group);
                p = shuffle_from(at, group);
            }
            const std::uint32_t number = number_of(t, i);
            const auto* const from = reinterpret_cast<const char*>(p + 16 * number);
            x.v[i] = {};
            load16_once_if(number < count, from, x.v[i]);
            if constexpr (Input::binary) {
                y.v[i] = {};
                load16_once_if(number < count, from + distance(), y.v[i]);
            }
        }
    }
    /// v without its elements but number from … to − 1.
    static __device__ __forceinline__ void cut(uint4& v, int from, int to) {
        constexpr int bits = 8 * static_cast<int>(sizeof(T));
        std::uint32_t* const words[] = {&v.x, &v.y, &v.z, &v.w};
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            const int low = from * bits - 32 * w, high = to * bits - 32 * w;
            const std::uint32_t above = low <= 0    ? ~0u
                                        : low >= 32 ? 0
                                                    : ~0u << low,
                                below = high <= 0    ? 0
                                        : high >= 32 ? ~0u
                                                     : ~(~0u << high);
            *words[w] &= above & below;
        }
    }
    __device__ __forceinline__ void cut_edges(const Tile& t, Mine& x, Mine& y) const {
#pragma unroll
        for (int i = 0; i < vectors; ++i) {
            const std::uint32_t of_group = shuffle_from(shape, group_of(t, i)), number = number_of(t, i);
            const int head = of_group >> head_bit & 7, tail = of_group >> tail_bit;
            const int from = number == 0 ? head : 0,
                      to = tail != 0 && number + 1 == (of_group & most_vectors) ? tail : per_vector;
            if (from == 0 && to == per_vector) continue;
            cut(x.v[i], from, to);
            if constexpr (Input::binary) cut(y.v[i], from, to);
        }
    }

    /// Adds a tile to the bins. `bad`: not all of the thread's elements are in them. Where there
    /// are several tiles, the group has the whole warp.
    __device__ __forceinline__ void add(BinsOf& bins, const Tile& t, const Mine& x, const Mine& y, bool& bad) {
        if constexpr (plain) {
            bins.template add<vectors / 2>(x.v);
            if (two_sets) take(t.set, bins, bad);
            bins.template add<vectors / 2>(x.v + vectors / 2);
        } else {
            add_to_bins(bins, t, x, y, bad);
        }
    }
    __device__ __forceinline__ void add_to_bins(BinsOf& bins, const Tile& t, const Mine& x, const Mine& y, bool& bad) {
        constexpr bool room_for_all = BinsOf::parts * Input::each <= BinsOf::adds;
        Range range_x, range_y;
        Walk::template look<BinsOf>(range_x, range_y, x, y);
        const auto ways = Walk::ways_of(bins, range_x);
        if (!ways.in_one_bin && !all_of_warp(bins.holds(range_x, range_y))) {
            moved = true;
            if (t.tile > 0) bad = true; // what was in them is lost
            bins.drop();
            if (!bins.move(range_x, range_y) && !bins.holds(range_x, range_y)) bad = true;
        }
        if constexpr (room_for_all) bins.reserve_own(BinsOf::parts * Input::each);
#pragma unroll
        for (int i = 0; i < vectors; ++i) {
#pragma unroll
            for (int k = 0; k < BinsOf::parts; ++k) {
                if constexpr (!room_for_all) bins.reserve_own(per_vector);
                Walk::add_part(bins, k, x.v[i], y.v[i], ways);
            }
            if (2 * (i + 1) == vectors && two_sets) take(t.set, bins, bad);
        }
    }
    /// What the bins hold, for the threads that are to have it.
    __device__ __forceinline__ void take(std::uint32_t set, BinsOf& bins, bool bad) {
        const bool keeps = lane_of_group() == set;
        if constexpr (plain) {
            const BinsOf all = bins.joined(lanes(), vectors_of(group_in(set)) * per_vector);
            if (keeps) mine = all;
            bins = {};
        } else {
            take_of_bins(keeps, bins, bad);
        }
    }
    __device__ __forceinline__ void take_of_bins(bool keeps, BinsOf& bins, bool bad) {
        bins.drain_own();
        const std::uint32_t all_bad = votes_of_warp(bad);
#pragma unroll
        for (int k = 0; k < BinsOf::count; ++k) {
            Word sum = bins.own_sum(k);
            bins.own_sum(k) = 0;
#pragma unroll 1
            for (int mask = 1; mask < lanes(); mask *= 2)
                sum += shuffle_xor(sum, mask);
            if (keeps) mine[k] = sum;
        }
        if (!keeps) return;
        place = bins.place();
        fits = (all_bad >> (lane() >> lanes_log << lanes_log) & (~0u >> (warp_size - lanes()))) == 0;
    }

    /// Sums the batch, of which every thread has set its group.
    __device__ __forceinline__ void sum_up(BinsOf& bins, std::uint32_t batch) {
        const std::uint32_t widest = warp_max(shape & most_vectors);
        if (widest == 0) return;
        any_edges = any_of_warp(shape >> head_bit != 0);
        two_sets = widest <= vectors;
        lanes_log = widest <= 2 * vectors ? 1 : min(32 - __clz((widest - 1) / vectors), 5);
        const std::uint32_t groups_of_set = warp_size >> lanes_log,
                            sets = (batch + groups_of_set - 1) >> (5 - lanes_log);
        Mine next_x, next_y;
        if constexpr (loads_ahead) load({0, 0}, next_x, next_y);
        for (std::uint32_t set = 0; set < sets; set += two_sets ? 2 : 1) {
            // What was loaded ahead is a tile of this set, also where its group has no vectors.
            const std::uint32_t tiles = lanes_log < 5 ? 1 : max(loads_ahead ? 1u : 0u, tiles_of(vectors_of(set)));
            bool bad = false;
            for (std::uint32_t tile = 0; tile < tiles; ++tile) {
                const Tile t{set, tile};
                Mine x, y;
                if constexpr (loads_ahead) {
                    x = next_x;
                    const Tile next = tile + 1 < tiles ? Tile{set, tile + 1} : Tile{set + (two_sets ? 2 : 1), 0};
                    if (next.set < sets) load(next, next_x, next_y);
                } else {
                    load(t, x, y);
                }
                if (any_edges && (tile == 0 || tile + 1 == tiles)) cut_edges(t, x, y);
                if constexpr (!Input::binary) y = x;
                add(bins, t, x, y, bad);
            }
            take(set + (two_sets ? 1 : 0), bins, bad);
        }
    }
};

} // namespace detreduce::cuda::exact
