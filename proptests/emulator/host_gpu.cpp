// A GPU that is the CPU: the part of the CUDA backend that ranks need, by the library's CPU
// backend, over the memory of runtime.cpp. What it tests is nccl.hpp and mpi_cuda.hpp, not a
// kernel. In an executable it takes the place of lib/src/no_cuda.cpp.
#include "cuda_backend.hpp"

#include <cstring>

#include <detreduce/fingerprint.hpp>
#include <detreduce/losses.hpp>
#include <detreduce/states.hpp>

namespace detreduce::cuda {
namespace {

constexpr std::size_t used_workspace = 256;

Status prepare_host(Request& request, detail::Route& route) noexcept {
    if (request.launch.block != 0 && request.launch.block != 128 && request.launch.block != 256)
        return {StatusCode::invalid_argument, "launch.block", "allowed are 128 and 256, or 0 for the library's choice"};
    request.device.index = 0;
    route.workspace_bytes = used_workspace;
    return {};
}

Plan on_host(const Plan& plan) noexcept {
    Request r = plan.request();
    r.device = cpu;
    r.launch = {};
    return make_plan(r);
}

Status run_on_host(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream) noexcept {
    std::memset(workspace, 0, used_workspace);
    return run(on_host(plan), in, out);
}

/// A GPU says nothing of what is no state: all bits of results are set, which is NaN, or no_index.
Status states_on_host(const Plan& plan, std::int64_t* states, const std::int64_t* others, void* out, Stream) noexcept {
    const Plan host = on_host(plan);
    if (out == nullptr) {
        (void)(others != nullptr ? merge(host, states, others) : normalize(host, states));
    } else if (const Status status = finish(host, states, out); !status.ok()) {
        std::memset(out, 0xff, plan.results() * plan.result_bytes());
    }
    return {};
}

Status clip_on_host(const ClipPlan& plan, const std::int64_t* state, const Tensor* list, void* norm_out,
                    void* workspace, Stream) noexcept {
    std::memset(workspace, 0, used_workspace);
    ClipRequest r = plan.request();
    r.device = cpu;
    r.launch = {};
    const ClipPlan host = make_clip_plan(r);
    if (state == nullptr) return run(host, list, norm_out);
    if (!clip_by_state(host, state, list, norm_out).ok()) std::memset(norm_out, 0xff, size_of(r.norm));
    return {};
}

Status fingerprint_on_host(const Device&, const Tensor* list, std::uint64_t tensors, Fingerprint* fingerprints,
                           Stream) noexcept {
    return fingerprint(list, tensors, fingerprints);
}

constexpr Functions table{.prepare = prepare_host,
                          .enqueue = run_on_host,
                          .enqueue_states = states_on_host,
                          .enqueue_clip = clip_on_host,
                          .enqueue_fingerprint = fingerprint_on_host};

} // namespace

const Functions* functions() noexcept {
    return &table;
}

} // namespace detreduce::cuda
