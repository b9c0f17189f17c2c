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
using acc::exact::words;

/// Words of the largest state: Σx and Σx² of doubles.
constexpr std::size_t most_words = words + acc::exact::joined_words;

/// One sum of a state, of so many digits. `negative`: whether it may be below zero.
template <int Digits>
struct SumWords {
    static constexpr int count = Digits + acc::exact::counters;
    bool negative;

    /// Normalizes the words, or says that they are not those of a sum, or beyond the headroom.
    [[nodiscard]] bool normalize(Word* w) const {
        const Word* const counter = w + Digits; // NaN, +inf, −inf, elements in all, −0
        bool fits = !acc::exact::is_beyond<Digits>(w);
        for (int k = 0; k < acc::exact::counters - 1; ++k)
            fits = fits && counter[k] >= 0 && counter[k] <= counter[acc::exact::elements - acc::exact::digits];
        if (!fits) return false;
        acc::exact::normalize<Digits>(w);
        return negative || w[Digits - 1] >= 0;
    }
};

/// What does not know how its states are merged: each is a few sums, one or more keys, or a count.
class StateOp {
  public:
    explicit StateOp(const Plan& plan)
        : request_(plan.request()), op_(info(request_.op)), count_(plan.state_words()),
          joined_(detail::has_joined_products(request_)) {}

    /// Brings the words of a state to their one form; false if they are none, or beyond the headroom.
    [[nodiscard]] bool normalize(Word* w) const {
        switch (op_.kind) {
        case Kind::sum:
            return last_sum(w, op_.transform == Transform::element || op_.transform == Transform::product);
        case Kind::moments:
            return SumWords<acc::exact::digits>{true}.normalize(w) && last_sum(w + words, false) &&
                   w[acc::exact::elements] == last_elements(w + words);
        case Kind::order:
            return are_keys(w);
        default:
            return *w >= 0 && *w <= acc::exact::max_count;
        }
    }
    /// Adds a normalized state to another. The result may be beyond the headroom.
    void merge(Word* w, const Word* other) const {
        if (op_.kind != Kind::order) {
            for (std::size_t k = 0; k < count_; ++k) // without a sign: 2^62 + 2^62 wraps, and is seen
                w[k] = static_cast<Word>(static_cast<std::uint64_t>(w[k]) + static_cast<std::uint64_t>(other[k]));
        } else if (op_.gives_integer) {
            if (other[0] > w[0] || (other[0] == w[0] && other[1] > w[1])) std::copy_n(other, 2, w);
        } else {
            for (std::size_t k = 0; k < count_; ++k)
                w[k] = std::max(w[k], other[k]);
        }
    }
    /// The form of sums and counts that normalize() refuses.
    void set_beyond(Word* w) const {
        if (op_.kind == Kind::count) {
            *w = INT64_MIN;
            return;
        }
        if (op_.kind == Kind::order) return;
        if (op_.kind == Kind::moments) {
            acc::exact::set_beyond(w);
            w += words;
        }
        joined_ ? acc::exact::set_beyond<acc::exact::product_digits>(w) : acc::exact::set_beyond(w);
    }

  private:
    [[nodiscard]] bool last_sum(Word* w, bool negative) const {
        if (joined_) return SumWords<acc::exact::product_digits>{negative}.normalize(w);
        return SumWords<acc::exact::digits>{negative}.normalize(w);
    }
    [[nodiscard]] Word last_elements(const Word* w) const {
        return w[acc::exact::elements + (joined_ ? acc::exact::product_digits - acc::exact::digits : 0)];
    }
    [[nodiscard]] bool are_keys(const Word* w) const {
        const bool nothing = w[0] == spec::StateKey::nothing;
        if (!detail::state_key(request_, 0).has(w[0])) return false;
        if (op_.gives_integer)
            return nothing ? w[1] == spec::StateKey::nothing : w[1] < 0 && ~w[1] < acc::exact::max_count;
        return op_.results == 1 ||
               (detail::state_key(request_, 1).has(w[1]) && nothing == (w[1] == spec::StateKey::nothing));
    }

    const Request& request_;
    const OpInfo& op_;
    std::size_t count_;
    bool joined_;
};

/// A copy of one state, normalized.
struct OneState {
    std::array<Word, most_words> words;
    bool good;

    OneState(const StateOp& op, const Word* from, std::size_t count) {
        std::copy_n(from, count, words.data());
        good = op.normalize(words.data());
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
    const StateOp op(plan);
    return first_bad(plan, [&](std::uint64_t, std::uint64_t at) {
        const OneState other(op, others + at, plan.state_words());
        Word* const w = states + at;
        bool good = op.normalize(w) && other.good;
        if (good) {
            op.merge(w, other.words.data());
            good = op.normalize(w);
        }
        if (!good) op.set_beyond(w);
        return good;
    });
}

std::uint64_t normalize_states(const Plan& plan, std::int64_t* states) noexcept {
    const StateOp op(plan);
    return first_bad(plan, [&](std::uint64_t, std::uint64_t at) {
        const bool good = op.normalize(states + at);
        if (!good) op.set_beyond(states + at);
        return good;
    });
}

std::uint64_t finish_states(const Plan& plan, const std::int64_t* states, void* out) noexcept {
    const StandardFpEnvironment environment;
    const StateOp form(plan);
    const std::uint64_t bad = first_bad(
        plan, [&](std::uint64_t, std::uint64_t at) { return OneState(form, states + at, plan.state_words()).good; });
    if (bad != Status::no_element) return bad;
    const std::size_t bytes = plan.result_bytes() * static_cast<std::size_t>(info(plan.request().op).results);
    with_multiset_op(plan, [&]<class Op>(const Op& op) {
        for_each(plan.groups(), plan.launch().threads, [&](std::uint64_t g) {
            const OneState state(form, states + g * plan.state_words(), plan.state_words());
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
