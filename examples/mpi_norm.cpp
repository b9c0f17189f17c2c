// The norm and the mean of numbers that are dealt out to the processes of an MPI job: mpiexec
// -n 1, 2, 3, … mpi_norm prints the same line.
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <detreduce/detreduce.hpp>
#include <detreduce/mpi.hpp>

namespace dr = detreduce;

static double reduced(dr::Op op, const std::vector<float>& own) {
    double result = 0;
    dr::mpi::Plan plan = dr::mpi::make_plan(
        {.op = op, .dtype = dr::DType::f32, .output = dr::DType::f64, .n = own.size(), .device = dr::cpu},
        MPI_COMM_WORLD);
    dr::Status status = plan.status();
    if (status.ok()) status = dr::mpi::all_reduce(plan, own.data(), &result);
    if (!status.ok()) {
        std::fprintf(stderr, "%s\n", dr::to_string(status).c_str());
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    return result;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::vector<float> own; // those of a sequence that are this process's
    std::uint32_t random = 1;
    for (int i = 0; i < 1'000'000; ++i) {
        random = random * 1664525 + 1013904223;
        if (i % ranks == rank) own.push_back(static_cast<float>(random) * 0x1p-32f - 0.5f);
    }
    const double norm = reduced(dr::Op::nrm2, own), mean = reduced(dr::Op::mean, own);
    if (rank == 0) {
        std::printf("norm %.17g bits %016" PRIx64 ", mean %.17g bits %016" PRIx64 "\n", norm,
                    std::bit_cast<std::uint64_t>(norm), mean, std::bit_cast<std::uint64_t>(mean));
    }
    MPI_Finalize();
}
