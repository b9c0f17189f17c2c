// The MPI job that --mpi makes this process a part of. job_mpi.cpp is of builds that have MPI.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>

#include <detreduce/plan.hpp>

namespace detreduce::program {

/// Another process failed and says why: here there is nothing to be said.
struct FailedElsewhere : std::exception {
    explicit FailedElsewhere(bool by_usage) : usage(by_usage) {}
    bool usage; ///< it is a UsageError
};

/// All processes of the job, from MPI_Init to MPI_Finalize: a program has one, until it ends. All
/// processes must make each call.
class Job {
  public:
    /// Throws UsageError in a build without MPI.
    Job();
    /// Waits for all, as some MPIs end a job, whatever others still have to say, once a process has
    /// ended that failed.
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int ranks() const { return ranks_; }
    /// Threads for this process where nobody said how many: those of the machine, dealt out to the
    /// processes on it, and no more than MPI bound it to; 0: the environment says how many.
    [[nodiscard]] std::uint32_t threads() const;

    /// Does `work`, and returns when all have done theirs. If it throws in some of them, the first
    /// of these throws that, with its rank in the text, and all others FailedElsewhere.
    void together(const std::function<void()>& work) const;

    /// Puts the states of all together, of which this process has `states`, of a plan of `request`,
    /// and writes the results to `out` where rank() is 0. What mpi::make_plan() and
    /// mpi::reduce_states() say of this process.
    [[nodiscard]] Status reduce(const Request& request, const std::int64_t* states, void* out) const;

  private:
    int rank_ = 0, ranks_ = 1;
};

} // namespace detreduce::program
