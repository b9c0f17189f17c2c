// From a plan's route to the launch of its element type.
#include <cuda_runtime_api.h>

#include <detreduce/cuda.hpp>

#include "check_pointer.hpp"
#include "count/launch.hpp"
#include "cuda_backend.hpp"
#include "cuda_error.hpp"
#include "exact/launch.hpp"
#include "flat/launch.hpp"
#include "moments/launch.hpp"
#include "order/launch.hpp"
#include "product/launch.hpp"
#include "run_async.hpp"
#include "tensors/clip.hpp"

namespace detreduce::cuda {
namespace {

using detail::Engine, detail::route_of, detail::Scope;

Status check_state(const char* argument, const void* state) {
    if (state != nullptr && !misaligned(state, 8)) return {};
    return {StatusCode::invalid_argument, argument, "must be a device pointer to an ExactState, aligned to 8 bytes"};
}

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
        const bool exact = route_of(plan).engine == Engine::exact || route_of(plan).engine == Engine::exact_moments;
        return exact ? launch_exact_tensors(plan, in, out, workspace, stream, device)
                     : launch_order_list(plan, in, out, workspace, stream, device);
    }
    template <class T>
    [[nodiscard]] Status sums() const {
        return scope == Scope::grid ? launch_flat_terms<T>(plan, in, out, workspace, stream, device)
                                    : launch_groups<T>(plan, in, out, workspace, stream, device);
    }
    template <class T>
    [[nodiscard]] Status products() const {
        return scope == Scope::grid ? launch_product<T>(plan, in.x, out, workspace, stream, device)
                                    : launch_product_groups<T>(plan, in, out, workspace, stream, device);
    }
    template <class T>
    [[nodiscard]] Status moments() const {
        return scope == Scope::grid ? launch_moments_tree<T>(plan, in.x, out, workspace, stream, device)
                                    : launch_moments_groups<T>(plan, in, out, workspace, stream, device);
    }
    template <class T>
    [[nodiscard]] Status exact() const {
        if (scope == Scope::tiles) return launch_exact_small<T>(plan, in, out, workspace, stream, device);
        return scope == Scope::grid ? launch_exact_terms<T>(plan, in, out, workspace, stream, device)
                                    : launch_exact_groups<T>(plan, in, out, workspace, stream, device);
    }
    template <class T>
    [[nodiscard]] Status exact_moments() const {
        if (scope == Scope::tiles) return launch_exact_small<T>(plan, in, out, workspace, stream, device);
        return scope == Scope::grid ? launch_moments_exact<T>(plan, in.x, out, workspace, stream, device)
                                    : launch_moments_exact_groups<T>(plan, in, out, workspace, stream, device);
    }
    template <class T>
    [[nodiscard]] Status order() const {
        return scope == Scope::grid ? launch_order<T>(plan, in.x, out, workspace, stream, device)
                                    : launch_order_groups<T>(plan, in, out, workspace, stream, device);
    }
    template <class T>
    [[nodiscard]] Status minmax() const {
        return scope == Scope::grid ? launch_minmax<T>(plan, in.x, out, workspace, stream, device)
                                    : launch_tally_groups<T>(plan, in, out, workspace, stream, device);
    }
    template <class T>
    [[nodiscard]] Status nonzero() const {
        return scope == Scope::grid ? launch_count_nonzero<T>(plan, in.x, out, stream, device)
                                    : launch_tally_groups<T>(plan, in, out, workspace, stream, device);
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
            return products<T>();
        case Engine::moments:
            return moments<T>();
        case Engine::exact:
            return exact<T>();
        case Engine::exact_moments:
            return exact_moments<T>();
        case Engine::order:
            return order<T>();
        case Engine::minmax:
            return minmax<T>();
        case Engine::nonzero:
            return nonzero<T>();
        case Engine::unique:
            return unique<T>();
        }
        return {};
    }
};

} // namespace

Status enqueue(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream) noexcept {
    const DeviceScope scope(plan.request().device.index);
    if (!scope.status().ok()) return scope.status();
    if (route_of(plan).engine == Engine::zeros)
        return from_cuda("cudaMemsetAsync", cudaMemsetAsync(out, 0, plan.results() * plan.result_bytes(), stream));
    const Run run{plan, in, out, workspace, stream};
    if (run.scope == Scope::list) return run.list();
    return with_dtype(plan.request().dtype, [&]<class T>(T) { return run.run<T>(); });
}

Status enqueue_clip(const ClipPlan& plan, const Tensor* list, void* norm_out, void* workspace, Stream stream) noexcept {
    const DeviceScope scope(plan.norm().request().device.index);
    if (!scope.status().ok()) return scope.status();
    return launch_clip(plan, list, norm_out, workspace, stream, route_of(plan.norm()).device);
}

Status run_async(const Plan& plan, Inputs in, void* out, Stream stream) noexcept {
    return with_workspace(plan, stream, [&](void* workspace) { return run(plan, in, out, workspace, stream); });
}

Status add(ExactState* state, DType dtype, const void* x, std::uint64_t n, Stream stream) noexcept {
    if (const Status bad = check_state("state", state); !bad.ok()) return bad;
    const Plan plan = make_plan({.dtype = dtype, .n = n});
    if (!plan.status().ok() || n == 0) return plan.status();
    if (const Status bad = check_elements("x", x, dtype, n); !bad.ok()) return bad;
    const Status added =
        with_dtype(dtype, [&]<class T>(T) { return launch_exact_add<T>(state, x, n, stream, route_of(plan).device); });
    return added.ok() ? launch_exact_finish(state, nullptr, nullptr, dtype, stream) : added;
}

Status merge(ExactState* state, const ExactState* term, Stream stream) noexcept {
    if (const Status bad = check_state("state", state); !bad.ok()) return bad;
    if (const Status bad = check_state("term", term); !bad.ok()) return bad;
    return launch_exact_finish(state, term, nullptr, DType::f64, stream);
}

Status round(const ExactState* state, DType dtype, void* out, Stream stream) noexcept {
    if (const Status bad = check_state("state", state); !bad.ok()) return bad;
    if (!is_dtype(dtype)) return {StatusCode::invalid_argument, "dtype", allowed_dtypes};
    if (out == nullptr || misaligned(out, size_of(dtype))) {
        return {StatusCode::invalid_argument, "out", "must be a device pointer, aligned to an element of dtype"};
    }
    return launch_exact_finish(const_cast<ExactState*>(state), nullptr, out, dtype,
                               stream); // only read, as it is not normalized
}

} // namespace detreduce::cuda
