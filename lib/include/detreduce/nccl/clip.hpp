// clip_grad_norm() of the tensors of all ranks of an NCCL communicator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <detreduce/clip_grad_norm.hpp>
#include <detreduce/nccl/calls.hpp>
#include <detreduce/ranks_clip.hpp>

namespace detreduce::nccl {

/// What a rank has of the tensors whose norm, taken as one vector, is to be clipped: some of them,
/// or shards of them. replicated: null, or a flag for each: every rank has it, or a copy of it, and
/// it counts once, as rank 0 has it.
struct ClipList {
    const Tensor* list = nullptr; ///< of arrays in memory of the GPU; itself in host memory
    std::uint64_t tensors = 0;
    const unsigned char* replicated = nullptr;
};
struct ClipOptions {
    double max_norm = 1, epsilon = 1e-6; ///< as in ClipRequest; the same on every rank
    DType norm = DType::f64;             ///< of what is written to norm_out: f64 or f32
    Launch launch = {};                  ///< of the norm
};
/// The plan of clipping such a list, with the lengths and dtypes that it has, by all ranks.
///
/// status       the same on every rank: invalid_argument for `max_norm`, `epsilon` or `norm` that
///              are not the same everywhere, and for `list` if that of another rank was refused;
///              else as make_plan() of above, and what run() of a detreduce::ClipPlan says of this
///              rank's arguments
class ClipPlan;
[[nodiscard]] ClipPlan make_clip_plan(const ClipList& own, ncclComm_t comm, const ClipOptions& options = {}) noexcept;
[[nodiscard]] std::vector<ClipPlan> make_clip_plans(std::span<const ClipList> own, std::span<const ncclComm_t> comms,
                                                    const ClipOptions& options = {});

/// Writes the norm of the tensors of all ranks as one vector to `norm_out`, and scales those of
/// this rank if it is too large. All must call it; begin() and end() as above.
///
/// list         of the lengths and dtypes of the plan's; read before this returns
/// norm_out     one element, in memory of the GPU
/// guarantee    order: norm and elements are those of one GPU with all tensors, each replicated one
///              once
/// messages     one ncclAllReduce of 142 integers of 64 bits
/// stream       everything is enqueued on `stream`, which is not waited for; nothing is allocated;
///              it may be captured in a graph
/// errors       what run() of a detreduce::ClipPlan says of this rank's arguments: the others,
///              which cannot know, get NaN for the norm, and no tensor of theirs is written.
///              cuda_error as above
Status clip_grad_norm(ClipPlan& plan, const Tensor* list, void* norm_out, Stream stream = nullptr) noexcept;
Status begin(ClipPlan& plan, const Tensor* list, Stream stream = nullptr) noexcept;
Status end(ClipPlan& plan, const Tensor* list, void* norm_out, Stream stream = nullptr) noexcept;
/// All of that at once, and waits, as wait() does. Nothing is written after an error, which all
/// ranks have.
Status clip_grad_norm(const Tensor* list, std::uint64_t tensors, const unsigned char* replicated, ncclComm_t comm,
                      void* norm_out, const ClipOptions& options = {}, Stream stream = nullptr) noexcept;

class ClipPlan : public Plan {
    friend ClipPlan make_clip_plan(const ClipList& own, ncclComm_t comm, const ClipOptions& options) noexcept;
    friend std::vector<ClipPlan> make_clip_plans(std::span<const ClipList> own, std::span<const ncclComm_t> comms,
                                                 const ClipOptions& options);
    friend Status begin(ClipPlan& plan, const Tensor* list, Stream stream) noexcept;
    friend Status end(ClipPlan& plan, const Tensor* list, void* norm_out, Stream stream) noexcept;
    friend Status clip_grad_norm(const Tensor* list, std::uint64_t tensors, const unsigned char* replicated,
                                 ncclComm_t comm, void* norm_out, const ClipOptions& options, Stream stream) noexcept;

    /// norm_out: null, or where the address is at which the one call writes the norm.
    ClipPlan(const ClipList& own, ncclComm_t comm, const ClipOptions& options, void* const* norm_out) noexcept {
        open(comm);
        if (!status_.ok()) return;
        tensors_ = {own.tensors, options, {Backend::cuda, device_}, options.launch};
        own_ = look_at(own, norm_out);
        ask(tensors_.norm(!own_.ok()));
        card_.options = detreduce::detail::values_of(options);
        if (!own_.ok() && card_.found == detail::Card::good)
            card_.found = own_.code == StatusCode::out_of_memory ? detail::Card::no_memory : detail::Card::bad_list;
        put_card();
    }
    [[nodiscard]] Status look_at(const ClipList& own, void* const* norm_out) noexcept {
        if (const Status bad = tensors_.count(own.list, own.replicated, rank_); !bad.ok()) return bad;
        const detail::DeviceScope device(device_);
        if (!device.status().ok()) return device.status();
        clip_ = detreduce::make_clip_plan(tensors_.request());
        if (!clip_.status().ok()) return clip_.status();
        void* memory = nullptr;
        if (!detail::status_of("cudaMalloc", cudaMalloc(&memory, clip_.workspace_bytes() + sizeof(double))).ok())
            return detreduce::detail::no_room_for_list();
        factor_.reset(memory);
        return check(own.list, norm_out != nullptr ? *norm_out : some_norm());
    }
    /// Takes the place of one that is not known yet.
    [[nodiscard]] void* some_norm() const noexcept {
        return static_cast<char*>(factor_.get()) + clip_.workspace_bytes();
    }
    [[nodiscard]] Status check(const Tensor* list, void* norm_out) const noexcept {
        return clip_by_state(clip_, nullptr, list, norm_out, factor_.get());
    }

    detreduce::ClipPlan clip_;
    detreduce::detail::RankTensors tensors_;
    detreduce::detail::CudaMemory factor_; ///< the workspace of clip_
};

inline ClipPlan make_clip_plan(const ClipList& own, ncclComm_t comm, const ClipOptions& options) noexcept {
    ClipPlan plan(own, comm, options, nullptr);
    Plan::agree(std::span(&plan, 1));
    return plan;
}
inline std::vector<ClipPlan> make_clip_plans(std::span<const ClipList> own, std::span<const ncclComm_t> comms,
                                             const ClipOptions& options) {
    std::vector<ClipPlan> plans;
    for (std::size_t i = 0; i < std::min(own.size(), comms.size()); ++i)
        plans.push_back(ClipPlan(own[i], comms[i], options, nullptr));
    Plan::agree(std::span(plans));
    return plans;
}

inline Status begin(ClipPlan& plan, const Tensor* list, Stream stream) noexcept {
    const auto put = [&] {
        if (const Status bad = plan.check(list, plan.some_norm()); !bad.ok()) return bad;
        return run(plan.plan_, plan.tensors_.counted(list), plan.words_, plan.workspace_, stream);
    };
    return plan.begin_with(
        put, [&] { return plan.Plan::send(stream); }, stream);
}
inline Status end(ClipPlan& plan, const Tensor* list, void* norm_out, Stream stream) noexcept {
    if (!plan.status_.ok()) return plan.status_;
    const detail::DeviceScope device(plan.device_);
    if (!device.status().ok()) return device.status();
    return clip_by_state(plan.clip_, plan.words_, list, norm_out, plan.factor_.get(), stream);
}
inline Status clip_grad_norm(ClipPlan& plan, const Tensor* list, void* norm_out, Stream stream) noexcept {
    const Status sent = begin(plan, list, stream);
    return sent.ok() ? end(plan, list, norm_out, stream) : sent;
}
inline Status clip_grad_norm(const Tensor* list, std::uint64_t tensors, const unsigned char* replicated,
                             ncclComm_t comm, void* norm_out, const ClipOptions& options, Stream stream) noexcept {
    ClipPlan plan({list, tensors, replicated}, comm, options, &norm_out);
    Plan::agree(std::span(&plan, 1));
    if (!plan.status().ok()) return plan.status();
    const Status done = clip_grad_norm(plan, list, norm_out, stream);
    return done.ok() ? wait(plan, stream) : done;
}

} // namespace detreduce::nccl
