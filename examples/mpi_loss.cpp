// The cross entropy of a batch whose rows are dealt out to the processes of an MPI job: mpiexec
// -n 1, 2, 3, … mpi_loss prints the same line.
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <detreduce/detreduce.hpp>
#include <detreduce/mpi.hpp>
#include <detreduce/row_ops.hpp>

namespace dr = detreduce;

/// The mean over the rows of all processes, of which this one may have none.
static float cross_entropy(const std::vector<float>& logits, const std::vector<std::int64_t>& targets, std::size_t n) {
    const dr::RowPlan own = dr::throwing::make_row_plan({.op = dr::RowOp::cross_entropy,
                                                         .dtype = dr::DType::f32,
                                                         .n = n,
                                                         .rows = targets.size(),
                                                         .device = dr::cpu,
                                                         .state = true});
    std::vector<std::int64_t> states(own.states().groups() * own.states().state_words());
    std::vector<double> workspace((own.workspace_bytes() + 7) / 8);
    dr::throwing::run(own, {.x = logits.data(), .out = states.data(), .targets = targets.data()}, workspace.data());

    dr::mpi::Plan all = dr::mpi::make_plan(own.states().request(), MPI_COMM_WORLD);
    dr::throw_if_error(all.status());
    double sums[2] = {}; // of the losses, and of the rows' weights
    dr::throw_if_error(dr::mpi::all_reduce_states(all, states.data(), sums));
    return static_cast<float>(sums[0] / sums[1]);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    constexpr std::size_t n = 100;
    std::vector<float> logits; // of the rows that are this process's
    std::vector<std::int64_t> targets;
    std::uint32_t random = 1;
    for (int row = 0; row < 1000; ++row) {
        const bool mine = row % ranks == rank;
        for (std::size_t i = 0; i < n; ++i) {
            random = random * 1664525 + 1013904223;
            if (mine) logits.push_back(static_cast<float>(random) * 0x1p-30f);
        }
        if (mine) targets.push_back(row % 7 == 0 ? -100 : static_cast<std::int64_t>(random % n)); // some are ignored
    }
    try {
        const float loss = cross_entropy(logits, targets, n);
        if (rank == 0)
            std::printf("cross entropy %.9g bits %08" PRIx32 "\n", static_cast<double>(loss),
                        std::bit_cast<std::uint32_t>(loss));
    } catch (const dr::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    MPI_Finalize();
}
