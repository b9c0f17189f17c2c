// Sums and means of losses by the kernels of transform/, terms and gradients by those of
// elementwise.cuh.
#pragma once

#include <detreduce/losses.hpp>

#include "losses/elementwise.cuh"
#include "transform/launch.cuh"

namespace detreduce::cuda {

template <class T>
struct LossLaunch {
    const LossPlan& plan;
    Stream stream;
    ThreeInputs<T> in;
    LossFunction<T> f;

    LossLaunch(const LossPlan& p, const LossInputs& inputs, Stream s)
        : plan(p), stream(s), in{static_cast<const T*>(inputs.x), static_cast<const T*>(inputs.target),
                                 static_cast<const T*>(inputs.weight),
                                 on_16_bytes(inputs.x) && on_16_bytes(inputs.target) && on_16_bytes(inputs.weight)},
          f{p.request().loss, fp::round_to<fp::Arithmetic<T>>(p.request().parameter)} {}

    /// As many blocks as the device holds four times over, so that the end is not ragged, but none
    /// without a pack.
    template <class Kernel, class... Arguments>
    [[nodiscard]] Status elementwise(Kernel kernel, const Arguments&... arguments) const {
        constexpr std::uint64_t per_block = policy::loss_threads * 16 / sizeof(T);
        std::uint32_t resident = 0;
        if (const Status bad =
                count_resident(kernel, policy::loss_threads, 0, detail::route_of(plan.plan()).device, resident);
            !bad.ok())
            return bad;
        const std::uint32_t asked = plan.plan().launch().grid;
        const std::uint64_t useful = spec::tiles(plan.request().n, per_block);
        const auto blocks = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(useful, asked ? asked : policy::times_resident * resident));
        return launch_kernel(LaunchKind::plain, kernel, blocks, policy::loss_threads, 0, stream, in, plan.request().n,
                             f, arguments...);
    }
};

/// By `tree` or `exact`, of the losses that most sums are of.
template <class T, class L>
[[nodiscard]] Status launch_one_loss(const LossLaunch<T>& launch, void* out, void* workspace) {
    constexpr Alignment known = Alignment::known;
    using Input = Mapped<T, OneLoss<T, L>, 2, known>;
    const Input input{ItemOf<T, 2, known>::pointer(launch.in.x, launch.in.y, true), {launch.f.parameter}};
    const MappedLaunch<T, OneLoss<T, L>, 2, known> sum{launch.plan.plan(), input,        launch.in.x, out,
                                                       workspace,          launch.stream};
    return sum.is_exact() ? sum.by_exact() : sum.template in_order<acc::Rounded<fp::Arithmetic<T>>>();
}

template <class T>
Status launch_loss(const LossPlan& plan, const LossInputs& in, void* out, void* workspace, Stream stream) {
    const LossLaunch<T> launch(plan, in, stream);
    if (plan.request().reduction == Reduction::none) {
        return launch.elementwise(loss_terms_kernel<T>, LossOut{out, plan.output(), on_16_bytes(out)});
    }
    const Method method = plan.request().method;
    if (launch.in.z == nullptr && launch.in.aligned && (method == Method::tree || method == Method::exact)) {
        using loss_terms::Terms;
        if (launch.f.loss == Loss::huber) return launch_one_loss<T, Terms<Loss::huber>>(launch, out, workspace);
        if constexpr (!fp::is_f64<T>) { // of doubles they are too many instructions
            if (launch.f.loss == Loss::bce_with_logits && launch.f.parameter == 1)
                return launch_one_loss<T, Terms<Loss::bce_with_logits>>(launch, out, workspace);
        }
    }
    const Mapped<T, LossFunction<T>, 3> input{launch.in, launch.f};
    return launch_mapped(plan.plan(), input, launch.in.x, out, workspace, stream);
}

template <class T>
Status launch_loss_gradient(const LossPlan& plan, const LossInputs& in, const void* upstream, const double* sums,
                            void* dx, Stream stream) {
    using loss_terms::Value;
    const LossArgument argument = plan.request().with_respect_to;
    LossInputs own = in;
    if (argument == LossArgument::weight) own.weight = nullptr; // what terms are not multiplied by
    const LossLaunch<T> launch(plan, own, stream);
    const LossFactor<T> factor{static_cast<const T*>(upstream), upstream && plan.request().reduction == Reduction::none,
                               detail::divisor_of(plan.request()), sums};
    const auto run = [&](auto kernel) {
        return launch.elementwise(kernel, factor, static_cast<T*>(dx), on_16_bytes(dx));
    };
    switch (loss_terms::gradient_value(argument)) {
    case Value::term:
        return run(loss_gradient_kernel<T, Value::term>);
    case Value::target_slope:
        return run(loss_gradient_kernel<T, Value::target_slope>);
    case Value::slope:
        break;
    }
    return run(loss_gradient_kernel<T, Value::slope>);
}

} // namespace detreduce::cuda
