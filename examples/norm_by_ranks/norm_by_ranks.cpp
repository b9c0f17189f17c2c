// The norm of a gradient that is spread over the processes of an MPI job: as it is usually
// computed, and by detreduce.
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <detreduce/detreduce.hpp>
#include <detreduce/mpi.hpp>

namespace dr = detreduce;

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::vector<float> own; // the elements of the gradient that this process has
    std::uint32_t random = 1;
    for (int i = 0; i < 1'000'000; ++i) {
        random = random * 1664525 + 1013904223;
        if (i % ranks == rank) own.push_back(static_cast<float>(random) * 0x1p-32f - 0.5f);
    }

    float squares = 0, usual = 0; // of this process, and of all
    for (const float x : own)
        squares += x * x;
    MPI_Allreduce(&squares, &usual, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    usual = std::sqrt(usual);

    float norm = 0;
    dr::mpi::Plan plan = dr::mpi::make_plan(
        {.op = dr::Op::nrm2, .dtype = dr::DType::f32, .n = own.size(), .device = dr::cpu}, MPI_COMM_WORLD);
    dr::Status status = plan.status();
    if (status.ok()) status = dr::mpi::all_reduce(plan, own.data(), &norm);
    if (!status.ok()) {
        std::fprintf(stderr, "%s\n", dr::to_string(status).c_str());
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    if (rank == 0) {
        std::printf("MPI_SUM of floats: %.9g, bits 0x%08" PRIx32 "\n", static_cast<double>(usual),
                    std::bit_cast<std::uint32_t>(usual));
        std::printf("detreduce:         %.9g, bits 0x%08" PRIx32 "\n", static_cast<double>(norm),
                    std::bit_cast<std::uint32_t>(norm));
    }
    MPI_Finalize();
}
