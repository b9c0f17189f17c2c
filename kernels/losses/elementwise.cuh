// Terms and gradients of losses, one value an element: 16 bytes of each input at a time, dealt out
// to the threads of a grid in turn.
#pragma once

#include "losses/function.cuh"
#include "rounded.cuh"
#include "policies.hpp"

namespace detreduce::cuda {

/// K neighbouring values at out[at], in one store where the address of out[0] allows it.
template <class Out, int K, class V>
__device__ __forceinline__ void store_pack(Out* out, bool aligned, const Pack<V, K>& values) {
    const auto pack = pack_of<Out, K>([&](int k) { return rounded_to<Out>(values.v[k]); });
    if (aligned) {
        *reinterpret_cast<Pack<Out, K>*>(out) = pack;
        return;
    }
#pragma unroll
    for (int k = 0; k < K; ++k)
        out[k] = pack.v[k];
}

/// Where terms go, of any format.
struct LossOut {
    void* out;
    DType output;
    bool aligned;

    template <int K, class V>
    __device__ __forceinline__ void store(std::uint64_t at, const Pack<V, K>& values) const {
        with_array(out, output, [&](auto* to) { store_pack(to + at, aligned, values); });
    }
    template <class V>
    __device__ __forceinline__ void store(std::uint64_t at, V value) const {
        with_array(out, output, [&]<class T>(T* to) { to[at] = rounded_to<T>(value); });
    }
};

/// An upstream gradient for each element or one, or, null, 1; and what a mean is over.
template <class T>
struct LossFactor {
    using V = fp::Arithmetic<T>;
    const T* upstream;
    bool one_each;
    std::uint64_t count;
    const double* sums;

    __device__ __forceinline__ loss_terms::Factor<V> common() const {
        return {upstream == nullptr || one_each ? V(1) : argument(load_number(upstream)), count, sums};
    }
};

/// each(i, pack) for every whole pack, rest(i, element) for every element behind them.
template <class T, class Each, class Rest>
__device__ __forceinline__ void for_each_element(const ThreeInputs<T>& in, std::uint64_t n, const Each& each,
                                                 const Rest& rest) {
    constexpr int K = 16 / sizeof(T);
    const std::uint64_t packs = n / K, threads = std::uint64_t{gridDim.x} * blockDim.x,
                        first = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    for (std::uint64_t i = first; i < packs; i += threads) {
        const auto at = static_cast<std::int64_t>(i * K);
        each(i * K, load_pack<Source::any_input, Three<T>, K>(in + at));
    }
    const std::uint64_t last = packs * K + first;
    if (last < n) rest(last, load_item<Source::any_input>(in + static_cast<std::int64_t>(last)));
}

template <class T>
__global__ void __launch_bounds__(policy::loss_threads)
    loss_terms_kernel(const ThreeInputs<T> in, std::uint64_t n, const LossFunction<T> f, const LossOut out) {
    for_each_element(
        in, n,
        [&](std::uint64_t at, const auto& raw) { out.store(at, f.template values<loss_terms::Value::term>(raw)); },
        [&](std::uint64_t at, const Three<T>& e) { out.store(at, f(argument(e.x), argument(e.y), argument(e.z))); });
}

template <class T, loss_terms::Value Which>
__global__ void __launch_bounds__(policy::loss_threads)
    loss_gradient_kernel(const ThreeInputs<T> in, std::uint64_t n, const LossFunction<T> f, const LossFactor<T> factor,
                         T* dx, bool aligned) {
    using V = fp::Arithmetic<T>;
    const V common = factor.common().factor();
    V center = 0;
    if constexpr (Which == loss_terms::Value::term) center = factor.common().center();
    const auto scaled = [&](std::uint64_t i, V slope) {
        if constexpr (Which == loss_terms::Value::term) slope = slope - center;
        return slope * (factor.one_each ? argument(load_number(factor.upstream + i)) : common);
    };
    for_each_element(
        in, n,
        [&](std::uint64_t at, const auto& raw) {
            auto slopes = f.template values<Which>(raw);
            constexpr int K = sizeof(slopes) / sizeof(V);
#pragma unroll
            for (int k = 0; k < K; ++k)
                slopes.v[k] = scaled(at + k, slopes.v[k]);
            store_pack(dx + at, aligned, slopes);
        },
        [&](std::uint64_t at, const Three<T>& e) {
            const V x = argument(e.x), t = argument(e.y);
            const V slope = loss_terms::with_loss(f.loss, f.parameter, [&]<class L>(L loss) {
                return loss_terms::value_of<Which>(loss, x, t, f.parameter);
            });
            dx[at] = rounded_to<T>(scaled(at, slope * argument(e.z)));
        });
}

} // namespace detreduce::cuda
