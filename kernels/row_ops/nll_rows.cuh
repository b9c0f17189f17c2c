// nll, of which one element of a row is read, and its gradient, of which one element is not zero.
#pragma once

#include "for_each.cuh"
#include "row_ops/exp_rows.cuh"

namespace detreduce::cuda::row_kernels {

/// A thread a row. Without x it is the weights that are wanted.
template <class T>
struct Nll {
    using V = fp::Arithmetic<T>;
    Rows<T> a;

    __device__ __forceinline__ void operator()(std::uint64_t row) const {
        const auto c = spec::RowClass<V>::of(a.targets[row], a.ignore_index, a.n);
        V loss = c.otherwise, own = c.otherwise;
        if (c.there) {
            const auto target = static_cast<std::uint64_t>(a.targets[row]);
            own = weight_of(a, target);
            if (a.x != nullptr) loss = spec::nll_loss(fp::widen(load_number(a.x + row * a.stride + target)), own);
        }
        put_number(a, row, loss, own);
    }
};

template <class T>
struct NllGradient : RowKernel<T, false, 1> {
    using V = fp::Arithmetic<T>;
    using Memory = ChunkMemory<T, false>;

    static __device__ __forceinline__ void run(const Rows<T>& a, std::uint64_t row, const Teams<Memory>&) {
        if (row >= a.rows) return;
        const auto target = static_cast<std::uint64_t>(a.targets[row]);
        const auto c = spec::RowClass<V>::of(a.targets[row], a.ignore_index, a.n);
        const V other = c.there ? V{0} : c.otherwise;
        V slope = other;
        if (c.there) slope = spec::nll_slope(weight_of(a, target), factor_of(a, row));
        const auto out = RowOut<T>::of(a, row);
        for (std::uint64_t i = threadIdx.x; i < a.n; i += blockDim.x)
            out.put(i, i == target ? slope : other);
    }
};

} // namespace detreduce::cuda::row_kernels
