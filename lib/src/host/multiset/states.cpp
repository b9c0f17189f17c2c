// States of plans on the host: group by group, each a few words.
#include <algorithm>
#include <array>
#include <type_traits>

#include "host/backend.hpp"
#include "host/fp_environment.hpp"
#include "host/multiset/multiset.hpp"

namespace detreduce::host {
namespace {

using acc::exact::Word;

/// Words of the largest state: Σx and Σx² of doubles.
constexpr std::size_t most_words = acc::exact::words + acc::exact::joined_words;

/// A copy of one state, normalized.
struct OneState {
    std::array<Word, most_words> words;
    bool good;

    OneState(const detail::StateForm& form, const Word* from) {
        std::copy_n(from, form.count, words.data());
        good = form.normalize(words.data());
    }
};

/// f(index, its place among the words) for each group, which says whether it is good. The first that is not.
template <class F>
std::uint64_t first_bad(const Plan& plan, const F& f) {
    std::uint64_t bad = Status::no_element;
    for (std::uint64_t g = 0; g < plan.groups(); ++g) {
        if (!f(g, g * plan.state_words()) && bad == Status::no_element) bad = g;
    }
    return bad;
}

} // namespace

std::uint64_t merge_states(const Plan& plan, std::int64_t* states, const std::int64_t* others) noexcept {
    const auto form = detail::StateForm::of(plan);
    return first_bad(plan, [&](std::uint64_t, std::uint64_t at) {
        const OneState other(form, others + at);
        Word* const w = states + at;
        bool good = form.normalize(w) && other.good;
        if (good) {
            form.merge(w, other.words.data());
            good = form.normalize(w);
        }
        if (!good) form.set_beyond(w);
        return good;
    });
}

std::uint64_t normalize_states(const Plan& plan, std::int64_t* states) noexcept {
    const auto form = detail::StateForm::of(plan);
    return first_bad(plan, [&](std::uint64_t, std::uint64_t at) {
        const bool good = form.normalize(states + at);
        if (!good) form.set_beyond(states + at);
        return good;
    });
}

std::uint64_t finish_states(const Plan& plan, const std::int64_t* states, void* out) noexcept {
    const StandardFpEnvironment environment;
    const auto form = detail::StateForm::of(plan);
    const std::uint64_t bad =
        first_bad(plan, [&](std::uint64_t, std::uint64_t at) { return OneState(form, states + at).good; });
    if (bad != Status::no_element) return bad;
    const std::size_t bytes = plan.result_bytes() * static_cast<std::size_t>(info(plan.request().op).results);
    with_multiset_op(plan, [&]<class Op>(const Op& op) {
        for_each(plan.groups(), plan.launch().threads, [&](std::uint64_t g) {
            const OneState state(form, states + g * plan.state_words());
            typename Op::Found found{};
            op.load(found, state.words.data());
            std::uint64_t n = 0; // which the others do not ask for
            if constexpr (std::is_same_v<Op, MomentsOp>)
                n = static_cast<std::uint64_t>(state.words[acc::exact::elements]);
            op.store(found, n, static_cast<char*>(out) + g * bytes);
        });
    });
    return bad;
}

} // namespace detreduce::host
