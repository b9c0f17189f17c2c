// The calls of cuda.hpp and of the other headers' namespace cuda: what they check, and whom they
// call.
#include <detreduce/cuda.hpp>
#include <detreduce/channel_norm.hpp>
#include <detreduce/distillation.hpp>
#include <detreduce/losses.hpp>

#include "check_pointer.hpp"
#include "cuda_backend.hpp"

namespace detreduce::cuda {
namespace {

/// run(workspace) of a plan of any kind; what the allocator gave is freed in stream order.
template <class AnyPlan, class Run>
Status with_workspace(const AnyPlan& plan, std::size_t bytes, Stream stream, const Run& run) noexcept {
    if (functions() == nullptr) return no_backend;
    if (!plan.status().ok()) return plan.status();
    const Device& device = plan.request().device;
    if (device.backend != Backend::cuda) return invalid("plan", "must be made for a CUDA device");
    void* workspace = nullptr;
    if (bytes > 0) {
        const Status got = functions()->allocate(device, bytes, stream, workspace);
        if (!got.ok()) return got;
    }
    const Status ran = run(workspace);
    const Status freed = workspace ? functions()->release(device, workspace, stream) : Status{};
    return ran.ok() ? freed : ran;
}
template <class AnyPlan, class Run>
Status with_workspace(const AnyPlan& plan, Stream stream, const Run& run) noexcept {
    return with_workspace(plan, plan.workspace_bytes(), stream, run);
}

Status check_state(const char* argument, const void* state) {
    if (state != nullptr && !misaligned(state, 8)) return {};
    return invalid(argument, "must be a device pointer to an ExactState, aligned to 8 bytes");
}

} // namespace

Status run_async(const Plan& plan, Inputs in, void* out, Stream stream) noexcept {
    return with_workspace(plan, stream, [&](void* workspace) { return run(plan, in, out, workspace, stream); });
}
Status run_async(const RowPlan& plan, const RowArrays& arrays, Stream stream) noexcept {
    return with_workspace(plan, stream, [&](void* workspace) { return run(plan, arrays, workspace, stream); });
}
Status run_async(const LossPlan& plan, const LossInputs& in, void* out, Stream stream) noexcept {
    return with_workspace(plan, stream, [&](void* workspace) { return run(plan, in, out, workspace, stream); });
}

Status run_gradient_async(const LossPlan& plan, const LossInputs& in, const void* upstream, void* dx,
                          Stream stream) noexcept {
    return with_workspace(plan, plan.gradient_workspace_bytes(), stream,
                          [&](void* workspace) { return run_gradient(plan, in, upstream, dx, workspace, stream); });
}
Status run_async(const ChannelNormPlan& plan, const ChannelNormArrays& arrays, Stream stream) noexcept {
    return with_workspace(plan, stream, [&](void* workspace) { return run(plan, arrays, workspace, stream); });
}
Status run_gradient_async(const ChannelNormPlan& plan, const ChannelNormArrays& arrays, Stream stream) noexcept {
    return with_workspace(plan, plan.gradient_workspace_bytes(), stream,
                          [&](void* workspace) { return run_gradient(plan, arrays, workspace, stream); });
}
Status run_async(const DistillationPlan& plan, const void* x, const void* y, void* out, Stream stream) noexcept {
    return with_workspace(plan, stream, [&](void* workspace) { return run(plan, x, y, out, workspace, stream); });
}
Status run_gradient_async(const DistillationPlan& plan, const void* x, const void* y, const void* upstream, void* dx,
                          Stream stream) noexcept {
    return with_workspace(plan, stream,
                          [&](void* workspace) { return run_gradient(plan, x, y, upstream, dx, workspace, stream); });
}

Status add(ExactState* state, DType dtype, const void* x, std::uint64_t n, Stream stream) noexcept {
    if (functions() == nullptr) return no_backend;
    if (const Status bad = check_state("state", state); !bad.ok()) return bad;
    if (has_8_bits(dtype)) {
        return {StatusCode::unsupported, "dtype",
                "elements of 8 bits are added on the CPU only; allowed are f16, bf16, f32 and f64"};
    }
    const Plan plan = make_plan({.dtype = dtype, .n = n});
    if (!plan.status().ok() || n == 0) return plan.status();
    if (const Status bad = check_elements("x", x, dtype, n); !bad.ok()) return bad;
    return functions()->enqueue_add(plan, state, x, stream);
}

Status merge(ExactState* state, const ExactState* term, Stream stream) noexcept {
    if (functions() == nullptr) return no_backend;
    if (const Status bad = check_state("state", state); !bad.ok()) return bad;
    if (const Status bad = check_state("term", term); !bad.ok()) return bad;
    return functions()->enqueue_finish(current_gpu, state, term, nullptr, DType::f64, stream);
}

Status round(const ExactState* state, DType dtype, void* out, Stream stream) noexcept {
    if (functions() == nullptr) return no_backend;
    if (const Status bad = check_state("state", state); !bad.ok()) return bad;
    if (!is_dtype(dtype)) return invalid("dtype", allowed_dtypes);
    if (out == nullptr || misaligned(out, size_of(dtype)))
        return invalid("out", "must be a device pointer, aligned to an element of dtype");
    return functions()->enqueue_finish(current_gpu, const_cast<ExactState*>(state), nullptr, out, dtype,
                                       stream); // only read, as it is not normalized
}

bool built_with_cuda() noexcept {
    return functions() != nullptr;
}
std::vector<DeviceInfo> devices(std::string* why) {
    if (functions() != nullptr) return functions()->devices(why);
    if (why) *why = "this build of detreduce has no CUDA backend";
    return {};
}
int driver_version() noexcept {
    return functions() != nullptr ? functions()->driver_version() : 0;
}
int runtime_version() noexcept {
    return functions() != nullptr ? functions()->runtime_version() : 0;
}

} // namespace detreduce::cuda
