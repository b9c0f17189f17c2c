// clip_grad_norm() on the CPU: the norm of the list, then one tensor after the other, each by all
// threads.
#include <algorithm>

#include <detreduce/acc/exact_rounding.hpp>
#include <detreduce/acc/finish.hpp>
#include <detreduce/spec/clip.hpp>

#include "host/backend.hpp"
#include "host/fp_environment.hpp"
#include "host/multiset/multiset.hpp"

namespace detreduce::host {
namespace {

template <class T>
DETREDUCE_OPAQUE void scale(T* x, std::uint64_t n, const spec::ClipFactor& factor) {
    const spec::ClipFactor own = factor; // no element can be a part of it
    for (std::uint64_t i = 0; i < n; ++i)
        x[i] = spec::clipped(x[i], own);
}

template <class T>
void scale_tensor(T* x, std::uint64_t n, const spec::ClipFactor& factor, std::uint32_t threads) {
    constexpr std::uint64_t block = (std::uint64_t{512} << 10) / sizeof(T); // less is not worth a thread
    for_each((n + block - 1) / block, threads,
             [&](std::uint64_t i) { scale(x + i * block, std::min(block, n - i * block), factor); });
}

/// In a function of its own, as is scale(): what is computed here depends on the environment.
DETREDUCE_OPAQUE spec::ClipFactor finish(const ClipPlan& plan, const acc::exact::Word* states, void* norm_out) {
    const auto norm = [&](auto t) { return acc::exact::round_products<decltype(t)>(states, Finalize::root); };
    acc::store_as(norm_out, plan.request().norm, norm);
    return spec::clip_factor(norm(double{}), plan.request().max_norm, plan.request().epsilon);
}

void scale_list(const ClipPlan& plan, const Tensor* list, const acc::exact::Word* states, void* norm_out) {
    const spec::ClipFactor factor = finish(plan, states, norm_out);
    for (std::uint64_t i = 0; factor.clips && i < plan.request().tensors; ++i) {
        with_dtype_from_16_bits(list[i].dtype, [&]<class T>(T) {
            scale_tensor(const_cast<T*>(static_cast<const T*>(list[i].data)), list[i].n, factor,
                         plan.norm().launch().threads);
        });
    }
}

} // namespace

void clip(const ClipPlan& plan, const Tensor* list, void* norm_out) noexcept {
    const StandardFpEnvironment environment;
    scale_list(plan, list, sum_of_list(plan.norm(), list).words, norm_out);
}

bool clip_by_state(const ClipPlan& plan, const std::int64_t* state, const Tensor* list, void* norm_out) noexcept {
    const StandardFpEnvironment environment;
    acc::exact::Word joined[acc::exact::joined_words], states[acc::exact::product_states * acc::exact::words];
    std::copy_n(state, acc::exact::joined_words, joined);
    if (!detail::normalize_sum<acc::exact::product_limbs>(joined, false)) return false;
    acc::exact::part(joined, states);
    scale_list(plan, list, states, norm_out);
    return true;
}

} // namespace detreduce::host
