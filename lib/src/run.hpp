// What running a plan has in common, whatever its kind: the checks that are not of its own arrays,
// and where it runs.
#pragma once

#include "check_pointer.hpp"
#include "cuda_call.hpp"
#include "host/arena.hpp"
#include "overlap.hpp"

namespace detreduce {

[[nodiscard]] inline Status check_workspace(const Device& device, std::size_t bytes, const void* workspace) {
    const bool cuda = device.backend == Backend::cuda;
    if (bytes == 0 || (workspace != nullptr && !misaligned(workspace, cuda ? 256 : 8))) return {};
    return invalid("workspace",
                   cuda ? "must point to as many bytes as the plan needs of device memory, aligned to 256 bytes"
                        : "must point to as many bytes as the plan needs of host memory, aligned to 8 bytes");
}

/// The workspace of finish(), of a loss whose plan is good.
template <class AnyPlan>
[[nodiscard]] Status check_finish(const AnyPlan& plan, const std::int64_t* states, const void* out,
                                  const void* workspace) {
    if (const Status bad = check_workspace(plan.request().device, plan.workspace_bytes(), workspace); !bad.ok())
        return bad;
    const Plan of_states = plan.states();
    const Area own = list_of(workspace, plan.workspace_bytes(), 1),
               read = list_of(states, of_states.groups() * of_states.state_words(), sizeof *states);
    if (!overlap(own, read) && !overlap(own, list_of(out, 1, size_of(plan.output())))) return {};
    return invalid("workspace", "must not overlap states or out");
}

/// A good plan, whose arrays are as check() wants them, with a workspace.
template <class AnyPlan, class Check>
[[nodiscard]] Status check_call(const AnyPlan& plan, const void* workspace, const Check& check) {
    if (!plan.status().ok()) return plan.status();
    if (const Status bad = check(); !bad.ok()) return bad;
    return check_workspace(plan.request().device, plan.workspace_bytes(), workspace);
}

/// on_cpu() with the buffers of the thread, or the function of the CUDA backend that takes the plan
/// and the arguments.
template <class OnCpu, class F, class AnyPlan, class... Arguments>
[[nodiscard]] Status run_on(const OnCpu& on_cpu, F cuda::Functions::*on_cuda, const AnyPlan& plan,
                            const Arguments&... arguments) {
    if (plan.request().device.backend == Backend::cuda) return cuda::call(on_cuda, plan, arguments...);
    const host::ArenaScope arena;
    if (const Status bad = arena.status(); !bad.ok()) return bad;
    on_cpu();
    return {};
}

} // namespace detreduce
