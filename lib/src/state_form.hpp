// The words of a state (lib/SPEC.md, section 18), as they follow from what is asked for.
#pragma once

#include <detreduce/acc/exact.hpp>
#include <detreduce/plan.hpp>
#include <detreduce/spec/state_key.hpp>

namespace detreduce::detail {

/// Largest Request::first_index: an index, with that of an element added, is below 2^62.
inline constexpr std::uint64_t max_first_index = std::uint64_t{1} << 61;

/// Is a sum of what this op adds up a joined one? Products of doubles are, and those of a list of tensors, whose dtypes a plan does not know.
[[nodiscard]] inline bool has_joined_products(const Request& r) {
    const OpInfo& op = info(r.op);
    const bool products = op.kind == Kind::moments || op.transform == Transform::square ||
                          op.transform == Transform::product || op.transform == Transform::squared_difference;
    return products && (r.dtype == DType::f64 || r.shape == Shape::tensors);
}

/// How key `which` of an op that compares is made.
[[nodiscard]] inline spec::StateKey state_key(const Request& r, int which) {
    const spec::View view = r.op == Op::minmax && which == 0 ? spec::View::least : spec::view_of(r.op);
    return {view, r.nan};
}

} // namespace detreduce::detail
