// detreduce_nccl_sums --n N --seed S --ranks R, a rank a GPU: by `exact` the sum of nccl::begin()
// and end(), by every other method what ncclSum of floats makes of the sums of all. Exits with 77
// where there are fewer GPUs.
#include <detreduce/nccl.hpp>

#include "rank_sums.hpp"

namespace detreduce::report {
namespace {

void check(cudaError_t error) {
    throw_if_error(nccl::detail::status_of("CUDA", error));
}
void check(ncclResult_t result) {
    throw_if_error(nccl::detail::status_of("NCCL", result));
}

/// Memory on the current GPU.
detail::CudaMemory memory_of(std::size_t bytes) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes + 256));
    return detail::CudaMemory(memory);
}

template <class T>
void print_sums(const RankArguments& a, std::span<const ncclComm_t> comms) {
    using Sum = RankSum<T>;
    const std::size_t ranks = comms.size();
    std::vector<detail::CudaMemory> x, sums;
    std::vector<std::uint64_t> n;
    for (std::size_t r = 0; r < ranks; ++r) {
        check(cudaSetDevice(static_cast<int>(r)));
        const std::vector<T> own = piece_of<T>(a, static_cast<int>(r), static_cast<int>(ranks));
        x.push_back(memory_of(own.size() * sizeof(T)));
        sums.push_back(memory_of(sizeof(Sum)));
        n.push_back(own.size());
        check(cudaMemcpy(x[r].get(), own.data(), own.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    for (const MethodInfo& m : methods()) {
        if (!m.on_cuda) continue;
        std::vector<Request> requests;
        for (std::size_t r = 0; r < ranks; ++r)
            requests.push_back({.method = m.method,
                                .dtype = dtype_of<T>,
                                .output = dtype_of<Sum>,
                                .n = n[r],
                                .device = {Backend::cuda, static_cast<int>(r)}});
        std::vector<nccl::Plan> plans;
        std::vector<detail::CudaMemory> workspaces;
        if (m.method == Method::exact) {
            plans = nccl::make_plans(requests, comms);
            throw_if_error(plans[0].status());
        } else {
            for (std::size_t r = 0; r < ranks; ++r) {
                check(cudaSetDevice(static_cast<int>(r)));
                const Plan plan = throwing::make_plan(requests[r]);
                workspaces.push_back(memory_of(plan.workspace_bytes()));
                throw_if_error(run(plan, x[r].get(), sums[r].get(), workspaces[r].get()));
            }
        }
        check(ncclGroupStart());
        for (std::size_t r = 0; r < ranks; ++r) {
            check(cudaSetDevice(static_cast<int>(r)));
            if (m.method == Method::exact) {
                throw_if_error(nccl::begin(plans[r], x[r].get()));
            } else {
                check(ncclAllReduce(sums[r].get(), sums[r].get(), 1, sizeof(Sum) == 8 ? ncclFloat64 : ncclFloat32,
                                    ncclSum, comms[r], nullptr));
            }
        }
        check(ncclGroupEnd());
        for (std::size_t r = 0; r < plans.size(); ++r)
            throw_if_error(nccl::end(plans[r], sums[r].get()));
        for (std::size_t r = 0; r < ranks; ++r) {
            check(cudaSetDevice(static_cast<int>(r)));
            check(cudaDeviceSynchronize());
        }
        Sum sum{};
        check(cudaMemcpy(&sum, sums[0].get(), sizeof sum, cudaMemcpyDeviceToHost));
        print_sum<T>(m.method, "nccl", sum);
    }
}

} // namespace
} // namespace detreduce::report

int main(int argc, char** argv) {
    using namespace detreduce;
    const report::RankArguments a = report::rank_arguments(argc, argv);
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || a.ranks < 1 || gpus < a.ranks) return 77;
    try {
        std::vector<ncclComm_t> comms(static_cast<std::size_t>(a.ranks));
        report::check(ncclCommInitAll(comms.data(), a.ranks, nullptr));
        report::for_each_dtype([&]<class T>(T) { report::print_sums<T>(a, comms); });
        for (const ncclComm_t comm : comms)
            report::check(ncclCommDestroy(comm));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
