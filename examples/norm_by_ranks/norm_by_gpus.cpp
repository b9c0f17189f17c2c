// The same norm by 1, 2, … GPUs of this machine, over NCCL: one line each, all with the same bits.
#include <bit>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <set>
#include <span>
#include <stdexcept>
#include <vector>

#include <cuda_runtime_api.h>

#include <detreduce/detreduce.hpp>
#include <detreduce/nccl.hpp>

namespace dr = detreduce;

namespace {

void check(cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}
void check(ncclResult_t result) {
    if (result != ncclSuccess) throw std::runtime_error(ncclGetErrorString(result));
}

struct Rank {
    cudaStream_t stream = nullptr;
    float *x = nullptr, *norm = nullptr; // on its GPU
};

// One rank's part, where each has a process or a thread of its own.
void norm_of_rank(const float* d_x, std::uint64_t n, float* d_norm, ncclComm_t comm, cudaStream_t stream) {
    // --8<-- [start:rank]
    dr::nccl::Plan plan = dr::nccl::make_plan({.op = dr::Op::nrm2, .dtype = dr::DType::f32, .n = n}, comm);
    dr::throw_if_error(plan.status()); // the same on every rank
    dr::throw_if_error(dr::nccl::all_reduce(plan, d_x, d_norm, stream));
    dr::throw_if_error(dr::nccl::wait(plan, stream, std::chrono::minutes(1))); // or wait for the stream as ever
    // --8<-- [end:rank]
}

// All ranks by one thread.
void norm_of_ranks(std::span<const Rank> rank, std::span<const ncclComm_t> comms,
                   std::span<const dr::Request> requests) {
    std::vector<dr::nccl::Plan> plans = dr::nccl::make_plans(requests, comms);
    for (const dr::nccl::Plan& plan : plans)
        dr::throw_if_error(plan.status());
    check(ncclGroupStart());
    for (std::size_t r = 0; r < plans.size(); ++r)
        dr::throw_if_error(dr::nccl::begin(plans[r], rank[r].x, rank[r].stream));
    check(ncclGroupEnd());
    for (std::size_t r = 0; r < plans.size(); ++r)
        dr::throw_if_error(dr::nccl::end(plans[r], rank[r].norm, rank[r].stream));
    for (std::size_t r = 0; r < plans.size(); ++r)
        dr::throw_if_error(dr::nccl::wait(plans[r], rank[r].stream));
} // the plans end before their communicators

// Of all elements, of which rank r has every ranks-th from the rth on.
std::uint32_t norm_of(const std::vector<float>& all, int ranks) {
    std::vector<ncclComm_t> comms(static_cast<std::size_t>(ranks));
    check(ncclCommInitAll(comms.data(), ranks, nullptr));
    std::vector<Rank> rank(comms.size());
    std::vector<dr::Request> requests;
    for (int r = 0; r < ranks; ++r) {
        Rank& mine = rank[static_cast<std::size_t>(r)];
        std::vector<float> own;
        for (std::size_t i = static_cast<std::size_t>(r); i < all.size(); i += comms.size())
            own.push_back(all[i]);
        check(cudaSetDevice(r));
        check(cudaStreamCreate(&mine.stream));
        check(cudaMalloc(reinterpret_cast<void**>(&mine.x), own.size() * sizeof(float)));
        check(cudaMalloc(reinterpret_cast<void**>(&mine.norm), sizeof(float)));
        check(cudaMemcpy(mine.x, own.data(), own.size() * sizeof(float), cudaMemcpyHostToDevice));
        requests.push_back({.op = dr::Op::nrm2, .dtype = dr::DType::f32, .n = own.size()});
    }

    if (ranks == 1)
        norm_of_rank(rank[0].x, all.size(), rank[0].norm, comms[0], rank[0].stream);
    else
        norm_of_ranks(rank, comms, requests);

    std::set<std::uint32_t> bits; // of all ranks
    for (std::size_t r = 0; r < rank.size(); ++r) {
        float norm = 0;
        check(cudaSetDevice(static_cast<int>(r)));
        check(cudaMemcpy(&norm, rank[r].norm, sizeof norm, cudaMemcpyDeviceToHost));
        check(cudaFree(rank[r].x));
        check(cudaFree(rank[r].norm));
        check(cudaStreamDestroy(rank[r].stream));
        bits.insert(std::bit_cast<std::uint32_t>(norm));
    }
    for (const ncclComm_t comm : comms)
        check(ncclCommDestroy(comm));
    if (bits.size() != 1) throw std::runtime_error("the ranks have different bits");
    return *bits.begin();
}

} // namespace

int main() {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        std::puts("there is no GPU");
        return 77;
    }
    std::vector<float> all;
    std::uint32_t random = 1;
    for (int i = 0; i < 1'000'000; ++i) {
        random = random * 1664525 + 1013904223;
        all.push_back(static_cast<float>(random) * 0x1p-32f - 0.5f);
    }
    const float on_cpu = dr::nrm2(all);
    std::set<std::uint32_t> bits{std::bit_cast<std::uint32_t>(on_cpu)};
    try {
        for (int ranks = 1; ranks <= gpus; ranks *= 2) {
            bits.insert(norm_of(all, ranks));
            std::printf("%d GPU%s: bits 0x%08" PRIx32 "\n", ranks, ranks == 1 ? "" : "s", *bits.rbegin());
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    std::puts(bits.size() == 1 ? "the bits of the CPU" : "DIFFERENT BITS");
    return bits.size() == 1 ? 0 : 1;
}
