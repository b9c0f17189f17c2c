// Host side of a caller's function on the GPU: it is compiled where the caller's code is, with the
// kernels of the library.
#pragma once

#include <detreduce/transform_reduce.hpp>

#include "transform/device_math.cuh"

#include "multiset/exact/launch.cuh"
#include "sequence/launch.cuh"
#include "transform/exact.cuh"

namespace detreduce::cuda {

/// Runs a plan of plan_transform(), all of whose pointers have been checked, on its device, which
/// is current. x: the first of the input's arrays.
template <class T, class F, int Inputs, Alignment A>
struct MappedLaunch {
    static_assert(std::is_trivially_copyable_v<F>, "the function is copied to the GPU byte by byte");
    const Plan& plan;
    const Mapped<T, F, Inputs, A>& input;
    const T* x;
    void* out;
    void* workspace;
    Stream stream;

    [[nodiscard]] bool is_exact() const { return detail::route_of(plan).engine == detail::Engine::exact; }
    [[nodiscard]] Status by_exact() const {
        return ExactLaunch<exact::MappedTiles<T, F, Inputs, A>>{run(), {input, plan.request().n}}.reduce();
    }
    template <class Acc>
    [[nodiscard]] Status in_order() const {
        return FlatLaunch<T, Acc>(run()).template two_pass<MappedLevel<T, Acc, F, Inputs, A>>(input);
    }

  private:
    [[nodiscard]] Run run() const { return {plan, x, out, workspace, stream}; }
};
template <class T, class F, int Inputs>
[[nodiscard]] Status launch_mapped(const Plan& plan, const Mapped<T, F, Inputs>& input, const T* x, void* out,
                                   void* workspace, Stream stream) {
    const MappedLaunch<T, F, Inputs, Alignment::seen> launch{plan, input, x, out, workspace, stream};
    if (launch.is_exact()) return launch.by_exact();
    return with_accumulator<fp::Arithmetic<T>>(plan.request().method,
                                               [&]<class Acc>(const Acc*) { return launch.template in_order<Acc>(); });
}

[[nodiscard]] inline bool on_16_bytes(const void* p) {
    return reinterpret_cast<std::uintptr_t>(p) % 16 == 0;
}

/// The same for a function of one input, or two.
template <class T, int Inputs, class F>
[[nodiscard]] Status launch_transform(const Plan& plan, const F& f, const T* x, const T* y, void* out, void* workspace,
                                      Stream stream) {
    using Input = Mapped<T, F, Inputs>;
    const bool aligned = on_16_bytes(x) && on_16_bytes(y); // a null y, too
    const Input input{ItemOf<T, Inputs>::pointer(x, y, aligned), f};
    return launch_mapped(plan, input, x, out, workspace, stream);
}

} // namespace detreduce::cuda
