// The accumulator of each method that adds in the order of lib/SPEC.md, section 3: the one place that knows.
#pragma once

#include <detreduce/acc/rounded.hpp>
#include <detreduce/acc/two_fold.hpp>
#include <detreduce/types.hpp>

namespace detreduce {

/// f(accumulator) of sums in V by `method`; the accumulator is null, and there for its type. That of tree is what other methods than these two have as well.
template <class V, class F>
decltype(auto) with_accumulator(Method method, const F& f) {
    if (method == Method::kahan) return f(static_cast<const acc::Kahan<V>*>(nullptr));
    if (method == Method::compensated) return f(static_cast<const acc::Compensated<V>*>(nullptr));
    return f(static_cast<const acc::Rounded<V>*>(nullptr));
}

} // namespace detreduce
