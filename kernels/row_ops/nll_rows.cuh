// nll, of which one element of a row is read, and its gradient, of which one element is not zero.
#pragma once

#include "row_ops/exp_rows.cuh"

namespace detreduce::cuda::row_kernels {

/// A thread a row. Without x it is the weights that are wanted.
template <class T>
__global__ void __launch_bounds__(max_block) nll_kernel(const __grid_constant__ Rows<T> a) {
    using V = fp::Arithmetic<T>;
    const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t row = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < a.rows; row += step) {
        const auto c = spec::RowClass<V>::of(a.targets[row], a.ignore_index, a.n);
        V loss = c.otherwise, own = c.otherwise;
        if (c.there) {
            const auto target = static_cast<std::uint64_t>(a.targets[row]);
            own = weight_of(a, target);
            if (a.x != nullptr) loss = spec::nll_loss(fp::widen(load_number(a.x + row * a.stride + target)), own);
        }
        put_number(a, row, loss, own);
    }
}

/// A block a row.
template <class T, class Out>
__global__ void __launch_bounds__(most_warps* warp_size) nll_gradient_kernel(const __grid_constant__ Rows<T> a) {
    using V = fp::Arithmetic<T>;
    for (std::uint64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
        const auto target = static_cast<std::uint64_t>(a.targets[row]);
        const auto c = spec::RowClass<V>::of(a.targets[row], a.ignore_index, a.n);
        const Out other = stored<Out>(c.there ? V{0} : c.otherwise);
        Out slope = other;
        if (c.there) slope = stored<Out>(spec::nll_slope(weight_of(a, target), a.factor != nullptr ? *a.factor : V{1}));
        Out* const out = static_cast<Out*>(a.out) + row * a.out_stride;
        for (std::uint64_t i = threadIdx.x; i < a.n; i += blockDim.x)
            out[i] = i == target ? slope : other;
    }
}

} // namespace detreduce::cuda::row_kernels
