// A loss as the function of transform/: of an element, its target and its weight. The choice of the
// loss is the same for all threads.
#pragma once

#include <detreduce/spec/loss_terms.hpp>

#include "transform/mapped.cuh"

namespace detreduce::cuda {

/// The loss's terms of K elements, or its derivatives.
template <loss_terms::Value Which, class V, int K>
__device__ __forceinline__ Pack<V, K> loss_values(Loss loss, V parameter, const Pack<V, K>& x, const Pack<V, K>& t) {
    return loss_terms::with_loss(loss, parameter, [&]<class L>(L) {
        return pack_of<V, K>([&](int k) { return loss_terms::value_of<Which>(L{}, x.v[k], t.v[k], parameter); });
    });
}

/// A call: the kernels of sums compute terms in dozens of places, and seven losses in each would
/// take minutes to compile.
template <class V, int K>
__device__ __noinline__ Pack<V, K> called_loss_terms(Loss loss, V parameter, Pack<V, K> x, Pack<V, K> t) {
    return loss_values<loss_terms::Value::term>(loss, parameter, x, t);
}
template <class V>
__device__ __noinline__ V called_loss_term(Loss loss, V parameter, V x, V t) {
    return loss_terms::with_loss(loss, parameter, [&]<class L>(L) { return L::term(x, t, parameter); });
}

/// The elements of a pack, as numbers.
template <class T, int K>
struct LossPack {
    using V = fp::Arithmetic<T>;
    Pack<V, K> x, t, w;
    __device__ __forceinline__ explicit LossPack(const Pack<Three<T>, K>& raw) {
#pragma unroll
        for (int k = 0; k < K; ++k) {
            x.v[k] = argument(raw.v[k].x);
            t.v[k] = argument(raw.v[k].y);
            w.v[k] = argument(raw.v[k].z);
        }
    }
    /// Where there are no weights, they are ones, which change no bit.
    __device__ __forceinline__ Pack<V, K> weighted(const Pack<V, K>& values) const {
        return pack_of<V, K>([&](int k) { return values.v[k] * w.v[k]; });
    }
};

template <class T>
struct LossFunction {
    using V = fp::Arithmetic<T>;
    static constexpr bool takes_packs = true;
    Loss loss;
    V parameter;

    __device__ __forceinline__ V operator()(V x, V t, V w) const { return called_loss_term(loss, parameter, x, t) * w; }
    template <int K>
    __device__ __forceinline__ Pack<V, K> terms(const Pack<Three<T>, K>& raw) const {
        const LossPack<T, K> in(raw);
        return in.weighted(called_loss_terms(loss, parameter, in.x, in.t));
    }
    /// Without a call, for kernels that do so in one place.
    template <loss_terms::Value Which, int K>
    __device__ __forceinline__ Pack<V, K> values(const Pack<Three<T>, K>& raw) const {
        const LossPack<T, K> in(raw);
        return in.weighted(loss_values<Which>(loss, parameter, in.x, in.t));
    }
};

/// One loss alone, of elements without weights: no call, so that loads wait for no term.
template <class T, class L>
struct OneLoss {
    using V = fp::Arithmetic<T>;
    static constexpr bool takes_any_nan = true;
    V parameter;
    __device__ __forceinline__ V operator()(V x, V t) const { return L::term(x, t, parameter); }
};

} // namespace detreduce::cuda
