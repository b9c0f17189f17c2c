// Builds without MPI: --mpi is refused.
#include "failure.hpp"
#include "job.hpp"

namespace detreduce::program {

Job::Job() {
    throw UsageError("--mpi: this detreduce was built without MPI; allowed is one built with DETREDUCE_MPI=ON");
}
Job::~Job() = default;

std::uint32_t Job::threads() const {
    return 0;
}
void Job::together(const std::function<void()>& work) const {
    work();
}
Status Job::reduce(const Request&, const std::int64_t*, void*) const {
    return {};
}

} // namespace detreduce::program
