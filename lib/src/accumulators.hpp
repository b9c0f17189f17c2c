// The accumulator of each method that adds in the order of lib/SPEC.md, section 3: the one list.
#pragma once

#include <detreduce/acc/rounded.hpp>
#include <detreduce/acc/two_fold.hpp>
#include <detreduce/types.hpp>

/// X(method, accumulator, a template of the format in which it adds). Methods that are not here and
/// add have that of tree.
#define DETREDUCE_ACCUMULATORS(X)                                                                                      \
    X(tree, acc::Rounded)                                                                                              \
    X(kahan, acc::Kahan)                                                                                               \
    X(compensated, acc::Compensated)

namespace detreduce {

/// f(accumulator) of sums in V by `method`; the accumulator is null, and there for its type.
template <class V, class F>
decltype(auto) with_accumulator(Method method, const F& f) {
    switch (method) {
#define DETREDUCE_CASE(method, Acc)                                                                                    \
    case Method::method:                                                                                               \
        return f(static_cast<const Acc<V>*>(nullptr));
        DETREDUCE_ACCUMULATORS(DETREDUCE_CASE)
#undef DETREDUCE_CASE
    default:
        return f(static_cast<const acc::Rounded<V>*>(nullptr));
    }
}

} // namespace detreduce
