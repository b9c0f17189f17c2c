// transform_reduce() in a source that is compiled without contraction, of a function that
// contracted_terms.cpp has, too.
#include "laws/contracted_terms.hpp"

#include <detreduce/transform_reduce.hpp>

namespace detreduce::proptests {

Status shared_sum_plain(const float* x, std::uint64_t n, float* out) {
    return transform_reduce(SharedTerm(), x, n, out);
}

} // namespace detreduce::proptests
