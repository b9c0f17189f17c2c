// The words of a state (lib/SPEC.md, section 18), as they follow from what is asked for; for host
// and device.
#pragma once

#include <detreduce/acc/exact.hpp>
#include <detreduce/config.hpp>
#include <detreduce/plan.hpp>
#include <detreduce/spec/list_found.hpp>
#include <detreduce/spec/state_key.hpp>

namespace detreduce::detail {

/// Largest Request::first_index: an index, with that of an element added, is below 2^62.
inline constexpr std::uint64_t max_first_index = std::uint64_t{1} << 61;

/// Does this op add up products? Their sums reach further than those of elements.
[[nodiscard]] inline bool adds_products(const OpInfo& op) {
    return op.kind == Kind::moments || op.transform == Transform::square || op.transform == Transform::product ||
           op.transform == Transform::squared_difference;
}
/// Is a sum of what this op adds up a joined one? Products of doubles are. A list has tensors of
/// f64 only where that is its dtype, if states are wanted of it.
[[nodiscard]] inline bool has_joined_products(const Request& r) {
    return adds_products(info(r.op)) && r.dtype == DType::f64;
}

/// Bytes of what run() writes of a group: of its result, or of both, or of its state.
[[nodiscard]] inline std::size_t group_bytes(const Plan& plan) {
    if (plan.request().state) return plan.state_words() * sizeof(std::int64_t);
    return plan.result_bytes() * static_cast<std::size_t>(info(plan.request().op).results);
}

/// How key `which` of an op that compares is made.
[[nodiscard]] inline spec::StateKey state_key(const Request& r, int which) {
    const spec::View view = r.op == Op::minmax && which == 0 ? spec::View::minimum : spec::view_of(r.op);
    return {view, r.nan};
}

/// Of −0 nothing matters but whether there is nothing else: word 72 of these is 0 if there is.
DETREDUCE_HD constexpr void settle_zeros(acc::exact::Word* w) {
    if (w[acc::exact::negative_zeros] != w[acc::exact::elements]) w[acc::exact::negative_zeros] = 0;
}

/// Brings the words of a sum of so many limbs to their one form; false if they are none, or beyond
/// the headroom. Without elements the sum is zero. `negative`: whether it may be below zero.
template <int Limbs>
[[nodiscard]] DETREDUCE_HD constexpr bool normalize_sum(acc::exact::Word* w, bool negative) {
    namespace exact = acc::exact;
    exact::Word* const counter = w + Limbs - exact::limbs;
    bool fits = !exact::is_beyond<Limbs>(w);
    DETREDUCE_UNROLL(1)
    for (int k = exact::nan_count; k < exact::weight; ++k)
        fits = fits && counter[k] >= 0 && counter[k] <= counter[exact::elements];
    if (!fits) return false;
    exact::normalize<Limbs>(w);
    settle_zeros(counter);
    if (counter[exact::elements] == 0 && counter[exact::weight] != 0) return false;
    return negative || w[Limbs - 1] >= 0;
}

/// What does not know how its states are merged: each is a few sums, one or more keys, or a count.
struct StateForm {
    using Word = acc::exact::Word;

    Kind kind;
    bool joined, negative, pair; ///< of the last sum; whether it may be below zero; a key and a place
    int count;
    spec::StateKey keys[2];

    [[nodiscard]] static StateForm of(const Plan& plan) {
        const Request& r = plan.request();
        const OpInfo& op = info(r.op);
        return {op.kind,
                has_joined_products(r),
                op.kind == Kind::sum && (op.transform == Transform::element || op.transform == Transform::product),
                op.kind == Kind::order && op.gives_integer,
                static_cast<int>(plan.state_words()),
                {state_key(r, 0), state_key(r, 1)}};
    }

    /// Brings the words of a state to their one form; false if they are none, or beyond the
    /// headroom.
    [[nodiscard]] DETREDUCE_HD constexpr bool normalize(Word* w) const {
        return kind == Kind::sum || kind == Kind::moments ? normalize_sums(w) : fits(w);
    }
    /// The same of sums alone, and of keys and counts, which have one form.
    [[nodiscard]] DETREDUCE_HD constexpr bool normalize_sums(Word* w) const {
        if (kind == Kind::sum) return normalize_last(w);
        return normalize_sum<acc::exact::limbs>(w, true) && normalize_last(w + acc::exact::words) &&
               w[acc::exact::elements] == w[count - acc::exact::words + acc::exact::elements];
    }
    [[nodiscard]] DETREDUCE_HD constexpr bool fits(const Word* w) const {
        return kind == Kind::order ? are_keys(w) : *w >= 0 && *w <= acc::exact::max_count;
    }
    /// Adds a normalized state to another. The result may be beyond the headroom.
    DETREDUCE_HD constexpr void merge(Word* w, const Word* other) const {
        const bool first = other[0] > w[0] || (pair && other[0] == w[0] && other[1] > w[1]);
        DETREDUCE_UNROLL(1)
        for (int k = 0; k < count; ++k) {
            if (kind != Kind::order) { // without a sign: 2^62 + 2^62 wraps, and is seen
                w[k] = static_cast<Word>(static_cast<std::uint64_t>(w[k]) + static_cast<std::uint64_t>(other[k]));
            } else if (pair ? first : other[k] > w[k]) {
                w[k] = other[k];
            }
        }
    }
    /// The form of what normalize() refuses, which it refuses, too; keys that are above all but
    /// NaN's.
    DETREDUCE_HD constexpr void set_beyond(Word* w) const {
        if (kind == Kind::count || kind == Kind::order) {
            for (int k = 0; k < count; ++k)
                w[k] = kind == Kind::count ? INT64_MIN : INT64_MAX - 1;
            return;
        }
        if (kind == Kind::moments) {
            acc::exact::set_beyond(w);
            w += acc::exact::words;
        }
        joined ? acc::exact::set_beyond<acc::exact::product_limbs>(w) : acc::exact::set_beyond(w);
    }
    /// What keys or a count say.
    [[nodiscard]] DETREDUCE_HD constexpr spec::ListFound found(const Word* w, const spec::ListView& view) const {
        spec::ListFound found{};
        if (kind == Kind::count) {
            found.integer = static_cast<std::uint64_t>(*w);
        } else if (*w != spec::StateKey::nothing) {
            found.elements = 1; // or more
            for (int k = 0; k < (view.both ? 2 : 1); ++k)
                found.keys[k] = view.key(k, keys[k].element(w[k]));
            if (pair) found.integer = static_cast<std::uint64_t>(~w[1]);
        }
        return found;
    }

  private:
    [[nodiscard]] DETREDUCE_HD constexpr bool normalize_last(Word* w) const {
        return joined ? normalize_sum<acc::exact::product_limbs>(w, negative)
                      : normalize_sum<acc::exact::limbs>(w, negative);
    }
    [[nodiscard]] DETREDUCE_HD constexpr bool are_keys(const Word* w) const {
        const bool nothing = w[0] == spec::StateKey::nothing;
        if (!keys[0].has(w[0])) return false;
        if (pair) return nothing ? w[1] == spec::StateKey::nothing : w[1] < 0 && ~w[1] < acc::exact::max_count;
        return count == 1 || (keys[1].has(w[1]) && nothing == (w[1] == spec::StateKey::nothing));
    }
};

} // namespace detreduce::detail
