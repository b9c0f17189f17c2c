// What the multiset engine keeps of elements from one kernel to the next. Parts of it merge in any
// order, to the same bits.
#pragma once

#include <cstdint>

#include <detreduce/config.hpp>
#include <detreduce/types.hpp>

namespace detreduce::cuda::multiset {

/// What is known of elements.
struct Found {
    std::int64_t key;     ///< the largest; of both ends, of the minimum
    std::uint64_t second; ///< the lowest index with that key; the largest key, of the maximum; or the count
    friend constexpr bool operator==(const Found&, const Found&) = default;
    /// The key that is value number `which` of a result.
    [[nodiscard]] DETREDUCE_HD constexpr std::int64_t key_of(int which) const {
        return which == 0 ? key : static_cast<std::int64_t>(second);
    }
    DETREDUCE_HD constexpr void set_key(int which, std::int64_t k) {
        if (which == 0) {
            key = k;
        } else {
            second = static_cast<std::uint64_t>(k);
        }
    }
};

/// The largest key, and the lowest index that has it.
struct FoundBest {
    static constexpr int values = 1; ///< of a result, unless that is an integer
    [[nodiscard]] static DETREDUCE_HD constexpr Found identity() { return {INT64_MIN, no_index}; }
    static DETREDUCE_HD constexpr void merge(Found& all, const Found& other) {
        if (other.key > all.key || (other.key == all.key && other.second < all.second)) all = other;
    }
    /// What was found in a part that begins with this element.
    static DETREDUCE_HD constexpr void shift(Found& found, std::uint64_t begin) {
        if (found.second != no_index) found.second += begin;
    }
};

/// The keys of the minimum and of the maximum: of either, the largest.
struct FoundEnds {
    static constexpr int values = 2;
    [[nodiscard]] static DETREDUCE_HD constexpr Found identity() {
        return {INT64_MIN, static_cast<std::uint64_t>(INT64_MIN)};
    }
    static DETREDUCE_HD constexpr void merge(Found& all, const Found& other) {
        if (other.key > all.key) all.key = other.key;
        if (static_cast<std::int64_t>(other.second) > static_cast<std::int64_t>(all.second)) all.second = other.second;
    }
    static DETREDUCE_HD constexpr void shift(Found&, std::uint64_t) {}
};

/// How many there are.
struct FoundCount {
    static constexpr int values = 0;
    [[nodiscard]] static DETREDUCE_HD constexpr Found identity() { return {0, 0}; }
    static DETREDUCE_HD constexpr void merge(Found& all, const Found& other) { all.second += other.second; }
    static DETREDUCE_HD constexpr void shift(Found&, std::uint64_t) {}
};

} // namespace detreduce::cuda::multiset
