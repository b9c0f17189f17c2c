// States one by one, as the host looks at those of a plan.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <detreduce/plan.hpp>

#include "state_form.hpp"

namespace detreduce {

/// Words of the largest state: Σx and Σx² of doubles.
inline constexpr std::size_t most_state_words = acc::exact::words + acc::exact::joined_words;

/// A copy of one state, normalized.
struct OneState {
    std::array<acc::exact::Word, most_state_words> words;
    bool good;

    OneState(const detail::StateForm& form, const acc::exact::Word* from) {
        std::copy_n(from, form.count, words.data());
        good = form.normalize(words.data());
    }
};

/// f(index, its place among the words) for each group, which says whether it is good. The first
/// that is not.
template <class F>
std::uint64_t first_bad(const Plan& plan, const F& f) {
    std::uint64_t bad = Status::no_element;
    for (std::uint64_t g = 0; g < plan.groups(); ++g) {
        if (!f(g, g * plan.state_words()) && bad == Status::no_element) bad = g;
    }
    return bad;
}

} // namespace detreduce
