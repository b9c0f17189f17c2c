// Stands in for NCCL's header: communicators whose ranks are one thread's, and what
// detreduce/nccl.hpp calls, carried out when a group ends.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#define DETREDUCE_EMULATED_NCCL 1

typedef enum { ncclSuccess = 0, ncclInvalidUsage = 5, ncclInProgress = 7 } ncclResult_t;
typedef enum { ncclChar = 0, ncclInt64 = 4 } ncclDataType_t;
typedef enum { ncclSum = 0, ncclMax = 2, ncclMin = 3 } ncclRedOp_t;

struct EmulatedCall {
    bool gathers;
    const void* from;
    void* to;
    std::size_t count;
    ncclDataType_t type;
    ncclRedOp_t op;
    int root = -1; ///< all of them
};
struct EmulatedRanks;
typedef struct ncclComm {
    std::shared_ptr<EmulatedRanks> ranks;
    int rank;
    std::vector<EmulatedCall> calls; // that wait
} * ncclComm_t;
struct EmulatedRanks {
    std::vector<ncclComm_t> comms;

    ncclResult_t run() {
        const std::size_t calls = comms[0]->calls.size();
        ncclResult_t worst = ncclSuccess;
        for (std::size_t i = 0; i < calls; ++i)
            worst = std::max(worst, run(i));
        for (ncclComm_t comm : comms) {
            if (comm->calls.size() != calls) worst = ncclInvalidUsage;
            comm->calls.clear();
        }
        return worst;
    }
    ncclResult_t run(std::size_t i) {
        const EmulatedCall first = comms[0]->calls[i];
        const std::size_t bytes = first.count * (first.type == ncclChar ? 1 : 8), ranks = comms.size();
        std::vector<char> all(bytes * ranks);
        for (std::size_t r = 0; r < ranks; ++r) {
            if (comms[r]->calls.size() <= i) return ncclInvalidUsage;
            const EmulatedCall& call = comms[r]->calls[i];
            if (call.gathers != first.gathers || call.count != first.count || call.type != first.type ||
                call.op != first.op || call.root != first.root)
                return ncclInvalidUsage;
            std::memcpy(all.data() + r * bytes, call.from, bytes);
        }
        if (!first.gathers) {
            auto* const words = reinterpret_cast<std::int64_t*>(all.data());
            for (std::size_t k = first.count; k < ranks * first.count; ++k) {
                std::int64_t& to = words[k % first.count];
                to = first.op == ncclMax   ? std::max(to, words[k])
                     : first.op == ncclMin ? std::min(to, words[k])
                                           : to + words[k];
            }
            all.resize(bytes);
        }
        for (ncclComm_t comm : comms)
            if (first.root < 0 || first.root == comm->rank) std::memcpy(comm->calls[i].to, all.data(), all.size());
        return ncclSuccess;
    }
};
inline int emulated_groups = 0;
inline std::vector<std::shared_ptr<EmulatedRanks>> emulated_waiting;

inline const char* ncclGetErrorString(ncclResult_t result) {
    return result == ncclSuccess ? "no error" : "the ranks do not call the same";
}
inline ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int*) {
    const auto ranks = std::make_shared<EmulatedRanks>();
    for (int r = 0; r < count; ++r)
        ranks->comms.push_back(comms[r] = new ncclComm{ranks, r, {}});
    return ncclSuccess;
}
inline ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    delete comm;
    return ncclSuccess;
}
inline ncclResult_t ncclCommAbort(ncclComm_t comm) {
    return ncclCommDestroy(comm);
}
inline ncclResult_t ncclCommCuDevice(ncclComm_t, int* device) {
    *device = 0;
    return ncclSuccess;
}
inline ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
    *count = static_cast<int>(comm->ranks->comms.size());
    return ncclSuccess;
}
inline ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
    *rank = comm->rank;
    return ncclSuccess;
}
inline ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* met) {
    *met = ncclSuccess;
    return ncclSuccess;
}
inline ncclResult_t ncclGroupStart() {
    ++emulated_groups;
    return ncclSuccess;
}
inline ncclResult_t ncclGroupEnd() {
    ncclResult_t worst = ncclSuccess;
    if (--emulated_groups > 0) return worst;
    for (const auto& ranks : emulated_waiting)
        worst = std::max(worst, ranks->run());
    emulated_waiting.clear();
    return worst;
}
inline ncclResult_t emulated_call(ncclComm_t comm, const EmulatedCall& call) {
    comm->calls.push_back(call);
    if (emulated_groups == 0) return comm->ranks->run();
    if (std::find(emulated_waiting.begin(), emulated_waiting.end(), comm->ranks) == emulated_waiting.end())
        emulated_waiting.push_back(comm->ranks);
    return ncclSuccess;
}
inline ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                                  cudaStream_t) {
    return emulated_call(comm, {true, from, to, count, type, ncclSum});
}
inline ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                                  ncclComm_t comm, cudaStream_t) {
    return emulated_call(comm, {false, from, to, count, type, op});
}
inline ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                               int root, ncclComm_t comm, cudaStream_t) {
    return emulated_call(comm, {false, from, to, count, type, op, root});
}
