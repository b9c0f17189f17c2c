// Bins of mean and variance: those of the elements and those of their squares, which take the same
// loads.
#pragma once

#include "multiset/exact/term_bins.cuh"

namespace detreduce::cuda::exact {

/// What TermBins are of one term, of both. Their windows move together.
template <class T, class SumWindow, class SquareWindow>
struct MomentBins {
    using Sums = TermBins<T, transforms::Element, SumWindow>;
    using Squares = TermBins<T, transforms::Square, SquareWindow>;
    struct Place {
        int sums, squares;
    };
    static_assert(SumWindow::adds == SquareWindow::adds);
    static constexpr bool shared_room = true, adds_products = true, in_one_bin = Squares::in_one_bin, moved = false;
    static constexpr int parts = 1, adds = SumWindow::adds, count = Sums::count + Squares::count;
    static constexpr std::uint64_t most_held = std::min(Sums::most_held, Squares::most_held);

    Sums sums;
    Squares squares;
    Room<T> room, one_bin; ///< of elements that both windows hold
    Exponents seen{};
    int added = 0, drains = 0; ///< of both: their own stay zero

    static constexpr int to_squares = acc::exact::words + LongOf<states_of<T, transforms::Square>>::counters; ///< words
    __device__ __forceinline__ explicit MomentBins(Word* words = nullptr) : sums(words), squares(words + to_squares) {}

    [[nodiscard]] __device__ __forceinline__ Place place() const { return {sums.top, squares.top}; }
    struct Window {
        TermWindow<T> sums, squares;
        Room<T> room, one_bin;
        Exponents seen;
    };
    [[nodiscard]] __device__ __forceinline__ Window window() const {
        return {sums.window(), squares.window(), room, one_bin, seen};
    }
    __device__ __forceinline__ void set_window(const Window& w) {
        sums.set_window(w.sums);
        squares.set_window(w.squares);
        room = w.room;
        one_bin = w.one_bin;
        seen = w.seen;
    }
    __device__ __forceinline__ void reserve(int n) {
        if (added + n > adds) drain();
        added += n;
    }
    __device__ __forceinline__ void reserve_own(int n) {
        if (added + n > adds) drain_own();
        added += n;
    }
    __device__ __forceinline__ void drain_own() {
        sums.drain_own();
        squares.drain_own();
        added = 0;
    }
    __device__ __forceinline__ void drain() {
        drain_own();
        if (++drains == Sums::drains_between_flushes) flush();
    }
    __device__ __forceinline__ void flush() {
        sums.flush();
        squares.flush();
        drains = 0;
    }
    __device__ __forceinline__ void flush_all() {
        if (added == 0 && drains == 0) return;
        drain_own();
        flush();
    }
    __device__ __forceinline__ void drop() {
        sums.drop();
        squares.drop();
        added = drains = 0;
    }
    [[nodiscard]] __device__ __forceinline__ Word& own_sum(int k) {
        return k < Sums::count ? sums.own_sum(k) : squares.own_sum(k - Sums::count);
    }
    __device__ __forceinline__ void deposit(Word* to, int k, Word low, Word high) const {
        if (k < Sums::count) return sums.deposit(to, k, low, high);
        squares.deposit(to + to_squares, k - Sums::count, low, high);
    }
    /// Adds the elements of one load, and their squares; both must have room.
    template <bool OneBin>
    __device__ __forceinline__ void add(const uint4& x) {
        Element<T>::each_double(x, [&](double small) {
            const double number = scale_of_moved<T> == 1 ? small : small * scale_of_moved<T>;
            sums.values.add(Sums::moved ? small : number);
            squares.template add_product<OneBin>(number, number);
        });
    }

    __device__ __forceinline__ bool holds(const Range& x, const Range&) const { return room.holds(x); }
    __device__ __forceinline__ bool move(const Range& x, const Range&) {
        const Exponents now = exponents_of<T>(x);
        if (!now.finite()) return false;
        if (room.above != 0 && move_to(now.with(seen), now, Squares::most_above)) return true;
        return move_to(now, now, Squares::most_above);
    }
    /// Sums of doubles have 40 bits to spare, most of which they need below.
    __device__ __forceinline__ bool move_to(const Exponents& x, const Exponents&, int room_above) {
        flush_all();
        if (!squares.move_to(x, x, room_above)) return false;
        room = {};
        if (!sums.move_to(x, x, fp::is_f64<T> ? min(room_above, 10) : room_above)) return false;
        seen = x;
        room = sums.room_x.with(squares.room_x);
        one_bin = room.with(squares.one_bin);
        return true;
    }
};

/// Bins for groups that those of the first window do not hold.
template <class T, class Map>
struct WideBinsIn {
    using type = TermBins<T, Map, GroupWindow<Map::linear>>;
};
template <class T>
struct WideBinsIn<T, Moments> {
    using type = MomentBins<T, GroupWindow<true>, GroupWindow<false>>;
};
template <class Input>
using WideBins = typename WideBinsIn<typename Input::Type, typename Input::MapType>::type;

} // namespace detreduce::cuda::exact
