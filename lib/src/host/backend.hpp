// The CPU backend, as seen by run() and by ExactState.
#pragma once

#include <cstddef>
#include <cstdint>

#include <detreduce/acc/exact.hpp>
#include <detreduce/clip_grad_norm.hpp>
#include <detreduce/plan.hpp>

#pragma GCC visibility push(default) // as the header has them that is read later
namespace detreduce {
class LossPlan;
struct LossInputs;
} // namespace detreduce
#pragma GCC visibility pop
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

/// The same over terms that are computed on the way.
void reduce_computed(const Plan& plan, const detail::TermSource& source, void* out) noexcept;

/// What those two call, in a StandardFpEnvironment.
void reduce_sequences(const Plan& plan, const Inputs& in, void* out) noexcept;
void reduce_computed_sequence(const Plan& plan, const detail::TermSource& source, void* out) noexcept;
void reduce_multisets(const Plan& plan, const Inputs& in, void* out) noexcept;
void reduce_computed_multiset(const Plan& plan, const detail::TermSource& source, void* out) noexcept;
void count_unique(const Plan& plan, const Inputs& in, void* out, void* workspace) noexcept;

/// The norm of a checked plan, and the tensors scaled.
void clip(const ClipPlan& plan, const Tensor* list, void* norm_out) noexcept;
/// By the norm in the words of a state; false if they are none. Nothing is written then.
[[nodiscard]] bool clip_by_state(const ClipPlan& plan, const std::int64_t* state, const Tensor* list,
                                 void* norm_out) noexcept;

/// As enqueue_loss() and enqueue_loss_gradient() of cuda_backend.hpp, of checked plans.
void compute_loss(const LossPlan& plan, const LossInputs& in, void* out) noexcept;
void compute_loss_gradient(const LossPlan& plan, const LossInputs& in, const void* upstream, const double* sums,
                           void* dx) noexcept;

/// The states of a checked plan of such, each on its own. The index of the first group that is no
/// state, or is beyond its headroom; else no_element. merge_states(): with those of `others`, which
/// finish() then refuses of such a group; finish_states(): nothing is written then.
[[nodiscard]] std::uint64_t merge_states(const Plan& plan, std::int64_t* states, const std::int64_t* others) noexcept;
[[nodiscard]] std::uint64_t normalize_states(const Plan& plan, std::int64_t* states) noexcept;
[[nodiscard]] std::uint64_t finish_states(const Plan& plan, const std::int64_t* states, void* out) noexcept;

/// Adds the elements that `plan` is of to the words of an exact state, and normalizes them.
void add_exact(const Plan& plan, const void* x, acc::exact::Word* words) noexcept;

} // namespace detreduce::host
