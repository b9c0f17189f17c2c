// From a plan's route to the launch of its element type.
#include <cuda_runtime_api.h>

#include "multiset/count/launch.hpp"
#include "cuda_backend.hpp"
#include "platform/cuda_error.hpp"
#include "multiset/exact/launch.hpp"
#include "sequence/launch.hpp"
#include "sequence/moments/launch.hpp"
#include "multiset/launch.hpp"
#include "plan_parts.hpp"
#include "sequence/product/launch.hpp"
#include "state_form.hpp"
#include "tensors/clip.hpp"
#include "widen/widen.hpp"

namespace detreduce::cuda {
namespace {

using detail::Engine, detail::route_of, detail::Scope;

/// One run of a plan: a function an engine.
struct Run {
    const Plan& plan;
    const Inputs& in;
    void* out;
    void* workspace;
    Stream stream;
    const DeviceTraits& device = route_of(plan).device;
    Scope scope = route_of(plan).scope;

    [[nodiscard]] Status list() const {
        const bool exact = route_of(plan).engine == Engine::exact;
        return exact ? launch_exact_tensors(plan, in, out, workspace, stream, device)
                     : launch_multiset_list(plan, in, out, workspace, stream, device);
    }
    template <class T>
    [[nodiscard]] Status sums() const {
        const bool of_elements = scope == Scope::grid && info(plan.request().op).transform == Transform::element;
        return of_elements ? launch_flat<T>(plan, in.x, out, workspace, stream, device)
                           : launch_groups<T>(plan, in, out, workspace, stream, device);
    }
    template <class T>
    [[nodiscard]] Status exact() const {
        if (scope == Scope::tiles || scope == Scope::block)
            return launch_exact_small<T>(plan, in, out, workspace, stream, device);
        return scope == Scope::grid ? launch_exact_terms<T>(plan, in, out, workspace, stream, device)
                                    : launch_exact_groups<T>(plan, in, out, workspace, stream, device);
    }
    template <class T>
    [[nodiscard]] Status unique() const {
        return scope == Scope::grid ? launch_count_unique<T>(plan, in.x, out, workspace, stream, device)
                                    : launch_count_unique_groups(plan, in, out, workspace, stream, device);
    }
    template <class T>
    [[nodiscard]] Status run() const {
        switch (route_of(plan).engine) {
        case Engine::zeros: // of no type
            break;
        case Engine::sums:
            return sums<T>();
        case Engine::atomic:
            return launch_flat<T>(plan, in.x, out, workspace, stream, device);
        case Engine::products:
            return launch_product<T>(plan, in, out, workspace, stream, device);
        case Engine::moments:
            return launch_moments<T>(plan, in, out, workspace, stream, device);
        case Engine::exact:
            return exact<T>();
        case Engine::order:
            return launch_multiset<T>(plan, in, out, workspace, stream, device);
        case Engine::unique:
            return unique<T>();
        }
        return {};
    }
};

} // namespace

Status enqueue(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream) noexcept {
    if (route_of(plan).engine == Engine::zeros)
        return from_cuda("cudaMemsetAsync", cudaMemsetAsync(out, 0, plan.groups() * detail::group_bytes(plan), stream));
    if (has_8_bits(plan.request().dtype)) {
        char* const memory = static_cast<char*>(workspace) + plan.workspace_bytes() - widened_bytes(plan.request());
        Inputs wide = in;
        const Status bad = launch_widen(plan, in, memory, wide, stream);
        return bad.ok() ? enqueue(detail::PlanParts::in_f16(plan), wide, out, workspace, stream) : bad;
    }
    const Run run{plan, in, out, workspace, stream};
    if (run.scope == Scope::list) return run.list();
    return with_dtype_from_16_bits(plan.request().dtype, [&]<class T>(T) { return run.run<T>(); });
}

Status enqueue_clip(const ClipPlan& plan, const std::int64_t* state, const Tensor* list, void* norm_out,
                    void* workspace, Stream stream) noexcept {
    return launch_clip(plan, state, list, norm_out, workspace, stream, route_of(plan.norm()).device);
}

Status enqueue_add(const Plan& plan, ExactState* state, const void* x, Stream stream) noexcept {
    const Request& r = plan.request();
    const auto normalize = [&] { return launch_exact_finish(state, nullptr, nullptr, r.dtype, stream); };
    Status status = normalize(); // a limb that is as large as it may be would not be one any more
    if (!status.ok()) return status;
    status = with_dtype_from_16_bits(
        r.dtype, [&]<class T>(T) { return launch_exact_add<T>(state, x, r.n, stream, route_of(plan).device); });
    return status.ok() ? normalize() : status;
}

Status enqueue_finish(const Device&, ExactState* state, const ExactState* term, void* out, DType output,
                      Stream stream) noexcept {
    return launch_exact_finish(state, term, out, output, stream);
}

} // namespace detreduce::cuda
