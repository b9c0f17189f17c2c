// clip_grad_norm() of the tensors of all processes of an MPI communicator.
#pragma once

#include <array>
#include <cstdint>

#include <detreduce/clip_grad_norm.hpp>
#include <detreduce/mpi/calls.hpp>
#include <detreduce/ranks_clip.hpp>

namespace detreduce::mpi {

/// clip_grad_norm() of the tensors of all processes as one vector: each has some of them, or shards
/// of them, and scales those that it has. All must call it.
struct ClipOptions {
    double max_norm = 1, epsilon = 1e-6; ///< as in ClipRequest; the same on every process
    DType norm = DType::f64;             ///< of what is written to norm_out: f64 or f32
    std::uint32_t threads = 0;           ///< 0: the library's choice
};
/// list         arrays in host memory that this process has; how many there are, and of what sizes,
///              is its own affair
/// replicated   null, or a flag for each of them: every process has it, or a copy of it, and it
///              counts once, as rank 0 has it
/// guarantee    order: norm and elements are those of one process with all tensors, each replicated
///              one once
/// messages     an MPI_Allreduce of 144 integers of 64 bits, and three small messages: an MPI_Bcast
///              and two MPI_Allreduce
/// errors       what run() of a ClipPlan says of this process's arguments, and invalid_argument for
///              `list` on all others; invalid_argument for `max_norm`, `epsilon` or `norm` that are
///              not the same everywhere. Nothing is written then
Status clip_grad_norm(const Tensor* list, std::uint64_t tensors, const unsigned char* replicated, MPI_Comm comm,
                      void* norm_out, const ClipOptions& options = {}) noexcept;

namespace detail {
/// `first` is the first value that is not the same on all processes, or `count`: by MPI_MIN of each
/// value and of its complement.
template <std::size_t count>
[[nodiscard]] int all_same(const std::array<std::int64_t, count>& values, MPI_Comm comm, std::size_t& first) {
    std::array<std::int64_t, 2 * count> minimum{};
    for (std::size_t i = 0; i < count; ++i) {
        minimum[2 * i] = values[i];
        minimum[2 * i + 1] = ~values[i];
    }
    const int error =
        MPI_Allreduce(MPI_IN_PLACE, minimum.data(), static_cast<int>(minimum.size()), MPI_INT64_T, MPI_MIN, comm);
    for (first = 0; first < count && minimum[2 * first] == ~minimum[2 * first + 1];)
        ++first;
    return error;
}
} // namespace detail

inline Status clip_grad_norm(const Tensor* list, std::uint64_t tensors, const unsigned char* replicated, MPI_Comm comm,
                             void* norm_out, const ClipOptions& options) noexcept {
    int rank = 0;
    if (!detail::usable(comm) || MPI_Comm_rank(comm, &rank) != MPI_SUCCESS) return detail::failed();
    constexpr auto names = detreduce::detail::clip_options;
    std::size_t other = 0;
    if (detail::all_same(detreduce::detail::values_of(options), comm, other) != MPI_SUCCESS) return detail::failed();
    if (other < names.size()) return detreduce::detail::differs(names[other]);
    detreduce::detail::RankTensors own_tensors(tensors, options, cpu, {.threads = options.threads});
    Status own = own_tensors.count(list, replicated, rank);
    const ClipPlan clip = make_clip_plan(own_tensors.request());
    if (own.ok()) own = clip.status();
    if (own.ok()) own = clip_by_state(clip, nullptr, list, norm_out);
    Plan plan = make_plan(own_tensors.norm(!own.ok()), comm);
    if (!plan.status().ok()) return plan.status();
    if (own.ok()) own = plan.put(own_tensors.counted(list), nullptr);
    if (plan.send(plan.message_of(own, true, nullptr), detail::everywhere) != MPI_SUCCESS) return detail::failed();
    if (!plan.own_.ok()) return plan.own_;
    if (plan.words_[plan.words_.size() - 2] != 0) return detreduce::detail::other_list();
    return clip_by_state(clip, plan.words_.data(), list, norm_out);
}

} // namespace detreduce::mpi
