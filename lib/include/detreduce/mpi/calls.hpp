// Reductions by all processes of an MPI communicator, by their plans.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include <detreduce/mpi/plan.hpp>

namespace detreduce::mpi {

/// Reduces the elements of all processes, and writes the results to `out` on all of them, or on the
/// one of rank `root`. All must call it.
///
/// in, out      as in run(), in memory of the plan's device; `out` of another process than `root`
///              means nothing
/// stream       of a GPU: the work is enqueued on it, and waited for
/// guarantee    order: neither how elements are dealt out to processes, nor how many there are, nor
///              what MPI does with the messages, means anything to the bits. Of argmin and argmax,
///              device: the index is the lowest, if first_index says where each process's elements
///              begin
/// messages     one MPI_Allreduce, or MPI_Reduce, of integers (of more than most_words several):
///              MPI_SUM of sums and counts, MPI_MAX of what is compared; of pairs by an operation
///              of their own for argmin and argmax
/// errors       what run() says of this process's arguments; invalid_argument for `in` on all
///              others that know of it (all_reduce(): all, reduce(): the root), for `root`, and for
///              `comm` as above; what finish() says. `out` is not written then
Status all_reduce(Plan& plan, Inputs in, void* out, Stream stream = nullptr) noexcept;
Status reduce(Plan& plan, Inputs in, void* out, int root, Stream stream = nullptr) noexcept;

/// The same of states that this process has already, of plan.states(): merged from those of parts
/// that came one after the other, say (states.hpp).
///
/// errors       as above; invalid_argument for `states` where it is null, misaligned, or what
///              normalize() refuses
Status all_reduce_states(Plan& plan, const std::int64_t* states, void* out, Stream stream = nullptr) noexcept;
Status reduce_states(Plan& plan, const std::int64_t* states, void* out, int root, Stream stream = nullptr) noexcept;

/// all_reduce() in two: begin() reduces this process's elements and sends what it has, by
/// MPI_Iallreduce; end() waits for the others and writes the results. What lies between is the
/// caller's: `in` is not looked at any more.
///
/// errors       as all_reduce(); invalid_argument for `plan` where a call has begun already, or
///              none has. What begin() says end() says again, and must be called for in any case,
///              as others wait
Status begin(Plan& plan, Inputs in, Stream stream = nullptr) noexcept;
Status end(Plan& plan, void* out, Stream stream = nullptr) noexcept;

inline int Plan::send(std::int64_t* message, int root) noexcept {
    for (std::uint64_t begin = 0; begin < words_.size(); begin += most_words_) {
        const std::uint64_t n = std::min<std::uint64_t>(most_words_, words_.size() - begin);
        const int error = operation_->run(message + begin, n, root, rank_, comm_);
        if (error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
}

/// Where what this process sends is: its states, unless its arguments were refused. `waits`: for
/// the messages, too.
inline std::int64_t* Plan::message_of(Status own, bool waits, Stream stream) noexcept {
    own_ = own;
    std::int64_t* message = words_.data();
    // What MPI does by a function of ours, or while the caller does something else, is done in host
    // memory.
    if (own_.ok() && gpu_ != nullptr)
        own_ = gpu_->send(waits && state_merge(plan_) != StateMerge::pair, stream, message);
    if (!own_.ok()) {
        message = words_.data();
        std::fill(words_.begin(), words_.end(), 0); // anything that can be added up
    }
    words_[words_.size() - 2] = own_.ok() ? 0 : 1;
    words_.back() = 0;
    return message;
}

/// What comes of the words of all.
inline Status Plan::close(const std::int64_t* message, void* out, Stream stream) noexcept {
    if (!own_.ok()) return own_;
    if (gpu_ != nullptr) {
        if (const Status bad = gpu_->receive(message, stream); !bad.ok()) return bad;
    }
    if (words_[words_.size() - 2] != 0)
        return {StatusCode::invalid_argument, "in", "the arguments of another rank were refused, which knows why"};
    return gpu_ != nullptr ? gpu_->finish(plan_, out, stream) : finish(plan_, words_.data(), out);
}

inline Status Plan::put(Inputs in, Stream stream) noexcept {
    return gpu_ != nullptr ? gpu_->put(plan_, in, stream) : run(plan_, in, words_.data());
}
inline Status Plan::put_states(const std::int64_t* states, Stream stream) noexcept {
    if (states == nullptr && words_.size() > 2) return {StatusCode::invalid_argument, "states", "must not be null"};
    if (gpu_ != nullptr) return gpu_->put_states(plan_, states, stream);
    if (std::bit_cast<std::uintptr_t>(states) % alignof(std::int64_t) != 0)
        return {StatusCode::invalid_argument, "states", "must be aligned to 8 bytes"};
    std::copy_n(states, words_.size() - 2, words_.data());
    return normalize(plan_, words_.data());
}

/// `put` writes this process's states to the words, or says why it has none.
template <class Put>
Status Plan::reduce_to(const Put& put, void* out, int root, Stream stream) noexcept {
    if (!status_.ok()) return status_;
    if (root >= size_) return detreduce::detail::no_such_root();
    if (!sent_.empty()) return {StatusCode::invalid_argument, "plan", "must not have begun a call that has not ended"};
    const bool writes = root == detail::everywhere || root == rank_;
    Status own = put();
    if (own.ok() && writes && out == nullptr && plan_.results() > 0)
        own = {StatusCode::invalid_argument, "out", "must not be null"};
    std::int64_t* const message = message_of(own, true, stream);
    if (send(message, root) != MPI_SUCCESS) return detail::failed();
    return writes ? close(message, out, stream) : own_;
}

inline Status begin(Plan& plan, Inputs in, Stream stream) noexcept {
    if (!plan.status_.ok()) return plan.status_;
    if (!plan.sent_.empty())
        return {StatusCode::invalid_argument, "plan", "must not have begun a call that has not ended"};
    (void)plan.message_of(plan.put(in, stream), false, stream); // the words
    const std::uint64_t all = plan.words_.size(), most = plan.most_words_;
    plan.sent_.assign((all + most - 1) / most, MPI_REQUEST_NULL); // make_plan() has reserved as many
    for (std::uint64_t i = 0; i < plan.sent_.size(); ++i) {
        const int error = plan.operation_->start(plan.words_.data() + i * most, std::min(most, all - i * most),
                                                 plan.comm_, plan.sent_[i]);
        if (error == MPI_SUCCESS) continue;
        plan.own_ = detail::failed(); // which end() says again
        break;
    }
    return plan.own_;
}

inline Status end(Plan& plan, void* out, Stream stream) noexcept {
    if (!plan.status_.ok()) return plan.status_;
    if (plan.sent_.empty()) return {StatusCode::invalid_argument, "plan", "must have begun a call"};
    if (detail::is_finalized() || plan.wait() != MPI_SUCCESS) return detail::failed();
    if (plan.own_.ok() && out == nullptr && plan.plan_.results() > 0)
        return {StatusCode::invalid_argument, "out", "must not be null"};
    return plan.close(plan.words_.data(), out, stream);
}

inline Status all_reduce(Plan& plan, Inputs in, void* out, Stream stream) noexcept {
    return plan.reduce_to([&] { return plan.put(in, stream); }, out, detail::everywhere, stream);
}
inline Status reduce(Plan& plan, Inputs in, void* out, int root, Stream stream) noexcept {
    if (root < 0) return detreduce::detail::no_such_root();
    return plan.reduce_to([&] { return plan.put(in, stream); }, out, root, stream);
}
inline Status all_reduce_states(Plan& plan, const std::int64_t* states, void* out, Stream stream) noexcept {
    return plan.reduce_to([&] { return plan.put_states(states, stream); }, out, detail::everywhere, stream);
}
inline Status reduce_states(Plan& plan, const std::int64_t* states, void* out, int root, Stream stream) noexcept {
    if (root < 0) return detreduce::detail::no_such_root();
    return plan.reduce_to([&] { return plan.put_states(states, stream); }, out, root, stream);
}

} // namespace detreduce::mpi
