// transform_kernels_<dtype>.cu: the calls of transform_kernels.hpp.
#pragma once

#include <detreduce/transform_reduce.cuh>

#include "laws/term_function.hpp"
#include "laws/transform_kernels.hpp"

namespace detreduce::proptests {

/// use(result), of the type that `out` is of.
template <class T, class Use>
Status with_out(const GpuTransform<T>& call, const Use& use) {
    return call.options.state ? use(std::int64_t{}) : with_dtype(call.output, use);
}

template <class T>
Status GpuTransform<T>::workspace(std::size_t& bytes) const {
    return with_out(*this, [&]<class Out>(Out) {
        const cuda::TransformPlan<T, Out> plan(n, options);
        bytes = plan.workspace_bytes();
        return plan.status();
    });
}

template <class T>
Status GpuTransform<T>::run(void* workspace) const {
    const auto& function = *static_cast<const TermFunction<TermOf<T>>*>(f);
    return with_out(*this, [&]<class Out>(Out) {
        const cuda::TransformPlan<T, Out> plan(n, options);
        Out* const to = static_cast<Out*>(out);
        if constexpr (gpu_inputs<T> == 2) {
            return cuda::transform_run(plan, function, x, y, to, workspace, stream);
        } else {
            return cuda::transform_run(plan, function, x, to, workspace, stream);
        }
    });
}

template <class T>
Status GpuTransform<T>::run_without_workspace() const {
    const auto& function = *static_cast<const TermFunction<TermOf<T>>*>(f);
    return with_out(*this, [&]<class Out>(Out) {
        Out* const to = static_cast<Out*>(out);
        if constexpr (gpu_inputs<T> == 2) {
            return cuda::transform_reduce(function, x, y, n, to, options, stream);
        } else {
            return cuda::transform_reduce(function, x, n, to, options, stream);
        }
    });
}

} // namespace detreduce::proptests
