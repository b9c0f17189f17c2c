// From a plan's route to the launch of its element type.
#include <cuda_runtime_api.h>

#include "multiset/count/launch.hpp"
#include "cuda_backend.hpp"
#include "platform/cuda_error.hpp"
#include "multiset/exact/launch.hpp"
#include "sequence/launch.hpp"
#include "multiset/launch.hpp"
#include "plan_parts.hpp"
#include "state_form.hpp"
#include "f8/bytes.hpp"
#include "f8/widen.hpp"

namespace detreduce::cuda {
namespace {

using detail::Engine, detail::route_of, detail::Scope;

template <class T>
Status run_exact(const Run& run, Scope scope) {
    if (scope == Scope::tiles || scope == Scope::block) return launch_exact_small<T>(run);
    return scope == Scope::grid ? launch_exact_terms<T>(run) : launch_exact_groups<T>(run);
}

/// By the plan's engine.
template <class T>
Status run_by_engine(const Run& run) {
    const Scope scope = route_of(run.plan).scope;
    switch (route_of(run.plan).engine) {
    case Engine::zeros: // of no type
        break;
    case Engine::sums:
        if (scope != Scope::grid || info(run.request().op).transform != Transform::element)
            return launch_groups<T>(run);
        [[fallthrough]];
    case Engine::atomic:
        return launch_flat<T>(run);
    case Engine::products:
        return launch_product<T>(run);
    case Engine::moments:
        return launch_moments<T>(run);
    case Engine::exact:
        return run_exact<T>(run, scope);
    case Engine::order:
        return launch_multiset<T>(run);
    case Engine::unique:
        return scope == Scope::grid ? launch_count_unique<T>(run) : launch_count_unique_groups(run);
    }
    return {};
}

} // namespace

Status enqueue(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream) noexcept {
    const detail::Route& route = route_of(plan);
    if (route.engine == Engine::zeros)
        return from_cuda("cudaMemsetAsync", cudaMemsetAsync(out, 0, plan.groups() * detail::group_bytes(plan), stream));
    if (route.bytes) return launch_bytes({plan, in, out, workspace, stream});
    if (has_8_bits(plan.request().dtype)) {
        char* const memory = static_cast<char*>(workspace) + plan.workspace_bytes() - widened_bytes(plan.request());
        Inputs wide = in;
        const Status bad = launch_widen(plan, in, memory, wide, stream);
        return bad.ok() ? enqueue(detail::PlanParts::in_f16(plan), wide, out, workspace, stream) : bad;
    }
    const Run run{plan, in, out, workspace, stream};
    if (route.scope == Scope::list)
        return route.engine == Engine::exact ? launch_exact_tensors(run) : launch_multiset_list(run);
    return with_dtype_from_16_bits(plan.request().dtype, [&]<class T>(T) { return run_by_engine<T>(run); });
}

Status enqueue_add(const Plan& plan, ExactState* state, const void* x, Stream stream) noexcept {
    const Request& r = plan.request();
    const auto normalize = [&] { return enqueue_finish(r.device, state, nullptr, nullptr, r.dtype, stream); };
    Status status = normalize(); // a limb that is as large as it may be would not be one any more
    if (!status.ok()) return status;
    const Run run{plan, x, nullptr, nullptr, stream};
    status = with_dtype_from_16_bits(r.dtype, [&]<class T>(T) { return launch_exact_add<T>(run, state); });
    return status.ok() ? normalize() : status;
}

} // namespace detreduce::cuda
