// Exact states for tests: from elements, in pieces, with carries to do.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include <detreduce/accuracy/oracle.hpp>
#include <detreduce/exact_state.hpp>

#include "laws/extremes.hpp"
#include "laws/suite.hpp"

namespace detreduce::proptests {

inline bool same_bytes(const ExactState& a, const ExactState& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}
inline ExactState normalized(ExactState state) {
    state.normalize();
    return state;
}

/// The state that the host makes of one element after the other: what all others are compared with.
template <class T>
ExactState one_by_one(std::span<const T> x) {
    ExactState state;
    for (const T v : x)
        state.add(v);
    return normalized(state);
}

/// Adds x to `state`, on the backend.
template <class T>
void add_to(ExactState& state, std::span<const T> x, std::uint64_t word) {
    TestBackend::add(state, x, draw_from(Method::exact, word));
}

/// x cut into `count` parts of random lengths, some of them empty.
template <class T>
std::vector<std::span<const T>> parts_of(std::span<const T> x, std::size_t count, std::uint64_t word) {
    std::vector<std::size_t> cuts{0, x.size()};
    for (std::size_t i = 1; i < count; ++i)
        cuts.push_back(accuracy::hash(word, i) % (x.size() + 1));
    std::sort(cuts.begin(), cuts.end());
    std::vector<std::span<const T>> parts;
    for (std::size_t i = 0; i < count; ++i)
        parts.push_back(x.subspan(cuts[i], cuts[i + 1] - cuts[i]));
    return parts;
}

/// A vector of any bits, half of the time an extreme one.
template <class T>
std::vector<T> any_vector(std::uint64_t word) {
    const Values<T> xs = *values<T>(any_bits<T>, lengths<T>());
    if (word % 2) return xs.xs;
    return extreme<T>(static_cast<Extreme>(accuracy::hash(word, 20) % extremes), xs.size(), word);
}

/// The value of the limbs, in units of 2^lowest_exponent.
inline accuracy::cpp_int limbs_of(const ExactState& state) {
    accuracy::cpp_int value = 0;
    for (int k = acc::exact::limbs - 1; k >= 0; --k)
        value = value * (accuracy::cpp_int(1) << 32) + state.words()[static_cast<std::size_t>(k)];
    return value;
}

/// A state as sums of others may leave it: limbs up to ±weight · 2^33 with carries to do, or none
/// but a few. The highest is a sixteenth of that at most, so that up to 15 such states are within
/// the headroom.
inline ExactState unfinished_state(std::uint64_t word, acc::exact::Word weight = acc::exact::max_weight) {
    ExactState state;
    const std::int64_t most = weight << 33;
    const int first = static_cast<int>(accuracy::hash(word, 0) % 67);
    const int last =
        word % 2 ? 67 : first + static_cast<int>(accuracy::hash(word, 1) % static_cast<unsigned>(67 - first));
    for (int k = first; k <= last && k < 67; ++k) {
        const std::uint64_t limb = accuracy::hash(word, 10 + static_cast<unsigned>(k));
        const auto size = static_cast<std::int64_t>((limb >> 2) % static_cast<std::uint64_t>(most) >> limb % 62);
        const std::int64_t edges[] = {0, 0, 1, 0xffffffff, 0x100000000, most};
        const std::int64_t magnitude = (limb / 64 % 2 ? size : edges[limb / 128 % 6]) >> (k == 66 ? 4 : 0);
        state.words()[static_cast<std::size_t>(k)] = limb / 1024 % 2 ? magnitude : -magnitude;
    }
    state.words()[acc::exact::elements] = 1;
    state.words()[acc::exact::weight] = weight;
    return state;
}

} // namespace detreduce::proptests
