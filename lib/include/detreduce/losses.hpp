// Losses of elements and their targets, and the gradients of these: mse, mae, huber, smooth_l1,
// bce, bce_with_logits, kl_div and focal, each term alone, their sum or their mean. A loss is a
// sum, so it has the methods and guarantees of one; a gradient is computed element by element, so
// it has one value.
//
//     float loss = dr::loss(dr::Loss::huber, x, target);                   // the mean, exact
//     std::vector<float> dx = dr::loss_gradient(dr::Loss::huber, x, target);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include <detreduce/host.hpp>
#include <detreduce/loss_words.hpp>
#include <detreduce/plan.hpp>

#pragma GCC visibility push(default)
namespace detreduce {

/// What to compute and where. Only `dtype` and `n` have no useful default.
struct LossRequest {
    Loss loss = Loss::mse;
    std::optional<Reduction> reduction = {}; ///< empty: mean
    Method method = Method::automatic;       ///< of sum and mean: automatic (exact), exact, compensated, kahan or tree
    DType dtype = DType::f32;                ///< of x, target, weight and the gradient
    /// of the result; empty: that of the elements. `none` and exact give any but f8e4m3 and f8e5m2,
    /// the others their own or a wider one
    std::optional<DType> output = {};
    std::uint64_t n = 0; ///< 0 … 2^40; a mean has at least 1
    /// huber: delta, above 0; smooth_l1: beta, bce_with_logits: pos_weight, focal: gamma, 0 or
    /// above; rounded to the format of the terms, where it must be finite.
    double parameter = 1;
    bool weighted = false; ///< each term is multiplied by a weight
    /// Of mean: the rows by whose number the sum is divided, as `batchmean` of kl_div; 0: n, or, of
    /// weighted mse and mae, the sum of the weights.
    std::uint64_t batch = 0;
    /// Of run_gradient(): x, target or, of a weighted loss, weight.
    LossArgument with_respect_to = LossArgument::x;
    Device device = current_gpu; ///< or `cpu`, for which there are shorter calls below
    Launch launch = {};          ///< as TransformOptions::launch, and of unweighted mse and mae as Request::launch
    /// Write states, for a loss by many (states.hpp), in the place of the sum or mean: exact. n is
    /// that of a part, and may be 0.
    bool state = false;
};

namespace detail {
/// What a mean is over, unless that is the sum of the weights; of what is no mean 0.
[[nodiscard]] constexpr std::uint64_t divisor_of(const LossRequest& r) noexcept {
    return r.reduction != Reduction::mean ? 0 : r.batch != 0 ? r.batch : r.n;
}
} // namespace detail

/// Where the elements are.
struct LossInputs {
    const void* x = nullptr;
    const void* target = nullptr;
    const void* weight = nullptr; ///< of a weighted request, else null
};

/// A request that was checked, with the workspace that it needs. A plain value, as Plan is.
class LossPlan {
  public:
    [[nodiscard]] const Status& status() const noexcept { return status_; }
    [[nodiscard]] const LossRequest& request() const noexcept { return request_; }
    [[nodiscard]] DType output() const noexcept { return request_.output.value_or(request_.dtype); }
    /// Bytes of device memory, aligned to 256, that run() needs. On the CPU: 0.
    [[nodiscard]] std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }
    /// The same of run_gradient(): 0 but where the mean is over the sum of the weights.
    [[nodiscard]] std::size_t gradient_workspace_bytes() const noexcept { return gradient_workspace_bytes_; }
    /// Values that run() writes.
    [[nodiscard]] std::uint64_t results() const noexcept {
        return request_.reduction == Reduction::none ? request_.n : 1;
    }
    /// Of a request for states: the plan of what run() writes, which is merged, added up by
    /// whatever adds integers, and serialized as that of any plan: of one group, or, where the mean
    /// is over the sum of the weights, of two, that of the terms and that of the weights.
    [[nodiscard]] Plan states() const noexcept;
    /// The sum or mean, over the terms or, where an op is the whole loss, over the elements; of
    /// `none` the launch alone means something.
    [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
    /// Is the mean a sum over the sum of the weights? This is the latter's plan.
    [[nodiscard]] bool is_over_weights() const noexcept { return is_over_weights_; }
    [[nodiscard]] const Plan& weights() const noexcept { return weights_; }
    /// Is the mean a sum, rounded to f64, over another number than n?
    [[nodiscard]] bool is_quotient() const noexcept {
        return is_over_weights_ || (request_.reduction == Reduction::mean && request_.batch != 0);
    }
    /// Is the loss an op of run() (sum and mean of mse, mean of mae, without weights)? Then `exact`
    /// gives the true loss, rounded once.
    [[nodiscard]] bool is_op() const noexcept { return is_op_; }

  private:
    friend LossPlan make_loss_plan(const LossRequest& request) noexcept;
    LossRequest request_;
    Plan plan_, weights_;
    std::size_t workspace_bytes_ = 0, gradient_workspace_bytes_ = 0;
    bool is_op_ = false, is_over_weights_ = false;
    Status status_{StatusCode::invalid_argument, "plan", "must come from make_loss_plan()"};
};
static_assert(std::is_trivially_copyable_v<LossPlan>);

/// Makes the plan of `request`. A bad request gives a plan whose status() says which argument is
/// wrong and what is allowed.
[[nodiscard]] LossPlan make_loss_plan(const LossRequest& request) noexcept;

/// Runs `plan`: the loss of the n elements of x with their targets, into `out`.
///
/// formula      terms lᵢ = wᵢ·loss(xᵢ, tᵢ), computed in float (f64: double) as lib/SPEC.md says.
///              none: each lᵢ, rounded once. sum, mean: Σlᵢ, Σlᵢ / n or Σlᵢ / batch; of weighted
///              mse and mae Σlᵢ / Σwᵢ. exact rounds the true sum of these terms once
/// shapes       x, target, weight: n contiguous elements, aligned to the element. out:
///              plan.results() elements of plan.output()
/// dtypes       f16, bf16, f32, f64
/// guarantee    sum, mean: info(method).guarantee. none: device
/// error bound  a term: losses[…].max_ulp, one ulp more for a weight, half an ulp for a narrower
///              output. The sum of the terms: as run() of plan.hpp
/// workspace    plan.workspace_bytes() bytes of device memory, private to this call until it is
///              done
/// overlap      none: out may be x, target or weight, if its elements have their size. Another
///              overlap of workspace, out and inputs is refused
/// stream       CUDA: enqueued on `stream` of the plan's device, not synchronised, nothing
///              allocated, may be captured in a graph; pointers are device pointers. CPU: returns
///              when `out` is written
/// errors       plan.status() if that is not ok; invalid_argument for a null or misaligned pointer,
///              or a weight that the request does not have; cuda_error; out_of_memory
/// NaN, empty   a NaN, or no probability where one is needed: the canonical NaN. n = 0: a sum is
///              +0, none writes nothing, make_loss_plan() refuses a mean
/// more         docs/reference-calls.md, lib/SPEC.md, section 15
Status run(const LossPlan& plan, const LossInputs& in, void* out, void* workspace = nullptr,
           Stream stream = nullptr) noexcept;

/// Of a request for states: writes the loss of all that went into `states`, those of plan.states(),
/// as run() writes it where all of it is in one place. Where there is nothing, the mean is NaN.
///
/// errors, stream, workspace  as run(), and finish() of plan.states()
Status finish(const LossPlan& plan, const std::int64_t* states, void* out, void* workspace = nullptr,
              Stream stream = nullptr) noexcept;

/// Writes the derivative of what run() computes with respect to each element of x, target or weight
/// (with_respect_to), times `upstream`, to `dx`. Otherwise as run().
///
/// formula      dxᵢ = lossʹ(xᵢ, tᵢ)·wᵢ·f, rounded after each product and once to the dtype. With g
///              for upstream, f is g of none and sum, and g / n, g / Σw or g / batch of mean. With
///              respect to weight: the term, times f; where the mean is over Σw, the term less the
///              mean, times f. docs/reference-calls.md has lossʹ of each loss
/// shapes       upstream: null for 1, or one element, or n of them where nothing is reduced. dx: n
///              elements
/// dtypes       upstream, dx: the plan's dtype. The request's output does not matter; its method
///              matters only where the mean is over Σw
/// guarantee    device
/// error bound  lossʹ: losses[…].max_ulp_gradient; one ulp more for the weight and for f, and half
///              an ulp for f16 and bf16
/// workspace    plan.gradient_workspace_bytes() bytes of device memory, private to this call until
///              it is done
/// overlap      dx may be x, target, weight, or an upstream of n elements. Another overlap is
///              refused
/// NaN, empty   NaN where the term is NaN because of x and a finite t. An infinite t: as the
///              formula says. n = 0: nothing is written
Status run_gradient(const LossPlan& plan, const LossInputs& in, const void* upstream, void* dx, void* workspace,
                    Stream stream) noexcept;
inline Status run_gradient(const LossPlan& plan, const LossInputs& in, const void* upstream, void* dx,
                           Stream stream = nullptr) noexcept {
    return run_gradient(plan, in, upstream, dx, nullptr, stream);
}

/// What the shorter calls may be told.
struct LossOptions {
    std::optional<Reduction> reduction = {}; ///< empty: mean
    Method method = Method::automatic;
    double parameter = 1;                           ///< as LossRequest::parameter
    std::uint64_t batch = 0;                        ///< as LossRequest::batch
    LossArgument with_respect_to = LossArgument::x; ///< of gradients
    Launch launch = {};
};

/// Weights, if there are any.
template <class T>
using WeightsOf = std::optional<std::span<const T>>;

namespace detail {

/// The plan of ranges on the CPU. Throws Error, also for argument target or weight where it is not
/// as long as x.
template <class T>
[[nodiscard]] LossPlan plan_on_cpu(Loss loss, std::size_t n, std::size_t targets, const WeightsOf<T>& weight,
                                   DType output, const LossOptions& options) {
    if (targets != n) throw_if_error({StatusCode::invalid_argument, "target", "must have as many elements as x"});
    if (weight && weight->size() != n)
        throw_if_error({StatusCode::invalid_argument, "weight", "must have as many elements as x"});
    const LossPlan plan = make_loss_plan({.loss = loss,
                                          .reduction = options.reduction,
                                          .method = options.method,
                                          .dtype = dtype_of<T>,
                                          .output = output,
                                          .n = n,
                                          .parameter = options.parameter,
                                          .weighted = weight.has_value(),
                                          .batch = options.batch,
                                          .with_respect_to = options.with_respect_to,
                                          .device = cpu,
                                          .launch = options.launch});
    throw_if_error(plan.status());
    return plan;
}

/// Where ranges and weights lie.
template <class X, class Y, class T>
[[nodiscard]] LossInputs inputs_of(const X& x, const Y& target, const WeightsOf<T>& weight) {
    return {std::ranges::data(x), std::ranges::data(target), weight ? weight->data() : nullptr};
}

/// Refuses what has n results.
inline void require_reduction(const LossOptions& options) {
    if (options.reduction != Reduction::none) return;
    throw_if_error(
        {StatusCode::invalid_argument, "reduction", "allowed are sum and mean; for none there is loss_terms_of()"});
}

} // namespace detail

/// The mean or sum of a loss on the CPU, as run() computes it, returned as an Out, or in the
/// elements' format. `weight`: {}, or as many as there are elements.
///
/// errors       throws Error: what make_loss_plan() and run() refuse; argument target or weight
///              when it is not as long as x; reduction none
template <Element Out, Elements X, Elements Y>
[[nodiscard]] Out loss_as(Loss loss, const X& x, const Y& target, const WeightsOf<ElementOf<X>>& weight,
                          const LossOptions& options = {}) {
    using T = ElementOf<X>;
    static_assert(std::same_as<T, ElementOf<Y>>, "x and target must have elements of the same type");
    detail::require_reduction(options);
    const LossPlan plan =
        detail::plan_on_cpu<T>(loss, std::ranges::size(x), std::ranges::size(target), weight, dtype_of<Out>, options);
    Out result{};
    throw_if_error(run(plan, detail::inputs_of(x, target, weight), &result));
    return result;
}
template <Elements X, Elements Y>
[[nodiscard]] ElementOf<X> loss(Loss loss, const X& x, const Y& target, const LossOptions& options = {}) {
    return loss_as<ElementOf<X>>(loss, x, target, {}, options);
}
template <Elements X, Elements Y, Elements W>
[[nodiscard]] ElementOf<X> loss(Loss loss, const X& x, const Y& target, const W& weight,
                                const LossOptions& options = {}) {
    return loss_as<ElementOf<X>>(loss, x, target, std::span<const ElementOf<X>>(weight), options);
}

/// The terms of a loss on the CPU, as run() computes them where nothing is reduced. Otherwise as
/// loss_as().
template <Elements X, Elements Y>
[[nodiscard]] std::vector<ElementOf<X>> loss_terms_of(Loss loss, const X& x, const Y& target,
                                                      const WeightsOf<ElementOf<X>>& weight = {},
                                                      LossOptions options = {.reduction = Reduction::none}) {
    using T = ElementOf<X>;
    static_assert(std::same_as<T, ElementOf<Y>>, "x and target must have elements of the same type");
    if (options.reduction != Reduction::none)
        throw_if_error(
            {StatusCode::invalid_argument, "reduction", "allowed is none, which {.reduction = none, …} says"});
    const LossPlan plan =
        detail::plan_on_cpu<T>(loss, std::ranges::size(x), std::ranges::size(target), weight, dtype_of<T>, options);
    std::vector<T> terms(plan.results());
    throw_if_error(run(plan, detail::inputs_of(x, target, weight), terms.data()));
    return terms;
}

/// The gradient of the loss that loss() gives on the CPU, times what `upstream` points to
/// (null: 1), as run_gradient() computes it. Otherwise as loss_as().
template <Elements X, Elements Y>
[[nodiscard]] std::vector<ElementOf<X>> loss_gradient(Loss loss, const X& x, const Y& target,
                                                      const WeightsOf<ElementOf<X>>& weight,
                                                      const ElementOf<X>* upstream, const LossOptions& options) {
    using T = ElementOf<X>;
    static_assert(std::same_as<T, ElementOf<Y>>, "x and target must have elements of the same type");
    const LossPlan plan =
        detail::plan_on_cpu<T>(loss, std::ranges::size(x), std::ranges::size(target), weight, dtype_of<T>, options);
    std::vector<T> dx(std::ranges::size(x));
    throw_if_error(run_gradient(plan, detail::inputs_of(x, target, weight), upstream, dx.data()));
    return dx;
}
template <Elements X, Elements Y>
[[nodiscard]] std::vector<ElementOf<X>> loss_gradient(Loss loss, const X& x, const Y& target,
                                                      const LossOptions& options = {}) {
    return loss_gradient(loss, x, target, {}, nullptr, options);
}
template <Elements X, Elements Y, Elements W>
[[nodiscard]] std::vector<ElementOf<X>> loss_gradient(Loss loss, const X& x, const Y& target, const W& weight,
                                                      const LossOptions& options = {}) {
    return loss_gradient(loss, x, target, std::span<const ElementOf<X>>(weight), nullptr, options);
}

namespace cuda {

/// run() of a plan for a CUDA device with the workspace taken from the stream-ordered allocator
/// (cudaMallocAsync), freed in stream order.
///
/// errors       also invalid_argument for a plan that was not made for a CUDA device
Status run_async(const LossPlan& plan, const LossInputs& in, void* out, Stream stream = nullptr) noexcept;
/// run_gradient() likewise; nothing is allocated where no workspace is needed.
Status run_gradient_async(const LossPlan& plan, const LossInputs& in, const void* upstream, void* dx,
                          Stream stream = nullptr) noexcept;

/// The loss of n elements at device pointers x and target, and weight, unless null, into device
/// pointer `out`, which has room for n results if nothing is reduced: run_async() on the current
/// device.
template <Element T, Element Out>
Status loss_async(Loss loss, const T* x, const T* target, const T* weight, std::uint64_t n, Out* out,
                  const LossOptions& options = {}, Stream stream = nullptr) noexcept {
    const LossRequest request{.loss = loss,
                              .reduction = options.reduction,
                              .method = options.method,
                              .dtype = dtype_of<T>,
                              .output = dtype_of<Out>,
                              .n = n,
                              .parameter = options.parameter,
                              .weighted = weight != nullptr,
                              .batch = options.batch,
                              .launch = options.launch};
    return run_async(make_loss_plan(request), {x, target, weight}, out, stream);
}

/// Its gradient times what device pointer `upstream` points to (null: 1), into device pointer dx:
/// run_gradient_async() on the current device.
template <Element T>
Status loss_gradient_async(Loss loss, const T* x, const T* target, const T* weight, std::uint64_t n, const T* upstream,
                           T* dx, const LossOptions& options = {}, Stream stream = nullptr) noexcept {
    const LossRequest request{.loss = loss,
                              .reduction = options.reduction,
                              .method = options.method,
                              .dtype = dtype_of<T>,
                              .n = n,
                              .parameter = options.parameter,
                              .weighted = weight != nullptr,
                              .batch = options.batch,
                              .with_respect_to = options.with_respect_to,
                              .launch = options.launch};
    return run_gradient_async(make_loss_plan(request), {x, target, weight}, upstream, dx, stream);
}

} // namespace cuda

} // namespace detreduce
#pragma GCC visibility pop
