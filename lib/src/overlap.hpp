// Whether what is written shares memory with what is read.
#pragma once

#include <cstdint>
#include <utility>

namespace detreduce {

/// Rows of so many bytes, so many bytes apart.
struct Area {
    const void* p;
    std::uint64_t rows, bytes, apart;
    [[nodiscard]] bool is_empty() const { return p == nullptr || rows == 0 || bytes == 0; }
};

/// n elements next to each other.
[[nodiscard]] inline Area list_of(const void* p, std::uint64_t n, std::uint64_t bytes) {
    return {p, 1, n * bytes, n * bytes};
}

/// Have two of them a byte in common?
[[nodiscard]] inline bool overlap(Area a, Area b) {
    if (a.is_empty() || b.is_empty()) return false;
    auto at = reinterpret_cast<std::uintptr_t>(a.p), other = reinterpret_cast<std::uintptr_t>(b.p);
    if (at > other) {
        std::swap(at, other);
        std::swap(a, b);
    }
    if (other - at >= (a.rows - 1) * a.apart + a.bytes) return false; // behind it
    if (a.rows == 1) return true;
    if (b.rows > 1 && b.apart != a.apart) return true; // as rows of one may lie between those of the other
    // Row j of b begins so many bytes behind the beginning of row i + j of a, and ends before the
    // next of a, or does not.
    const std::uint64_t i = (other - at) / a.apart, behind = (other - at) % a.apart;
    return behind < a.bytes || (i + 1 < a.rows && behind + b.bytes > a.apart);
}

} // namespace detreduce
