// States at the edge of their headroom (lib/SPEC.md, section 7.1), and what the oracle says of
// them.
#pragma once

#include <array>
#include <vector>

#include "laws/states.hpp"

namespace detreduce::proptests {

/// A sum without bounds, in units of 2^lowest_exponent, and the five counters; or what went beyond.
struct UnboundedState {
    accuracy::cpp_int value = 0;
    std::array<accuracy::cpp_int, 5> counters{};
    bool beyond = false;

    void check() {
        const accuracy::cpp_int most = accuracy::cpp_int(1) << 62, sum = accuracy::cpp_int(1) << (1086 + 1088);
        beyond = beyond || value >= sum || value < -sum;
        for (const accuracy::cpp_int& count : counters)
            beyond = beyond || count > most || count < -most;
    }
    void add(const UnboundedState& other, int sign) {
        beyond = beyond || other.beyond;
        value += sign * other.value;
        for (std::size_t i = 0; i < counters.size(); ++i)
            counters[i] += sign * other.counters[i];
        check();
    }
    /// The one form that SPEC.md names.
    [[nodiscard]] ExactState state() const {
        ExactState state;
        const auto words = state.words();
        if (beyond) {
            words[67] = std::int64_t{1} << 47;
            words[68] = words[73] = 1;
            return state;
        }
        accuracy::cpp_int rest = value;
        const accuracy::cpp_int radix = accuracy::cpp_int(1) << 32;
        for (std::size_t k = 0; k < 67; ++k) {
            accuracy::cpp_int limb = rest % radix;
            if (limb < 0) limb += radix;
            words[k] = static_cast<std::int64_t>(limb);
            rest = (rest - limb) / radix;
        }
        words[67] = static_cast<std::int64_t>(rest);
        for (std::size_t i = 0; i < counters.size(); ++i)
            words[68 + i] = static_cast<std::int64_t>(counters[i]);
        words[73] = value != 0;
        return state;
    }
};

/// One within the headroom, likely at its edge.
inline UnboundedState edge_state(std::uint64_t word) {
    UnboundedState x;
    const auto integer = [&](std::uint64_t k, unsigned edge) {
        const std::uint64_t r = accuracy::hash(word, k);
        const accuracy::cpp_int whole = accuracy::cpp_int(1) << edge, few = r / 64 % 3;
        const accuracy::cpp_int sizes[] = {0, few, whole - few, whole / 2 + few, whole / 2 - few, r / 1024};
        const accuracy::cpp_int size = sizes[r % 6];
        return accuracy::cpp_int(r / 8 % 2 ? -size : size);
    };
    x.value = integer(0, 1086 + 1088);
    const accuracy::cpp_int sum = accuracy::cpp_int(1) << (1086 + 1088);
    if (x.value >= sum) x.value = sum - 1;
    for (std::size_t i = 0; i < x.counters.size(); ++i)
        x.counters[i] = accuracy::hash(word, 20 + i) % 2 ? integer(1 + i, 62) : accuracy::cpp_int(0);
    return x;
}

} // namespace detreduce::proptests
