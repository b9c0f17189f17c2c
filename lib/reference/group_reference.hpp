// lib/SPEC.md, section 10, of ops that compare or count: the results of a group, which may be
// empty, or of a list of tensors, which is one array. For the tests, as spec_reference.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "count_reference.hpp"
#include "order_reference.hpp"

namespace detreduce::reference {

/// As bits: one result, or both of minmax. Out is the type of the result, an integer for indices
/// and counts.
template <class Out, class T>
std::vector<std::uint64_t> group(Op op, std::span<const T> x, NanPolicy nan) {
    if (op == Op::count_nonzero || op == Op::count_unique) return {count(op, x)};
    if (op == Op::argmin || op == Op::argmax) return {x.empty() ? no_index : found_by(op, x, nan)};
    if constexpr (!std::is_integral_v<Out>) {
        const auto bits = [&](Op one) -> std::uint64_t {
            if (x.empty() && one != Op::nrminf) return fp::Format<Out>::canonical_nan;
            return fp::to_bits(order<Out>(one, x, nan));
        };
        if (op == Op::minmax) return {bits(Op::min), bits(Op::max)};
        return {bits(op)};
    }
    return {};
}

} // namespace detreduce::reference
