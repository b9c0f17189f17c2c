// What ids and offsets of segments must be (lib/SPEC.md, section 10), for host and device.
#pragma once

#include <cstdint>

#include <detreduce/config.hpp>

namespace detreduce::spec {

/// Ids or offsets: `count` entries that must not descend, and must be less than `end`.
struct Ascending {
    const void* entries;
    std::uint64_t count, end;
    bool wide;  ///< entries are std::uint64_t, otherwise std::uint32_t
    bool whole; ///< the first must be 0 and the last end − 1, as offsets of segments that leave no element out are

    [[nodiscard]] DETREDUCE_HD std::uint64_t operator[](std::uint64_t i) const {
        return wide ? static_cast<const std::uint64_t*>(entries)[i] : static_cast<const std::uint32_t*>(entries)[i];
    }
};

/// What can be wrong with an entry. At the first bad one it is the same for all who look.
enum class Fault : std::uint32_t { none, too_large, descends, late_start, early_end };

[[nodiscard]] DETREDUCE_HD Fault fault_at(const Ascending& a, std::uint64_t i) {
    const std::uint64_t entry = a[i];
    if (entry >= a.end) return Fault::too_large;
    if (i > 0 && a[i - 1] > entry) return Fault::descends;
    if (!a.whole) return Fault::none;
    if (i == 0 && entry != 0) return Fault::late_start;
    return i + 1 == a.count && entry + 1 != a.end ? Fault::early_end : Fault::none;
}

/// An index and what is wrong there in one number, so that the minimum of such numbers is that of
/// the first bad entry.
inline constexpr std::uint64_t no_finding = ~std::uint64_t{0};
[[nodiscard]] DETREDUCE_HD constexpr std::uint64_t finding(std::uint64_t i, Fault fault) {
    return i << 3 | static_cast<std::uint64_t>(fault);
}
[[nodiscard]] DETREDUCE_HD constexpr std::uint64_t index_of(std::uint64_t found) {
    return found >> 3;
}
[[nodiscard]] DETREDUCE_HD constexpr Fault fault_of(std::uint64_t found) {
    return static_cast<Fault>(found & 7);
}

/// How many entries are less than `value`, by halving. Whatever the entries are, this is at most
/// `count`, and no less for a greater value: of two values that part, the greater goes on in the
/// upper half.
[[nodiscard]] DETREDUCE_HD std::uint64_t count_below(const Ascending& a, std::uint64_t value) {
    std::uint64_t first = 0, last = a.count;
    while (first < last) {
        const std::uint64_t middle = first + (last - first) / 2;
        if (a[middle] < value) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    return first;
}

} // namespace detreduce::spec
