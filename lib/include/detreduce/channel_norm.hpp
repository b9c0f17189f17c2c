// group_norm and batch_norm of a tensor [n][channels][size], and their gradients, as
// torch.nn.functional has them. As with plan.hpp: make a plan, run it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include <detreduce/plan.hpp>

#pragma GCC visibility push(default)
namespace detreduce {

/// Which elements share a mean and a variance: X(enumerator and name, name in C).
#define DETREDUCE_CHANNEL_NORMS(X)                                                                                     \
    X(group_norm, GROUP_NORM) /* those of a group of neighbouring channels, of one sample */                           \
    X(batch_norm, BATCH_NORM) /* those of a channel, of all samples */
enum class ChannelNorm : std::uint8_t {
#define DETREDUCE_ENUMERATOR(name, c_name) name,
    DETREDUCE_CHANNEL_NORMS(DETREDUCE_ENUMERATOR)
#undef DETREDUCE_ENUMERATOR
};
[[nodiscard]] std::string_view name(ChannelNorm norm) noexcept;

/// What to compute and where. Only `dtype`, `n`, `channels`, `size` and `groups` have no useful
/// default.
struct ChannelNormRequest {
    ChannelNorm norm = ChannelNorm::group_norm;
    DType dtype = DType::f32;             ///< of x, upstream and out
    std::optional<DType> parameters = {}; ///< of scale, shift, their gradients, and running statistics; empty: dtype
    std::uint64_t n = 0;                  ///< samples, 0 … 2^40
    std::uint64_t channels = 1;           ///< of a sample, 1 … 2^40
    std::uint64_t size = 1; ///< elements of a channel of a sample, 1 … 2^40; no more than 2^46 in all, nor 2^40 that
                            ///< share a mean
    std::uint64_t groups = 1;          ///< group_norm: of channels, whose number it divides; as many: instance_norm
    double epsilon = 1e-5;             ///< added to the variance; finite, not negative
    double momentum = 0.1;             ///< batch_norm: the new one's share of a running statistic, 0 … 1
    bool given = false;                ///< batch_norm: running statistics take the place of the batch's own
    Method method = Method::automatic; ///< of statistics and sums: automatic (exact), exact or tree
    Device device = current_gpu;
    Launch launch = {}; ///< of these; on the CPU the same threads do the rest
};

/// One value that owns launch and workspace, as Plan does.
class ChannelNormPlan {
  public:
    [[nodiscard]] const Status& status() const noexcept { return status_; }
    [[nodiscard]] const ChannelNormRequest& request() const noexcept { return request_; }
    [[nodiscard]] DType parameters() const noexcept { return request_.parameters.value_or(request_.dtype); }
    /// Means, and as many reciprocal deviations: n · groups, of batch_norm a channel.
    [[nodiscard]] std::uint64_t statistics() const noexcept {
        return request_.norm == ChannelNorm::batch_norm ? request_.channels : request_.n * request_.groups;
    }
    /// Bytes of memory of the device, aligned to 256, on the CPU of the host, aligned to 8, that
    /// run() needs, and run_gradient(): four numbers a statistic, what sums need, and a copy of x
    /// of batch_norm where n and size are above 1, or an element of f32, of f64 f64, each of a
    /// gradient.
    [[nodiscard]] std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }
    [[nodiscard]] std::size_t gradient_workspace_bytes() const noexcept { return gradient_workspace_bytes_; }
    /// Means and variances of elements, means of terms that share a statistic, and sums of terms of
    /// a channel.
    [[nodiscard]] const Plan& moments() const noexcept { return moments_; }
    [[nodiscard]] const Plan& means() const noexcept { return means_; }
    [[nodiscard]] const Plan& sums() const noexcept { return sums_; }

  private:
    friend ChannelNormPlan make_channel_norm_plan(const ChannelNormRequest& request) noexcept;
    ChannelNormRequest request_;
    Plan moments_, means_, sums_;
    std::size_t workspace_bytes_ = 0, gradient_workspace_bytes_ = 0;
    Status status_{StatusCode::invalid_argument, "plan", "must come from make_channel_norm_plan()"};
};
static_assert(std::is_trivially_copyable_v<ChannelNormPlan>);

[[nodiscard]] ChannelNormPlan make_channel_norm_plan(const ChannelNormRequest& request) noexcept;

/// Where everything is. What run() or run_gradient() does not name must be null.
struct ChannelNormArrays {
    const void* x = nullptr;
    void* out = nullptr;         ///< as x: the results, or the gradient with respect to x
    const void* scale = nullptr; ///< a number a channel, or null for 1
    const void* shift = nullptr; ///< run(): a number a channel, or null for 0
    double* mean = nullptr;      ///< plan.statistics() numbers: written by run(), unless null, read by run_gradient()
    double* rstd = nullptr;      ///< the same of 1 / √(variance + epsilon)
    /// batch_norm, run(): a number a channel each, which follow the mean and the variance over
    /// n·size − 1, unless null; where the request says `given` they are read.
    void* running_mean = nullptr;
    void* running_variance = nullptr;
    const void* upstream = nullptr; ///< run_gradient(): as x
    void* scale_gradient = nullptr; ///< run_gradient(): a number a channel, or null
    void* shift_gradient = nullptr; ///< the same
};

/// Normalizes x: takes from each element the mean of those with which it shares one, over their
/// deviation.
///
/// formula      (x − mean)·rstd·scale + shift, in f64, rounded once to the dtype; rstd = 1 /
///              √(variance + epsilon). Mean and variance (over the number of elements) are
///              Op::moments by the method, rounded to f64. running = momentum·new + (1 −
///              momentum)·running, in f64, rounded once
/// shapes       x, out: plan.request().n samples of `channels` of `size` elements, contiguous.
///              scale, shift, running_mean, running_variance: a number of plan.parameters() a
///              channel
/// guarantee    that of the method. By exact neither the order of samples nor that within a channel
///              means anything to statistics and to gradients of scale and shift; of group_norm a
///              sample has the bits that it has alone
/// error bound  by exact half a unit of the dtype and 2^−50·((|z| + |mean|·rstd)·|scale| + |out|),
///              z the true (x − mean)·rstd
/// passes       two over x, or three of batch_norm where n and size are above 1
/// in place     out may be x
/// errors       plan.status() if that is not ok; invalid_argument for a null or misaligned pointer,
///              for arrays that the call does not have, and for an overlap of what is written with
///              each other, with what is read, or with the workspace; out_of_memory; cuda_error
/// NaN, empty   a NaN or an infinity, or a variance beyond f64 (by tree: beyond f32 where elements
///              are no f64): all that share it are NaN. Equal elements: shift; with epsilon 0 NaN.
///              No samples: nothing is written
/// source       lib/SPEC.md, section 17.9
Status run(const ChannelNormPlan& plan, const ChannelNormArrays& arrays, void* workspace,
           Stream stream = nullptr) noexcept;

/// The derivatives of what run() computes with respect to each element of x, and to scale and
/// shift, times what comes from upstream.
///
/// formula      out: (g − a − z·b)·rstd, g = upstream·scale, z = (x − mean)·rstd, a and b the means
///              of g and of g·z of all that share a statistic; with given statistics g·rstd.
///              scale_gradient: Σ upstream·z of a channel, shift_gradient: Σ upstream. Terms are
///              rounded to f32, of f64 to f64; means and sums by the method
/// error bound  by exact, where nothing underflows: half a unit of the dtype and
///              rstd·((u + 2^−49)·(Σ|g| + q·Σ|g|·q) / m + 2^−49·|g|), q = |z| + |mean|·rstd, m the
///              elements that share a statistic, u 2^−24, of f64 2^−53; of scale_gradient half a
///              unit and (u + 2^−49)·Σ|upstream|·q, of shift_gradient half a unit
/// passes       over x and upstream two, and a write and a read of each of the two to four kinds of
///              terms
/// workspace    plan.gradient_workspace_bytes()
/// in place     out may be x or upstream
/// NaN, empty   no samples: gradients of scale and shift are +0
Status run_gradient(const ChannelNormPlan& plan, const ChannelNormArrays& arrays, void* workspace,
                    Stream stream = nullptr) noexcept;

namespace cuda {
/// run() and run_gradient() with the workspace taken from the stream-ordered allocator, and freed
/// in stream order.
Status run_async(const ChannelNormPlan& plan, const ChannelNormArrays& arrays, Stream stream = nullptr) noexcept;
Status run_gradient_async(const ChannelNormPlan& plan, const ChannelNormArrays& arrays,
                          Stream stream = nullptr) noexcept;
} // namespace cuda

} // namespace detreduce
#pragma GCC visibility pop
