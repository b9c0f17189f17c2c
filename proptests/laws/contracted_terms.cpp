// transform_reduce() in a source that is compiled with contraction, as one without
// detreduce::reproducible_fp may be.
#include "laws/contracted_terms.hpp"

#include <detreduce/transform_reduce.hpp>

namespace detreduce::proptests {

template <class T>
Status contracted_sum(const T* x, std::uint64_t n, T* out) {
    return transform_reduce([](TermOf<T> v) { return v * v - 1; }, x, n, out);
}
template Status contracted_sum(const float16*, std::uint64_t, float16*);
template Status contracted_sum(const bfloat16*, std::uint64_t, bfloat16*);
template Status contracted_sum(const float*, std::uint64_t, float*);
template Status contracted_sum(const double*, std::uint64_t, double*);

Status shared_sum_contracted(const float* x, std::uint64_t n, float* out) {
    return transform_reduce(SharedTerm(), x, n, out);
}

} // namespace detreduce::proptests
