// detreduce_mpi_sums --n N --seed S, under mpiexec: by `exact` the sum of mpi::all_reduce(), by
// every other method what MPI_SUM makes of the sums of all.
#include <detreduce/mpi.hpp>

#include "rank_sums.hpp"

namespace detreduce::report {
namespace {

template <class T>
void print_sums(const RankArguments& a, int rank, int ranks) {
    const std::vector<T> own = piece_of<T>(a, rank, ranks);
    for (const MethodInfo& m : methods()) {
        if (!m.on_cpu) continue;
        RankSum<T> sum{};
        const Request request{
            .method = m.method, .dtype = dtype_of<T>, .output = dtype_of<RankSum<T>>, .n = own.size(), .device = cpu};
        if (m.method == Method::exact) {
            mpi::Plan plan = mpi::make_plan(request, MPI_COMM_WORLD);
            throw_if_error(mpi::all_reduce(plan, own.data(), &sum)); // the plan's, if that is not ok
        } else {
            throw_if_error(run(make_plan(request), own.data(), &sum));
            MPI_Allreduce(MPI_IN_PLACE, &sum, 1, sizeof sum == 8 ? MPI_DOUBLE : MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        }
        if (rank == 0) print_sum<T>(m.method, "mpi", sum);
    }
}

} // namespace
} // namespace detreduce::report

int main(int argc, char** argv) {
    using namespace detreduce;
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    try {
        const report::RankArguments a = report::rank_arguments(argc, argv);
        report::for_each_dtype([&]<class T>(T) { report::print_sums<T>(a, rank, ranks); });
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
}
