// To be loaded before MPI by a program that it starts (LD_PRELOAD): rank 1 is killed in its call
// DYING_CALL, from 0, of those that all processes make together.
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <mpi.h>

namespace {

void count_call() {
    static int calls = 0;
    const char* const last = std::getenv("DYING_CALL");
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 1 || last == nullptr || calls++ != std::atoi(last)) return;
    std::fprintf(stderr, "rank 1 dies in call %s\n", last);
    std::raise(SIGKILL);
}

} // namespace

extern "C" int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    count_call();
    return PMPI_Allreduce(from, to, count, type, op, comm);
}
extern "C" int MPI_Reduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root,
                          MPI_Comm comm) {
    count_call();
    return PMPI_Reduce(from, to, count, type, op, root, comm);
}
extern "C" int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    count_call();
    return PMPI_Bcast(buffer, count, type, root, comm);
}
