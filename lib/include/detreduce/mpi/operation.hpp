// What MPI does with the words of states.
#pragma once

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1 // the C++ bindings that MPI had once are of no use here
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <algorithm>
#include <cstdint>

#include <detreduce/states.hpp>

namespace detreduce::mpi::detail {

inline constexpr int everywhere = -1; ///< as a root
#ifdef MPICH_VERSION                  // 4.0.2 crashes in MPI_Reduce where a root but rank 0 says MPI_IN_PLACE
inline constexpr bool reduces_to_any_root = false;
#else
inline constexpr bool reduces_to_any_root = true;
#endif

[[nodiscard]] constexpr Status failed() {
    return {StatusCode::invalid_argument, "comm",
            "MPI must be initialized, and the communicator one whose calls do not fail"};
}

/// Has MPI gone, with all that it had?
[[nodiscard]] inline bool is_finalized() {
    int finalized = 0;
    return MPI_Finalized(&finalized) != MPI_SUCCESS || finalized != 0;
}

/// Can calls be made?
[[nodiscard]] inline bool usable(MPI_Comm comm) {
    int initialized = 0;
    return MPI_Initialized(&initialized) == MPI_SUCCESS && initialized != 0 && !is_finalized() && comm != MPI_COMM_NULL;
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
        if (!pairs_ || !ok() || is_finalized()) return;
        MPI_Op_free(&op_);
        MPI_Type_free(&type_);
    }
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    [[nodiscard]] bool ok() const { return error_ == MPI_SUCCESS; }
    /// Of `n` words at `words`, on all processes, or on the one of rank `root`.
    [[nodiscard]] int run(std::int64_t* words, std::uint64_t n, int root, int rank, MPI_Comm comm) const {
        const int count = static_cast<int>(n / (pairs_ ? 2 : 1));
        if (root == everywhere || (root != 0 && !reduces_to_any_root))
            return MPI_Allreduce(MPI_IN_PLACE, words, count, type_, op_, comm);
        if (rank == root) return MPI_Reduce(MPI_IN_PLACE, words, count, type_, op_, root, comm);
        return MPI_Reduce(words, nullptr, count, type_, op_, root, comm);
    }
    /// The same on all processes, some time.
    [[nodiscard]] int start(std::int64_t* words, std::uint64_t n, MPI_Comm comm, MPI_Request& request) const {
        return MPI_Iallreduce(MPI_IN_PLACE, words, static_cast<int>(n / (pairs_ ? 2 : 1)), type_, op_, comm, &request);
    }

  private:
    MPI_Datatype type_ = MPI_INT64_T;
    MPI_Op op_;
    bool pairs_;
    int error_ = MPI_SUCCESS;
};

} // namespace detreduce::mpi::detail
