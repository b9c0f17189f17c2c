// The CUDA backend, as the library sees it: a table of functions, which kernels/backend.cpp fills
// in. A build without CUDA has none.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <detreduce/clip_grad_norm.hpp>
#include <detreduce/plan.hpp>
#include <detreduce/row_ops.hpp>
#include <detreduce/spec/ascending.hpp>

// Not losses.hpp, which brings the min() and max() of host.hpp: kernels that include this mean
// CUDA's. Nor cuda.hpp, which has a count().
#pragma GCC visibility push(default) // as the headers have them that are read later
namespace detreduce {
class ExactState;
class LossPlan;
struct LossInputs;
struct Fingerprint;
} // namespace detreduce
#pragma GCC visibility pop
namespace detreduce {
namespace spec {
struct Quotient;
/// Functors f(i), which do one number at a time, alone.
#define DETREDUCE_FUNCTORS(X)                                                                                          \
    X(CosineValues)                                                                                                    \
    X(CosineFactors)                                                                                                   \
    X(CosineSlopes)                                                                                                    \
    X(ChannelNormTerms)                                                                                                \
    X(ChannelNormStatistics)                                                                                           \
    X(ChannelNormValues)                                                                                               \
    X(ChannelNormSlopes)                                                                                               \
    X(TemperedLogits)                                                                                                  \
    X(DistillationSlopes)
#define DETREDUCE_FUNCTOR(F) struct F;
DETREDUCE_FUNCTORS(DETREDUCE_FUNCTOR)
#undef DETREDUCE_FUNCTOR
} // namespace spec
} // namespace detreduce

namespace detreduce::cuda {

struct DeviceInfo;

/// Decides the rest of a route that has an engine and the launch that was asked for, and names the
/// device that an index of -1 is; says what is wrong with the launch or the device.
[[nodiscard]] Status prepare(Request& request, detail::Route& route) noexcept;
/// Workspace of a checked request whose sums have this plan.
[[nodiscard]] std::size_t row_workspace_bytes(const RowRequest& request, const Plan& sums) noexcept;

// What enqueues and allocates. The plan is good, all pointers have been checked, and the device of
// the first argument is the current one.

[[nodiscard]] Status enqueue(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream) noexcept;
/// Puts the states of `others`, unless null, into `states`, and brings those to their one form; or,
/// unless `out` is null, finishes them, and leaves them as they are.
[[nodiscard]] Status enqueue_states(const Plan& plan, std::int64_t* states, const std::int64_t* others, void* out,
                                    Stream stream) noexcept;
/// At least one row, and no reduction. Of nll x and out may be null: then it is the weights that
/// are wanted.
[[nodiscard]] Status enqueue_rows(const RowPlan& plan, const RowArrays& arrays, void* workspace,
                                  Stream stream) noexcept;
/// Of a plan of a norm's gradients, by exact: that with respect to scale and, unless null, shift.
[[nodiscard]] Status enqueue_scale_gradient(const RowPlan& plan, const RowArrays& arrays, void* workspace,
                                            Stream stream) noexcept;
/// Targets, the number of whose classes, below n, one block of a GPU can count.
struct CountedTargets {
    static constexpr std::uint64_t most = 1 << 12;
    const std::int64_t* targets = nullptr;
    std::uint64_t rows = 0, n = 0;
    std::int64_t ignore_index = 0;
};
/// With `counted` the denominator is the number of the classes, or NaN where a target is none.
[[nodiscard]] Status enqueue_quotient(const Device& device, const spec::Quotient& quotient,
                                      const CountedTargets& counted, Stream stream) noexcept;
/// f(i) for every i below count.
template <class F>
[[nodiscard]] Status enqueue_each(const Device& device, std::uint64_t count, const F& f, Stream stream) noexcept;
/// Terms of a loss, or their sum or mean, of a plan that is no op; and the gradient, of any. sums:
/// null, or, where the mean is over the weights, that of the terms, of the gradient by these, and
/// that of the weights.
[[nodiscard]] Status enqueue_loss(const LossPlan& plan, const LossInputs& in, void* out, void* workspace,
                                  Stream stream) noexcept;
[[nodiscard]] Status enqueue_loss_gradient(const LossPlan& plan, const LossInputs& in, const void* upstream,
                                           const double* sums, void* dx, Stream stream) noexcept;
/// What clipping needs beside the workspace of the norm's plan, and behind it: the factor.
inline constexpr std::size_t clip_workspace_bytes = 256;
/// state: null, or that of all parts of which the list is one.
[[nodiscard]] Status enqueue_clip(const ClipPlan& plan, const std::int64_t* state, const Tensor* list, void* norm_out,
                                  void* workspace, Stream stream) noexcept;
[[nodiscard]] Status enqueue_fingerprint(const Device& device, const Tensor* list, std::uint64_t tensors,
                                         Fingerprint* fingerprints, Stream stream) noexcept;
/// Writes the ids.end + 1 offsets of segments by id.
[[nodiscard]] Status enqueue_offsets(const Device& device, const spec::Ascending& ids, std::uint64_t* offsets,
                                     Stream stream) noexcept;
/// The minimum of the findings of all entries. Waits for the stream.
[[nodiscard]] Status find_fault(const Device& device, const spec::Ascending& entries, Stream stream,
                                std::uint64_t& found) noexcept;
/// Adds the elements of a plan of a sum to a state, and normalizes it.
[[nodiscard]] Status enqueue_add(const Plan& plan, ExactState* state, const void* x, Stream stream) noexcept;
/// Adds `term`, unless null, to the state and normalizes it; or rounds it to `out` of `output`,
/// unless null.
[[nodiscard]] Status enqueue_finish(const Device& device, ExactState* state, const ExactState* term, void* out,
                                    DType output, Stream stream) noexcept;
/// From the stream-ordered allocator, and back.
[[nodiscard]] Status allocate(const Device& device, std::size_t bytes, Stream stream, void*& memory) noexcept;
[[nodiscard]] Status release(const Device& device, void* memory, Stream stream) noexcept;

[[nodiscard]] std::vector<DeviceInfo> list_devices(std::string* why);
[[nodiscard]] int find_driver_version() noexcept;
[[nodiscard]] int find_runtime_version() noexcept;

/// enqueue_each() of each functor.
struct Each {
#define DETREDUCE_FUNCTOR(F)                                                                                           \
    decltype(&enqueue_each<spec::F>) of_##F;                                                                           \
    [[nodiscard]] constexpr auto of(const spec::F&) const noexcept {                                                   \
        return of_##F;                                                                                                 \
    }
    DETREDUCE_FUNCTORS(DETREDUCE_FUNCTOR)
#undef DETREDUCE_FUNCTOR
};

struct Functions {
    decltype(&cuda::prepare) prepare;
    decltype(&cuda::row_workspace_bytes) row_workspace_bytes;
    decltype(&cuda::enqueue) enqueue;
    decltype(&cuda::enqueue_states) enqueue_states;
    decltype(&cuda::enqueue_rows) enqueue_rows;
    decltype(&cuda::enqueue_scale_gradient) enqueue_scale_gradient;
    decltype(&cuda::enqueue_quotient) enqueue_quotient;
    Each each;
    decltype(&cuda::enqueue_loss) enqueue_loss;
    decltype(&cuda::enqueue_loss_gradient) enqueue_loss_gradient;
    decltype(&cuda::enqueue_clip) enqueue_clip;
    decltype(&cuda::enqueue_fingerprint) enqueue_fingerprint;
    decltype(&cuda::enqueue_offsets) enqueue_offsets;
    decltype(&cuda::find_fault) find_fault;
    decltype(&cuda::enqueue_add) enqueue_add;
    decltype(&cuda::enqueue_finish) enqueue_finish;
    decltype(&cuda::allocate) allocate;
    decltype(&cuda::release) release;
    decltype(&cuda::list_devices) devices;
    decltype(&cuda::find_driver_version) driver_version;
    decltype(&cuda::find_runtime_version) runtime_version;
};

/// Null in a build without CUDA.
[[nodiscard]] const Functions* functions() noexcept;

inline constexpr Status no_backend{StatusCode::no_device, "device",
                                   "this build of detreduce has no CUDA backend; allowed is the CPU"};

} // namespace detreduce::cuda
