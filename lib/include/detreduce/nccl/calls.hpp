// Reductions by all ranks of an NCCL communicator, by their plans.
#pragma once

#include <cstdint>

#include <detreduce/nccl/plan.hpp>

namespace detreduce::nccl {

/// Reduces the elements of all ranks, and writes the results to `out` on each of them, or on the
/// one of rank `root`. All must call it. begin() sends, and end(), without a word to the others,
/// finishes: a thread that works for several ranks calls begin() for each of them between
/// ncclGroupStart() and ncclGroupEnd(), and end() behind.
///
/// in, out      as in run(), in memory of the GPU; `out` of another rank than `root` means nothing
/// guarantee    order: neither how elements are dealt out to ranks, nor how many there are, nor
///              what NCCL does with the messages, means anything to the bits. Of argmin and argmax,
///              device: the index is the lowest, if first_index says where each rank's elements
///              begin
/// messages     one ncclAllReduce or ncclReduce of ncclInt64 for all groups: ncclSum of sums and
///              counts, ncclMax of what is compared; of pairs for argmin and argmax one
///              ncclAllGather, whatever the root
/// communicators  also those that do not block, but for begin() in a group, which would have to
///                wait
/// stream       everything is enqueued on `stream`, which is not waited for; nothing is allocated;
///              it may be captured in a graph, which the plan must outlive
/// errors       what run() says of this rank's arguments: the others, which cannot know, get NaN,
///              or no_index for an index or a count (of up to 2048 such ranks). invalid_argument
///              for `root`. cuda_error with the name of the call that NCCL or CUDA refused; what
///              goes wrong later is what check() and wait() say
Status all_reduce(Plan& plan, Inputs in, void* out, Stream stream = nullptr) noexcept;
Status reduce(Plan& plan, Inputs in, void* out, int root, Stream stream = nullptr) noexcept;
Status begin(Plan& plan, Inputs in, Stream stream = nullptr, int root = everywhere) noexcept;
Status end(Plan& plan, void* out, Stream stream = nullptr) noexcept;

/// The same of states that this rank has already, of plan.states(), in memory of the GPU: merged
/// from those of parts that came one after the other, say (states.hpp).
///
/// errors       as above; invalid_argument for `states` where it is null. Of states that
///              normalize() would refuse every rank gets NaN, or no_index
Status all_reduce_states(Plan& plan, const std::int64_t* states, void* out, Stream stream = nullptr) noexcept;
Status reduce_states(Plan& plan, const std::int64_t* states, void* out, int root, Stream stream = nullptr) noexcept;
Status begin_states(Plan& plan, const std::int64_t* states, Stream stream = nullptr, int root = everywhere) noexcept;

/// What this rank has, to all others.
inline Status Plan::send(Stream stream) noexcept {
    const std::uint64_t n = count();
    if (n == 0) return {};
    const auto to = static_cast<cudaStream_t>(stream);
    if (gathers())
        return detail::settled("ncclAllGather", ncclAllGather(words_, gathered_, n, ncclInt64, comm_, to), comm_);
    const ncclRedOp_t op = state_merge(plan_) == StateMerge::sum ? ncclSum : ncclMax;
    if (root_ != everywhere)
        return detail::settled("ncclReduce", ncclReduce(words_, words_, n, ncclInt64, op, root_, comm_, to), comm_);
    return detail::settled("ncclAllReduce", ncclAllReduce(words_, words_, n, ncclInt64, op, comm_, to), comm_);
}

inline Status Plan::spoil(Stream stream) noexcept {
    return detail::status_of("cudaMemcpyAsync",
                             cudaMemcpyAsync(words_, spoiled_.data(), spoiled_.size() * sizeof(std::int64_t),
                                             cudaMemcpyHostToDevice, static_cast<cudaStream_t>(stream)));
}

/// `put` enqueues this rank's words, or says why there are none.
template <class Put, class Send>
Status Plan::begin_with(const Put& put, const Send& send, Stream stream) noexcept {
    if (!status_.ok()) return status_;
    const detail::DeviceScope device(device_);
    if (!device.status().ok()) return device.status();
    own_ = put();
    if (!own_.ok()) (void)spoil(stream); // others wait for this rank in any case
    const Status sent = send();
    return own_.ok() ? sent : own_;
}
template <class Put>
Status Plan::begin_to(const Put& put, Stream stream, int root) noexcept {
    if (!status_.ok()) return status_;
    if (root < everywhere || root >= size_) return detreduce::detail::no_such_root();
    root_ = root;
    return begin_with(
        put, [&] { return send(stream); }, stream);
}

inline Status begin(Plan& plan, Inputs in, Stream stream, int root) noexcept {
    return plan.begin_to([&] { return run(plan.plan_, in, plan.words_, plan.workspace_, stream); }, stream, root);
}
inline Status begin_states(Plan& plan, const std::int64_t* states, Stream stream, int root) noexcept {
    const auto put = [&] {
        if (plan.count() == 0) return Status{};
        if (states == nullptr) return Status{StatusCode::invalid_argument, "states", "must not be null"};
        const cudaError_t copied = cudaMemcpyAsync(plan.words_, states, plan.count() * sizeof(std::int64_t),
                                                   cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(stream));
        const Status status = detail::status_of("cudaMemcpyAsync", copied);
        return status.ok() ? normalize(plan.plan_, plan.words_, stream) : status;
    };
    return plan.begin_to(put, stream, root);
}

inline Status end(Plan& plan, void* out, Stream stream) noexcept {
    if (!plan.status_.ok()) return plan.status_;
    if (plan.root_ != everywhere && plan.root_ != plan.rank_) return {};
    const detail::DeviceScope device(plan.device_);
    if (!device.status().ok()) return device.status();
    const std::int64_t* states = plan.words_;
    if (plan.gathers()) {
        for (int r = 1; r < plan.size_; ++r) {
            const Status merged =
                merge(plan.plan_, plan.gathered_, plan.gathered_ + static_cast<unsigned>(r) * plan.count(), stream);
            if (!merged.ok()) return merged;
        }
        states = plan.gathered_;
    }
    return finish(plan.plan_, states, out, stream);
}

inline Status all_reduce(Plan& plan, Inputs in, void* out, Stream stream) noexcept {
    const Status sent = begin(plan, in, stream);
    return sent.ok() ? end(plan, out, stream) : sent;
}
inline Status reduce(Plan& plan, Inputs in, void* out, int root, Stream stream) noexcept {
    if (root < 0) return detreduce::detail::no_such_root();
    const Status sent = begin(plan, in, stream, root);
    return sent.ok() ? end(plan, out, stream) : sent;
}
inline Status all_reduce_states(Plan& plan, const std::int64_t* states, void* out, Stream stream) noexcept {
    const Status sent = begin_states(plan, states, stream);
    return sent.ok() ? end(plan, out, stream) : sent;
}
inline Status reduce_states(Plan& plan, const std::int64_t* states, void* out, int root, Stream stream) noexcept {
    if (root < 0) return detreduce::detail::no_such_root();
    const Status sent = begin_states(plan, states, stream, root);
    return sent.ok() ? end(plan, out, stream) : sent;
}

} // namespace detreduce::nccl
