// Reductions by all processes of an MPI communicator: each has some of the elements, or none, and the bits are those of
// one process that has all. Header-only, over states.hpp and mpi.h; CMake: find_package(detreduce COMPONENTS mpi) and
// link detreduce::mpi.
#pragma once

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1 // the C++ bindings that MPI had once are of no use here
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <vector>

#include <detreduce/plan.hpp>
#include <detreduce/ranks.hpp>
#include <detreduce/states.hpp>

namespace detreduce::mpi {

/// The plan of one process, and the words that it sends. Not to be copied; for one call at a time.
class Plan;

/// The plan of a reduction by all processes of `comm`, all of which must call it. `request` is that of the elements
/// that this process has: n, stride, launch and first_index may differ, and n may be 0; op, method, dtype, output,
/// shape, groups (of a list of tensors with each), nan, each and ddof are what all must ask for.
///
/// status       the same on every process: what make_plan() says of the request of the first process that has a bad
///              one; invalid_argument for a field that is not the same everywhere, with the rank of the first process
///              where it is another than on rank 0 as the index; out_of_memory if one lacks the memory for its states;
///              invalid_argument for `comm` if MPI is not initialized, or if it says that a call has failed
/// most_words   of one message, so that no count is beyond what MPI takes; the same on every process
/// memory       8 · state_words() bytes for each group
[[nodiscard]] Plan make_plan(const Request& request, MPI_Comm comm,
                             std::uint64_t most_words = std::uint64_t{1} << 28) noexcept;

/// Reduces the elements of all processes, and writes the results to `out` on all of them, or on the one of rank `root`.
/// All must call it.
///
/// in, out      as in run(); `out` of another process than `root` means nothing
/// guarantee    order: neither how elements are dealt out to processes, nor how many there are, nor what MPI does with
///              the messages, means anything to the bits. Of argmin and argmax, device: the index is the lowest, if
///              first_index says where each process's elements begin
/// messages     one MPI_Allreduce, or MPI_Reduce, of integers (of more than most_words several): MPI_SUM of sums and
///              counts, MPI_MAX of what is compared; of pairs by an operation of their own for argmin and argmax
/// errors       what run() says of this process's arguments; invalid_argument for `in` on all others that know of it
///              (all_reduce(): all, reduce(): the root), for `root`, and for `comm` as above; what finish() says. `out`
///              is not written then
Status all_reduce(Plan& plan, Inputs in, void* out) noexcept;
Status reduce(Plan& plan, Inputs in, void* out, int root) noexcept;

class Plan {
  public:
    Plan(Plan&&) = default;
    Plan& operator=(Plan&&) = default;

    [[nodiscard]] const Status& status() const noexcept { return status_; }
    /// That of this process's states.
    [[nodiscard]] const detreduce::Plan& states() const noexcept { return plan_; }
    [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }

  private:
    friend Plan make_plan(const Request& request, MPI_Comm comm, std::uint64_t most_words) noexcept;
    friend Status all_reduce(Plan& plan, Inputs in, void* out) noexcept;
    friend Status reduce(Plan& plan, Inputs in, void* out, int root) noexcept;
    Plan() = default;

    [[nodiscard]] bool agree(std::uint64_t most_words) noexcept;
    [[nodiscard]] Status reduce_to(Inputs in, void* out, int root) noexcept;
    [[nodiscard]] int send(int root) noexcept;

    detreduce::Plan plan_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0, size_ = 1;
    std::uint64_t most_words_ = 0;
    std::vector<std::int64_t> words_; ///< the states, and behind them two that say whether they are any
    Status status_;
};

namespace detail {

inline constexpr int everywhere = -1; ///< as a root

[[nodiscard]] constexpr Status failed() {
    return {StatusCode::invalid_argument, "comm",
            "MPI must be initialized, and the communicator one whose calls do not fail"};
}

/// The greater of pairs, the first of which counts before the second.
inline void greater_pairs(void* in, void* in_out, int* count, MPI_Datatype*) {
    const auto* const from = static_cast<const std::int64_t*>(in);
    auto* const to = static_cast<std::int64_t*>(in_out);
    for (std::int64_t i = 0; i < 2 * std::int64_t{*count}; i += 2) {
        if (from[i] > to[i] || (from[i] == to[i] && from[i + 1] > to[i + 1])) std::copy_n(from + i, 2, to + i);
    }
}

/// The type of words, or of pairs of them, and the operation.
class Operation {
  public:
    explicit Operation(StateMerge merge)
        : op_(merge == StateMerge::max ? MPI_MAX : MPI_SUM), pairs_(merge == StateMerge::pair) {
        if (!pairs_) return;
        error_ = MPI_Type_contiguous(2, MPI_INT64_T, &type_);
        if (error_ == MPI_SUCCESS) error_ = MPI_Type_commit(&type_);
        if (error_ == MPI_SUCCESS) error_ = MPI_Op_create(greater_pairs, 1, &op_);
    }
    ~Operation() {
        if (!pairs_ || error_ != MPI_SUCCESS) return;
        MPI_Op_free(&op_);
        MPI_Type_free(&type_);
    }
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    /// Of `n` words at `words`, on all processes, or on the one of rank `root`.
    [[nodiscard]] int run(std::int64_t* words, std::uint64_t n, int root, int rank, MPI_Comm comm) const {
        if (error_ != MPI_SUCCESS) return error_;
        const int count = static_cast<int>(n / (pairs_ ? 2 : 1));
        if (root == everywhere) return MPI_Allreduce(MPI_IN_PLACE, words, count, type_, op_, comm);
        if (rank == root) return MPI_Reduce(MPI_IN_PLACE, words, count, type_, op_, root, comm);
        return MPI_Reduce(words, nullptr, count, type_, op_, root, comm);
    }

  private:
    MPI_Datatype type_ = MPI_INT64_T;
    MPI_Op op_;
    bool pairs_;
    int error_ = MPI_SUCCESS;
};

} // namespace detail

/// Brings what each process found to all of them; false, and the status says why, if there is no plan then.
inline bool Plan::agree(std::uint64_t most_words) noexcept {
    constexpr std::size_t count = detreduce::detail::rank_fields;
    const auto fields = detreduce::detail::fields_of(plan_.request(), most_words);
    const std::int64_t last = size_ - rank_; // the largest of it is that of the first process
    std::array<std::int64_t, count> first{};
    for (std::size_t i = 0; i < count; ++i)
        first[i] = fields[i].value;
    if (MPI_Bcast(first.data(), count, MPI_INT64_T, 0, comm_) != MPI_SUCCESS) {
        status_ = detail::failed();
        return false;
    }
    std::array<std::int64_t, count + 2> wrong{};
    for (std::size_t i = 0; i < count; ++i)
        wrong[i] = first[i] == fields[i].value ? 0 : last;
    wrong[count] = plan_.status().ok() ? 0 : last;
    wrong[count + 1] = status_.ok() ? 0 : last;
    if (MPI_Allreduce(MPI_IN_PLACE, wrong.data(), count + 2, MPI_INT64_T, MPI_MAX, comm_) != MPI_SUCCESS) {
        status_ = detail::failed();
        return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (wrong[i] == 0) continue;
        status_ = detreduce::detail::differs(fields[i].name, static_cast<std::uint64_t>(size_ - wrong[i]));
        return false;
    }
    if (wrong[count] != 0) { // the request that is bad says the same everywhere
        static_assert(std::is_trivially_copyable_v<Request>);
        Request bad = plan_.request();
        status_ = {StatusCode::unsupported, "launch", "a rank cannot run this: its processor lacks it"};
        if (MPI_Bcast(&bad, sizeof bad, MPI_BYTE, static_cast<int>(size_ - wrong[count]), comm_) != MPI_SUCCESS) {
            status_ = detail::failed();
        } else if (const Status said = detreduce::make_plan(bad).status(); !said.ok()) {
            status_ = said;
        }
        return false;
    }
    if (wrong[count + 1] != 0) {
        status_ = detreduce::detail::no_room_somewhere();
    } else if (plan_.request().device.backend != Backend::cpu) {
        status_ = {StatusCode::unsupported, "device", "allowed is the CPU"};
    }
    return status_.ok();
}

inline Plan make_plan(const Request& request, MPI_Comm comm, std::uint64_t most_words) noexcept {
    Plan made;
    int initialized = 0;
    if (MPI_Initialized(&initialized) != MPI_SUCCESS || initialized == 0 || comm == MPI_COMM_NULL ||
        MPI_Comm_rank(comm, &made.rank_) != MPI_SUCCESS || MPI_Comm_size(comm, &made.size_) != MPI_SUCCESS) {
        made.status_ = detail::failed();
        return made;
    }
    Request own = request;
    own.state = true;
    made.plan_ = detreduce::make_plan(own);
    made.comm_ = comm;
    constexpr std::uint64_t most = std::uint64_t{1} << 30;
    made.most_words_ = std::clamp(most_words, std::uint64_t{2}, most) / 2 * 2; // whole pairs
    const auto out_of_memory = [&] {
        made.status_ = {StatusCode::out_of_memory, "groups", "the states of so many groups have no room"};
    };
    if (made.plan_.status().ok()) {
        try {
            made.words_.resize(made.plan_.groups() * made.plan_.state_words() + 2);
        } catch (const std::exception&) {
            out_of_memory();
        }
    }
    if (!made.agree(most_words)) made.words_ = {};
    return made;
}

inline int Plan::send(int root) noexcept {
    const detail::Operation operation(state_merge(plan_));
    for (std::uint64_t begin = 0; begin < words_.size(); begin += most_words_) {
        const std::uint64_t n = std::min<std::uint64_t>(most_words_, words_.size() - begin);
        const int error = operation.run(words_.data() + begin, n, root, rank_, comm_);
        if (error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
}

inline Status Plan::reduce_to(Inputs in, void* out, int root) noexcept {
    if (!status_.ok()) return status_;
    if (root >= size_) return {StatusCode::invalid_argument, "root", "allowed are the ranks of the communicator"};
    std::int64_t* const failed = words_.data() + words_.size() - 2;
    const bool writes = root == detail::everywhere || root == rank_;
    Status own = run(plan_, in, words_.data());
    if (own.ok() && writes && out == nullptr && plan_.results() > 0)
        own = {StatusCode::invalid_argument, "out", "must not be null"};
    if (!own.ok()) std::fill(words_.begin(), words_.end(), 0); // anything that can be added up
    failed[0] = own.ok() ? 0 : 1;
    failed[1] = 0;
    if (send(root) != MPI_SUCCESS) return detail::failed();
    if (!own.ok() || !writes) return own;
    if (failed[0] != 0)
        return {StatusCode::invalid_argument, "in", "the arguments of another rank were refused, which knows why"};
    return finish(plan_, words_.data(), out);
}

inline Status all_reduce(Plan& plan, Inputs in, void* out) noexcept {
    return plan.reduce_to(in, out, detail::everywhere);
}
inline Status reduce(Plan& plan, Inputs in, void* out, int root) noexcept {
    if (root < 0) return {StatusCode::invalid_argument, "root", "allowed are the ranks of the communicator"};
    return plan.reduce_to(in, out, root);
}

} // namespace detreduce::mpi
