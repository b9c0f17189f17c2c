// From a plan to the launch of its element type, and what a plan needs to know of a device.
#include <cuda_runtime_api.h>

#include <utility>

#include <detreduce/cuda.hpp>

#include "cuda_backend.hpp"
#include "cuda_error.hpp"
#include "flat/launch.hpp"
#include "tuning.hpp"
#include "workspace.hpp"

namespace detreduce::cuda {
namespace {

Status select_device(int wanted, int& device) {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess && error != cudaErrorNoDevice && error != cudaErrorInsufficientDriver) {
        return from_cuda("cudaGetDeviceCount", error);
    }
    if (error != cudaSuccess || count == 0) {
        (void)cudaGetLastError(); // the caller has the status
        return {StatusCode::no_device, "device",
                error == cudaSuccess ? "there is no CUDA device" : cudaGetErrorString(error), static_cast<int>(error)};
    }
    if (wanted >= count || wanted < -1) {
        return {StatusCode::invalid_argument, "device.index",
                "allowed are the indices of CUDA devices, or -1 for the current one"};
    }
    device = wanted;
    return wanted >= 0 ? Status{} : from_cuda("cudaGetDevice", cudaGetDevice(&device));
}

Status read_traits(int device, DeviceTraits& traits) {
    int sms = 0, cooperative = 0, major = 0;
    for (const auto& [which, value] :
         {std::pair{cudaDevAttrMultiProcessorCount, &sms}, std::pair{cudaDevAttrCooperativeLaunch, &cooperative},
          std::pair{cudaDevAttrComputeCapabilityMajor, &major}}) {
        const Status status = from_cuda("cudaDeviceGetAttribute", cudaDeviceGetAttribute(value, which, device));
        if (!status.ok()) return status;
    }
    traits = {static_cast<std::uint32_t>(sms), cooperative != 0, major >= 9};
    return {};
}

std::uint64_t input_tiles(const Request& r) {
    return workspace_layout(r.dtype, size_of(r.dtype), r.n).tiles[0];
}

} // namespace

Status prepare(const Request& request, Launch& launch, std::size_t& workspace_bytes) noexcept {
    if (launch.block != 0 && launch.block != 128 && launch.block != 256 && launch.block != 512) {
        return {StatusCode::invalid_argument, "launch.block",
                "allowed are 128, 256 and 512, or 0 for the library's choice"};
    }
    if (launch.grid > 0x7fffffffu) {
        return {StatusCode::invalid_argument, "launch.grid",
                "allowed are 1 to 2^31 - 1, or 0 for the library's choice"};
    }
    int device = 0;
    if (const Status bad = select_device(request.device.index, device); !bad.ok()) return bad;
    DeviceTraits traits;
    if (const Status bad = read_traits(device, traits); !bad.ok()) return bad;
    if (launch.schedule == Schedule::cooperative && !traits.cooperative) {
        return {StatusCode::unsupported, "launch.schedule",
                "this device has no cooperative launch; allowed are two_pass and last_block"};
    }
    const Tuning tuned = tuning(input_tiles(request));
    if (launch.schedule == Schedule::automatic) launch.schedule = tuned.schedule;
    if (launch.block == 0) launch.block = tuned.block;
    if (request.method == Method::tree) {
        workspace_bytes = workspace_layout(request.dtype, size_of(request.dtype), request.n).bytes;
    }
    return {};
}

Status enqueue(const Plan& plan, const void* x, void* out, void* workspace, Stream stream) noexcept {
    const Request& r = plan.request();
    int device = 0;
    if (const Status bad = select_device(r.device.index, device); !bad.ok()) return bad;
    const DeviceScope scope(r.device.index);
    if (!scope.status().ok()) return scope.status();
    if (r.n == 0) return from_cuda("cudaMemsetAsync", cudaMemsetAsync(out, 0, size_of(r.dtype), stream));
    DeviceTraits traits;
    if (const Status bad = read_traits(device, traits); !bad.ok()) return bad;
    return r.dtype == DType::f32 ? launch_flat<float>(plan, x, out, workspace, stream, traits)
                                 : launch_flat<double>(plan, x, out, workspace, stream, traits);
}

Status run_async(const Plan& plan, const void* x, void* out, Stream stream) noexcept {
    if (!plan.status().ok()) return plan.status();
    if (plan.request().device.backend != Backend::cuda) {
        return {StatusCode::invalid_argument, "plan", "must be made for a CUDA device"};
    }
    const DeviceScope scope(plan.request().device.index);
    if (!scope.status().ok()) return scope.status();
    void* workspace = nullptr;
    if (plan.workspace_bytes() > 0) {
        const Status got = from_cuda("cudaMallocAsync", cudaMallocAsync(&workspace, plan.workspace_bytes(), stream));
        if (!got.ok()) return got;
    }
    const Status ran = run(plan, x, out, workspace, stream);
    const Status freed = workspace ? from_cuda("cudaFreeAsync", cudaFreeAsync(workspace, stream)) : Status{};
    return ran.ok() ? freed : ran;
}

namespace {
template <class T>
Status sum_async(const T* x, std::uint64_t n, T* out, Method method, Stream stream) {
    const Plan plan = make_plan({.method = method, .dtype = dtype_of<T>, .n = n});
    return run_async(plan, x, out, stream);
}
} // namespace

Status sum(const float* x, std::uint64_t n, float* out, Method method, Stream stream) noexcept {
    return sum_async(x, n, out, method, stream);
}
Status sum(const double* x, std::uint64_t n, double* out, Method method, Stream stream) noexcept {
    return sum_async(x, n, out, method, stream);
}

} // namespace detreduce::cuda
