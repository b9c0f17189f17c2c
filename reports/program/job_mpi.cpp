#include <detreduce/mpi.hpp>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>

#include <sched.h>
#include <unistd.h>

#include <fmt/format.h>

#include "failure.hpp"
#include "job.hpp"

namespace detreduce::program {
namespace {

/// Threads that MPI, or whoever started it, leaves this process; 0: nobody knows.
std::uint32_t bound_threads() {
    cpu_set_t mine[8]; // 8192 processors
    if (::sched_getaffinity(0, sizeof mine, mine) != 0) return 0;
    return static_cast<std::uint32_t>(CPU_COUNT_S(sizeof mine, mine));
}

} // namespace

Job::Job() {
    int initialized = 0;
    MPI_Initialized(&initialized);
    if (initialized == 0) MPI_Init(nullptr, nullptr); // what goes wrong in MPI ends the job
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
}

Job::~Job() {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}

std::uint32_t Job::threads() const {
    if (std::getenv("DETREDUCE_NUM_THREADS") != nullptr || std::getenv("OMP_NUM_THREADS") != nullptr) return 0;
    MPI_Comm host = MPI_COMM_NULL;
    int here = 1;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &here);
    MPI_Comm_free(&host);
    const long online = std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN));
    const auto share = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(online / here));
    const std::uint32_t bound = bound_threads();
    return bound == 0 ? share : std::min(share, bound);
}

void Job::together(const std::function<void()>& work) const {
    std::exception_ptr own;
    bool usage = false;
    try {
        work();
    } catch (const UsageError&) {
        own = std::current_exception();
        usage = true;
    } catch (...) {
        own = std::current_exception();
    }
    const int none = 2 * ranks_;
    int first = own ? 2 * rank_ + (usage ? 1 : 0) : none; // that failed, and how
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == none) return;
    if (first / 2 != rank_) throw FailedElsewhere(first % 2 == 1);
    const std::string who = ranks_ == 1 ? "" : fmt::format("rank {} of {}: ", rank_, ranks_);
    try {
        std::rethrow_exception(own);
    } catch (const UsageError& error) {
        throw UsageError(who + error.what());
    } catch (const std::bad_alloc&) {
        throw Failure(who + "not enough memory");
    } catch (const std::exception& error) {
        throw Failure(who + error.what());
    }
}

Status Job::reduce(const Request& request, const std::int64_t* states, void* out) const {
    mpi::Plan plan = mpi::make_plan(request, MPI_COMM_WORLD);
    return plan.status().ok() ? mpi::reduce_states(plan, states, out, 0) : plan.status();
}

} // namespace detreduce::program
