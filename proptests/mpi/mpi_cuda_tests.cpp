// detreduce/mpi_cuda.hpp with real processes, whose shares are on GPUs: mpiexec -n N
// detreduce_mpi_cuda_tests [--few]. Processes share the GPUs that there are, one even. What comes
// out is what the CPU makes of all elements. What is wrong ends the job. --few: an eighth of the
// cases.
#include <detreduce/mpi_cuda.hpp> // first: it must need nothing before it

#include <cstdio>
#include <cstdlib>
#include <string>

#include "laws/rank_device.hpp"

#ifdef DETREDUCE_EMULATED_GPU // whose memory is the CPU's, which any MPI takes
namespace {
bool takes_gpu_memory = false;
}
extern "C" int MPIX_Query_cuda_support() {
    return takes_gpu_memory ? 1 : 0;
}
#endif

namespace detreduce::proptests {

int ranks = 1, rank = 0, gpu = 0;
bool few = false;

void require(bool holds, const std::string& what) {
    if (holds) return;
    std::fprintf(stderr, "rank %d of %d: %s\n", rank, ranks, what.c_str());
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

template <class T>
void check_share(const Dealt<T>& d, const std::string& what, std::uint64_t most_words, int root, cudaStream_t stream) {
    const auto& own = d.ranks[static_cast<std::size_t>(rank)];
    Request r = own.request(d.request);
    r.device = most_words % 2 == 0 ? Device{Backend::cuda, gpu} : current_gpu;
    r.launch = {};
    r.first_index = gives_index(r.op) ? own.first_index : 0;
    mpi::Plan plan = mpi::make_plan(r, MPI_COMM_WORLD, most_words);
    require(plan.status().ok(), what + ": " + to_string(plan.status()));
    const Bytes with_tail = finished(plan_of_states(d.request, d.all), states_of(d.request, d.all));
    const Bytes expected(with_tail.begin(), with_tail.end() - 8), untouched(expected.size(), std::byte{0x5a});
    const OnRank<T> here(own, expected.size());
    const OnDevice<std::int64_t> states(states_of(d.request, own), 0);
    const Inputs in = here.inputs(r);
    const auto check = [&](const std::string& how, int to, const auto& reduce) {
        const Status status = reduce();
        require(status.ok(), what + ", " + how + ": " + to_string(status));
        require(here.results(expected.size()) == (to < 0 || to == rank ? expected : untouched), what + ", " + how);
        here.out.fill(0x5a, expected.size());
    };
    void* const out = here.out.data();
    check("all_reduce", -1, [&] { return mpi::all_reduce(plan, in, out, stream); });
    check("reduce", root, [&] { return mpi::reduce(plan, in, rank == root ? out : nullptr, root, stream); });
    check("all_reduce_states", -1, [&] { return mpi::all_reduce_states(plan, states.data, out, stream); });
    check("reduce_states", root, [&] { return mpi::reduce_states(plan, states.data, out, root, stream); });
    check("begin and end", -1, [&] {
        const Status begun = mpi::begin(plan, in, stream), ended = mpi::end(plan, out, stream);
        return begun.ok() ? ended : begun;
    });
    check("again", -1, [&] { return mpi::all_reduce(plan, in, out, stream); });
}

void check_all_ops() {
    const StreamOwner stream;
    for_all_ops(
        static_cast<std::size_t>(ranks), few ? 1 : 3,
        [](DType dtype, Shape shape) { return !has_8_bits(dtype) || shape != Shape::tensors; },
        [&](const auto& dealt, const std::string& what, std::uint64_t word) {
            if (few && word % 8 != 0) return;
            const std::uint64_t most_words[] = {few ? 16u : 2u, 101, 1 << 20};
            check_share(dealt, what, most_words[word / 8 % 3],
                        static_cast<int>(word / 24 % static_cast<unsigned>(ranks)),
                        word / 8 % 2 ? stream.stream : nullptr);
        });
}

/// One rank has arguments that are refused: it knows why, and nobody waits for it, or writes.
void check_bad_arguments() {
    const int bad = ranks - 1;
    const Request request{.op = Op::max, .dtype = DType::f64, .n = 2};
    mpi::Plan plan = mpi::make_plan(request, MPI_COMM_WORLD);
    require(plan.status().ok(), to_string(plan.status()));
    const OnDevice<double> x({3, 4}, 0);
    const DeviceBuffer out(sizeof(double));
    const double before = 42;
    out.copy_from(&before, sizeof before);
    const auto found = [&] { return download<double>(out.data()); };
    const double* const in = rank == bad ? nullptr : x.data;
    const std::string known = rank == bad ? "x" : "in";
    require(std::string(mpi::all_reduce(plan, in, out.data()).argument) == known, "all_reduce without elements");
    const Status begun = mpi::begin(plan, in);
    require(begun.ok() == (rank != bad), "begin without elements");
    require(std::string(mpi::end(plan, out.data()).argument) == known, "end without elements");
    require(std::string(mpi::all_reduce_states(plan, nullptr, out.data()).argument) == "states", "no states");
    require(found() == before, "nothing was written");
    require(mpi::all_reduce(plan, x.data, out.data()).ok() && found() == 4, "it works the next time");
    const OnDevice<std::int64_t> none({INT64_MAX - 1}, 0); // of no maximum
    require(mpi::all_reduce_states(plan, none.data, out.data()).ok() && found() != found(),
            "states that are none give no number");
    if (ranks == 1) return;
    Request other = request;
    if (rank == bad) other.device = cpu;
    require(std::string(mpi::make_plan(other, MPI_COMM_WORLD).status().argument) == "device.backend",
            "one of them has a CPU");
}

} // namespace detreduce::proptests

int main(int argc, char** argv) {
    using namespace detreduce::proptests;
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        std::fprintf(stderr, "skipped: there is no GPU\n");
        return 77;
    }
    few = argc > 1 && std::string(argv[1]) == "--few";
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        gpu = rank % gpus;
        CUDA_CHECK(cudaSetDevice(gpu));
        check_bad_arguments();
        check_all_ops();
#ifdef DETREDUCE_EMULATED_GPU
        takes_gpu_memory = true;
        check_bad_arguments();
        check_all_ops();
#endif
    } catch (const std::exception& error) {
        require(false, error.what());
    }
    MPI_Finalize();
    if (rank == 0)
        std::printf("%d ranks on %d GPUs have the bits of one CPU%s\n", ranks, std::min(ranks, gpus),
                    detreduce::mpi::detail::takes_gpu_memory() ? "; MPI takes the memory of GPUs" : "");
}
