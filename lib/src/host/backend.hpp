// The CPU backend, as seen by run() and by ExactState.
#pragma once

#include <cstddef>
#include <cstdint>

#include <detreduce/acc/exact.hpp>
#include <detreduce/clip_grad_norm.hpp>
#include <detreduce/plan.hpp>
#include <detreduce/spec/list_found.hpp>

#include "host/groups.hpp"
#include "host/power_sums.hpp"

namespace detreduce {
class LossPlan;
struct LossInputs;
} // namespace detreduce
namespace detreduce::detail {
struct TermSource;
}

namespace detreduce::host {

inline constexpr std::uint32_t max_threads = 1024;

/// What launch.threads = 0 means here and now, for n elements.
[[nodiscard]] std::uint32_t default_threads(std::uint64_t n, std::size_t element_bytes) noexcept;

/// Bytes of workspace that a checked request needs.
[[nodiscard]] std::size_t workspace_bytes(const Request& request) noexcept;

/// Runs a checked plan.
void reduce(const Plan& plan, const Inputs& in, void* out, void* workspace) noexcept;

/// The same for one group of an op that compares.
template <class T>
void reduce_by_order(const Plan& plan, const Launch& launch, const Arrays<T>& in, void* out) noexcept;

/// The same for mean and variance.
void reduce_moments(const Plan& plan, const Inputs& in, void* out) noexcept;
void reduce_moments_of_tensors(const Plan& plan, const Tensor* list, void* out) noexcept;

/// Adds the elements of a tensor to sums that are normalized.
void add_moments(const Plan& plan, const Tensor& tensor, PowerSums& sums) noexcept;
/// The results of n elements from their sums.
void finish_moments(const Plan& plan, std::uint64_t n, PowerSums& sums, void* out) noexcept;

/// The same for one group of minmax.
template <class T>
void reduce_to_both_ends(const Plan& plan, const Launch& launch, const Arrays<T>& in, void* out) noexcept;

/// The same for products, of any number of elements.
void multiply(const Plan& plan, const Inputs& in, void* out) noexcept;

/// The same for ops that count.
void count(const Plan& plan, const Inputs& in, void* out, void* workspace) noexcept;

/// The same for lists of tensors, of ops that compare or count.
void reduce_tensors(const Plan& plan, const Inputs& in, void* out) noexcept;

/// What such an op finds in one of them.
[[nodiscard]] spec::ListFound find_in(const Plan& plan, const Tensor& tensor, const spec::ListView& list) noexcept;

/// Adds the terms of a list of tensors to acc::exact::product_states states. To be called in a StandardFpEnvironment.
void add_tensors(const Plan& plan, const Inputs& in, acc::exact::Word* states) noexcept;

/// The norm of a checked plan, and the tensors scaled.
void clip(const ClipPlan& plan, const Tensor* list, void* norm_out) noexcept;

/// What such an op, or minmax, finds in one tensor, which is not empty.
template <class T>
[[nodiscard]] spec::ListFound find_by_order(const Plan& plan, const Arrays<T>& in, const spec::ListView& list) noexcept;
template <class T>
[[nodiscard]] spec::ListFound find_both_ends(const Plan& plan, const Arrays<T>& in,
                                             const spec::ListView& list) noexcept;
/// How many elements are not zero.
template <class T>
[[nodiscard]] std::uint64_t nonzeros(const Arrays<T>& in, const Launch& launch) noexcept;

/// Runs a checked plan over terms that are computed on the way.
void reduce_computed(const Plan& plan, const detail::TermSource& source, void* out) noexcept;

/// Terms of a loss, or their sum or mean, of a checked plan that is no op; and the gradient, of any.
void compute_loss(const LossPlan& plan, const LossInputs& in, void* out) noexcept;
void compute_loss_gradient(const LossPlan& plan, const LossInputs& in, const void* upstream, void* dx) noexcept;

/// Adds n elements to the words of an exact state, and normalizes them.
void add_exact(DType dtype, const void* x, std::uint64_t n, acc::exact::Word* words, const Launch& launch) noexcept;

} // namespace detreduce::host
