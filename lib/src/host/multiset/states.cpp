// States of plans on the host: group by group, each a few words.
#include <type_traits>

#include "host/backend.hpp"
#include "host/fp_environment.hpp"
#include "host/multiset/multiset.hpp"
#include "one_state.hpp"

namespace detreduce::host {

using acc::exact::Word;

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
