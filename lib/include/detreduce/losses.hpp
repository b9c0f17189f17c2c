// Losses of elements and their targets, and the gradients of these: mse, mae, huber, smooth_l1, bce,
// bce_with_logits, kl_div and focal, each term alone, their sum or their mean. A loss is a sum, so it has the methods and guarantees of one; a gradient is computed element by element, so it has one value.
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
    std::optional<DType> output =
        {}; ///< of the result; empty: that of the elements. `none` and exact give any but f8e4m3 and f8e5m2, the others their own or a wider one
    std::uint64_t n = 0; ///< 0 … 2^40; a mean has at least 1
    /// huber: delta, above 0; smooth_l1: beta, bce_with_logits: pos_weight, focal: gamma, 0 or above;
    /// rounded to the format of the terms, where it must be finite.
    double parameter = 1;
    bool weighted = false; ///< each term is multiplied by a weight
    /// Of mean: the rows by whose number the sum is divided, as `batchmean` of kl_div; 0: n, or, of
    /// weighted mse and mae, the sum of the weights.
    std::uint64_t batch = 0;
    /// Of run_gradient(): x, target or, of a weighted loss, weight.
    LossArgument with_respect_to = LossArgument::x;
    Device device = current_gpu; ///< or `cpu`, for which there are shorter calls below
    Launch launch = {};          ///< as TransformOptions::launch, and of unweighted mse and mae as Request::launch
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
    /// Is the loss an op of run() (sum and mean of mse, mean of mae, without weights)? Then `exact` gives the true loss, rounded once.
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

/// Makes the plan of `request`. A bad request gives a plan whose status() says which argument is wrong and what is allowed.
[[nodiscard]] LossPlan make_loss_plan(const LossRequest& request) noexcept;

/// Runs `plan`: the loss of n elements at x with their targets, into `out`.
///
/// formula      lᵢ = wᵢ·loss(xᵢ, tᵢ) (Loss says what it is), computed in float (double, of doubles) in the operations that lib/SPEC.md names; then each lᵢ, rounded
///              once to the output, or Σlᵢ, or Σlᵢ / n: the true one of these terms, rounded once (exact), or added in the order of the method. Without weights
///              the sum and mean of mse and the mean of mae are Op::sumdiffsq, mse and mae: there `exact` rounds the true loss, once. The mean of weighted mse and
///              mae is Σlᵢ / Σwᵢ, and with a batch Σlᵢ / batch: both sums rounded to f64, and divided there
/// shapes       x, target, weight: n contiguous elements of the plan's dtype, aligned to the element. out: plan.results() of plan.output(), aligned to it
/// dtypes       f16, bf16, f32, f64
/// guarantee    of sum and mean info(method).guarantee, of `none` device: the same bits on every CPU and GPU
/// error bound  of a term losses[…].max_ulp, one unit more for a weight, and half a unit of an output that is narrower; of the sum of the terms as run() of plan.hpp
/// passes       one over x, target and weight
/// workspace    plan.workspace_bytes() bytes of device memory, private to this call until it is done
/// in place     of `none` out may be x, target or weight, if its elements have their size. Another overlap of the
///              workspace, out and the inputs is refused
/// stream       CUDA: enqueued on `stream` of the plan's device, not synchronised, nothing allocated, may be captured in a graph; pointers are device pointers.
///              CPU: returns when `out` is written; buffers and stack as run() of plan.hpp
/// flags        rounding mode and flush-to-zero of the caller are set aside and put back
/// errors       plan.status() if that is not ok; invalid_argument for a null or misaligned pointer, or a weight that the request does not have; cuda_error; out_of_memory
/// NaN, empty   any NaN, and whatever is no probability where one is needed (bce: x outside [0, 1]; kl_div: t below 0): NaN, the canonical one. Infinities follow
///              from the formula, with 0·∞ = 0 where a target of 0 or 1 says that x does not matter. n = 0: +0 of sum, nothing is written of `none`, and an
///              error in make_loss_plan() of mean
/// source       lib/SPEC.md, section 15
Status run(const LossPlan& plan, const LossInputs& in, void* out, void* workspace = nullptr,
           Stream stream = nullptr) noexcept;

/// The derivative of what run() computes with respect to each element of x, or of target or weight
/// (with_respect_to), times `upstream`, into `dx`. Otherwise as run().
///
/// formula      dxᵢ = lossʹ(xᵢ, tᵢ)·wᵢ·f, rounded after each product and once to the dtype; f = g of sum and none, g / n, g / Σw or g / batch of mean, g the upstream value. lossʹ:
///              mse 2d; mae sign d, 0 at 0; huber d, at most ±delta; smooth_l1 d / beta, or sign d; bce (x − t) / max(x·(1 − x), 10⁻¹²); bce_with_logits
///              sigmoid(x) − t; kl_div −t; the rest in lib/SPEC.md. (That of bce thus ignores that its logarithms end at −100, as PyTorch's does.) With respect to target: mse, mae, huber and
///              smooth_l1 as with x and t in each other's place; bce log(1 − x) − log x, of logarithms no less than −100; bce_with_logits −x; kl_div log t − x + 1,
///              −∞ at 0. With respect to weight: the term, times f; where the mean is over Σw, the term less the mean, times f
/// shapes       upstream: null, which is 1, or an element of the plan's dtype, or n of them if nothing is reduced. dx: n elements of the plan's dtype
/// guarantee    device: the same bits on every CPU and GPU. Method and output mean nothing
/// in place     dx may be x, target or weight, or upstream, where that is n numbers. Another overlap is refused
/// error bound  of lossʹ losses[…].max_ulp_gradient, one unit more for the weight and for f, and half a unit of f16 and bf16
/// passes       one, over x, target, weight and what upstream points to; where the mean is over Σw one more, over the weights, and of the gradient by these over all
/// workspace    plan.gradient_workspace_bytes() bytes of device memory, where that is not 0, private to this call until it is done
/// NaN, empty   NaN wherever the term is NaN because of what x and a finite t are; of an infinite t what the formula gives. n = 0: nothing is written
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

/// The plan of ranges on the CPU. Throws Error, also for argument target or weight where it is not as long as x.
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

/// The mean or sum of a loss on the CPU, as run() computes it, returned as an Out, or in the elements' format. `weight`: {}, or as many as there are elements.
///
/// errors       throws Error: what make_loss_plan() and run() refuse; argument target or weight when it is not as long as x; reduction none
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

/// The terms of a loss on the CPU, as run() computes them where nothing is reduced. Otherwise as loss_as().
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

/// The gradient of the loss that loss() gives on the CPU, times what `upstream` points to (null: 1), as run_gradient() computes it. Otherwise as loss_as().
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

/// run() of a plan for a CUDA device with the workspace taken from the stream-ordered allocator (cudaMallocAsync), freed in stream order.
///
/// errors       also invalid_argument for a plan that was not made for a CUDA device
Status run_async(const LossPlan& plan, const LossInputs& in, void* out, Stream stream = nullptr) noexcept;
/// run_gradient() likewise; nothing is allocated where no workspace is needed.
Status run_gradient_async(const LossPlan& plan, const LossInputs& in, const void* upstream, void* dx,
                          Stream stream = nullptr) noexcept;

/// The loss of n elements at device pointers x and target, and weight, unless null, into device pointer `out`, which has room for n results if nothing is
/// reduced: run_async() on the current device.
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
