// From a plan to the launch of its element type, and what a plan needs to know of a device.
#include <cuda_runtime_api.h>

#include <utility>

#include <detreduce/cuda.hpp>

#include "check_pointer.hpp"
#include "cuda_backend.hpp"
#include "cuda_error.hpp"
#include "count/launch.hpp"
#include "exact/launch.hpp"
#include "flat/launch.hpp"
#include "moments/launch.hpp"
#include "order/launch.hpp"
#include "product/launch.hpp"
#include "tensors/clip.hpp"
#include "run_async.hpp"
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

/// Bytes of an accumulator of `method`, for those that keep partial results.
std::size_t accumulator_bytes(const Request& r) {
    const std::size_t word = r.dtype == DType::f64 ? 8 : 4;
    return r.method == Method::tree ? word : 2 * word;
}

std::uint64_t input_tiles(const Request& r) {
    return workspace_layout(r.dtype, accumulator_bytes(r), r.n, 1).tiles[0];
}

/// Flat sums of elements have kernels of their own.
bool needs_terms(const Request& r) {
    return info(r.op).term != Term::element || r.shape != Shape::flat;
}

std::size_t exact_workspace_bytes_of(const Request& r) {
    if (r.shape == Shape::tensors) return exact_tensors_workspace_bytes(r);
    if (r.shape == Shape::flat) {
        return std::max(needs_terms(r) ? exact_terms_workspace_bytes : exact_workspace_bytes,
                        exact_small_workspace_bytes(r));
    }
    if (by_threads(r)) return PartLayout(r, exact_part_words(r) * sizeof(std::int64_t)).bytes;
    const SlotLayout layout = exact_group_layout(r, exact_words(r));
    return layout.room == 0 ? 0 : layout.bytes;
}

std::size_t workspace_bytes_of(const Request& r) {
    const DType sum = r.dtype == DType::f64 ? DType::f64 : DType::f32;
    if (r.method == Method::exact) return exact_workspace_bytes_of(r);
    if (r.method == Method::atomic) return r.output.value_or(r.dtype) == sum ? 0 : 256;
    return level_workspace_bytes(r, accumulator_bytes(r));
}

Status check_state(const char* argument, const void* state) {
    if (state != nullptr && !misaligned(state, 8)) return {};
    return {StatusCode::invalid_argument, argument, "must be a device pointer to an ExactState, aligned to 8 bytes"};
}

/// Some ops have one schedule.
Status require_two_pass(Launch& launch) {
    if (launch.schedule != Schedule::automatic && launch.schedule != Schedule::two_pass) {
        return {StatusCode::unsupported, "launch.schedule",
                "last_block and cooperative are offered for sum and mean; allowed for other ops is two_pass"};
    }
    launch.schedule = Schedule::two_pass;
    if (launch.block == 0) launch.block = 256;
    return {};
}

Status prepare_order(const Request& request, Launch& launch, std::size_t& workspace_bytes) {
    if (const Status bad = require_two_pass(launch); !bad.ok()) return bad;
    workspace_bytes = order_workspace_bytes(request, launch);
    if (request.shape != Shape::flat) workspace_bytes = order_group_workspace_bytes(request);
    return {};
}

/// CUB looks at the current device.
Status prepare_count(const Request& request, Launch& launch, std::size_t& workspace_bytes) {
    if (const Status bad = require_two_pass(launch); !bad.ok()) return bad;
    if (request.op == Op::count_nonzero) {
        if (request.shape != Shape::flat) workspace_bytes = order_group_workspace_bytes(request);
        return {};
    }
    if (request.n == 0 || request.groups == 0) return {};
    const DeviceScope scope(request.device.index);
    if (!scope.status().ok()) return scope.status();
    if (request.shape != Shape::flat) return unique_groups_workspace_bytes(request, workspace_bytes);
    return unique_workspace_bytes(request.dtype, request.n, workspace_bytes);
}

Status prepare_product(const Request& request, Launch& launch, std::size_t& workspace_bytes) {
    if (const Status bad = require_two_pass(launch); !bad.ok()) return bad;
    if (launch.block != 256)
        return {StatusCode::unsupported, "launch.block", "allowed for prod is 256, or 0 for the library's choice"};
    workspace_bytes = product_workspace_bytes(request);
    return {};
}

} // namespace

// A first look shows whether there is one.
Status current_device(DeviceTraits& traits) {
    int device = 0;
    if (const Status bad = select_device(-1, device); !bad.ok()) return bad;
    return read_traits(device, traits);
}

Status unique_workspace_bytes(DType dtype, std::uint64_t n, std::size_t& bytes) {
    if (size_of(dtype) == 2) {
        bytes = pattern_map_bytes;
        return {};
    }
    return dtype == DType::f32 ? sort_bytes<float>(n, bytes) : sort_bytes<double>(n, bytes);
}

Status prepare(const Request& request, Launch& launch, std::size_t& workspace_bytes) noexcept {
    if (launch.block != 0 && launch.block != 128 && launch.block != 256) {
        return {StatusCode::invalid_argument, "launch.block", "allowed are 128 and 256, or 0 for the library's choice"};
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
    switch (info(request.op).kind) {
    case Kind::order:
        return prepare_order(request, launch, workspace_bytes);
    case Kind::count:
        return prepare_count(request, launch, workspace_bytes);
    case Kind::product:
        return prepare_product(request, launch, workspace_bytes);
    case Kind::moments:
        return prepare_moments(request, launch, workspace_bytes);
    default:
        break;
    }
    const Tuning tuned = tuning(input_tiles(request));
    const bool of_terms = needs_terms(request) && request.method != Method::exact;
    if (of_terms && launch.schedule != Schedule::automatic && launch.schedule != Schedule::two_pass) {
        return {
            StatusCode::unsupported, "launch.schedule",
            "last_block and cooperative are offered for flat sums and means by tree, kahan and compensated; allowed "
            "for other ops and shapes by these is two_pass"};
    }
    if (of_terms && launch.block != 0 && launch.block != 256) {
        return {StatusCode::unsupported, "launch.block",
                "allowed for rows, columns and segments, and for ops other than sum and mean, is 256, or 0"};
    }
    if (of_terms) launch.block = 256;
    if (request.method == Method::exact) {
        if (launch.schedule == Schedule::cooperative) {
            return {StatusCode::unsupported, "launch.schedule",
                    "exact has no levels to keep apart; allowed are two_pass and last_block"};
        }
        if (launch.block != 0 && launch.block != exact_block_threads) {
            return {StatusCode::unsupported, "launch.block", "allowed for exact is 128, or 0 for the library's choice"};
        }
        launch.block = exact_block_threads;
        if (launch.schedule == Schedule::automatic) {
            launch.schedule =
                exact_small_blocks(request) > 1 && launch.grid == 0 ? Schedule::two_pass : Schedule::last_block;
        }
    }
    if (launch.schedule == Schedule::automatic) launch.schedule = tuned.schedule;
    if (launch.block == 0) launch.block = tuned.block;
    workspace_bytes = workspace_bytes_of(request);
    return {};
}

Status enqueue(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream) noexcept {
    const Request& r = plan.request();
    int device = 0;
    if (const Status bad = select_device(r.device.index, device); !bad.ok()) return bad;
    const DeviceScope scope(r.device.index);
    if (!scope.status().ok()) return scope.status();
    const Kind kind = info(r.op).kind;
    const bool empty = r.n == 0 && r.shape != Shape::segments && r.shape != Shape::tensors;
    if ((empty && kind != Kind::product) || plan.results() == 0) { // the product of nothing is 1
        return from_cuda("cudaMemsetAsync", cudaMemsetAsync(out, 0, plan.results() * plan.result_bytes(), stream));
    }
    DeviceTraits traits;
    if (const Status bad = read_traits(device, traits); !bad.ok()) return bad;
    if (r.op == Op::count_unique && r.shape != Shape::flat) {
        return launch_count_unique_groups(plan, in, out, workspace, stream, traits);
    }
    if (r.shape == Shape::tensors && (kind == Kind::order || kind == Kind::count)) {
        return launch_order_list(plan, in, out, workspace, stream, traits);
    }
    if (r.shape == Shape::tensors) {
        return launch_exact_tensors(plan, in, out, workspace, stream, traits);
    }
    const bool of_terms = needs_terms(r);
    return with_dtype(r.dtype, [&]<class T>(T) {
        if (r.shape != Shape::flat && (r.op == Op::minmax || r.op == Op::count_nonzero)) {
            return launch_tally_groups<T>(plan, in, out, workspace, stream, traits);
        }
        if (r.op == Op::minmax) return launch_minmax<T>(plan, in.x, out, workspace, stream, traits);
        if (kind == Kind::order && r.shape != Shape::flat) {
            return launch_order_groups<T>(plan, in, out, workspace, stream, traits);
        }
        if (kind == Kind::order) return launch_order<T>(plan, in.x, out, workspace, stream, traits);
        if (kind == Kind::product) {
            if (r.shape == Shape::flat || empty) return launch_product<T>(plan, in.x, out, workspace, stream, traits);
            return launch_product_groups<T>(plan, in, out, workspace, stream, traits);
        }
        if (r.op == Op::count_nonzero) return launch_count_nonzero<T>(plan, in.x, out, stream, traits);
        if (r.op == Op::count_unique) return launch_count_unique<T>(plan, in.x, out, workspace, stream, traits);
        if (kind == Kind::moments && r.method == Method::exact && r.shape != Shape::flat) {
            return launch_moments_exact_groups<T>(plan, in, out, workspace, stream, traits);
        }
        if (kind == Kind::moments) {
            if (r.method == Method::exact) return launch_moments_exact<T>(plan, in.x, out, workspace, stream, traits);
            return r.shape == Shape::flat || r.shape == Shape::rows
                       ? launch_moments_tree<T>(plan, in.x, out, workspace, stream, traits)
                       : launch_moments_groups<T>(plan, in, out, workspace, stream, traits);
        }
        if (r.method == Method::exact) {
            if (takes_exact_small(plan)) return launch_exact_small<T>(plan, in, out, workspace, stream, traits);
            if (r.shape != Shape::flat) return launch_exact_groups<T>(plan, in, out, workspace, stream, traits);
            return of_terms ? launch_exact_terms<T>(plan, in, out, workspace, stream, traits)
                            : launch_exact<T>(plan, in.x, out, workspace, stream, traits);
        }
        if (r.shape != Shape::flat) return launch_groups<T>(plan, in, out, workspace, stream, traits);
        return of_terms ? launch_flat_terms<T>(plan, in, out, workspace, stream, traits)
                        : launch_flat<T>(plan, in.x, out, workspace, stream, traits);
    });
}

Status enqueue_clip(const ClipPlan& plan, const Tensor* list, void* norm_out, void* workspace, Stream stream) noexcept {
    int device = 0;
    if (const Status bad = select_device(plan.request().device.index, device); !bad.ok()) return bad;
    const DeviceScope scope(plan.request().device.index);
    if (!scope.status().ok()) return scope.status();
    DeviceTraits traits;
    const Status bad = read_traits(device, traits);
    return bad.ok() ? launch_clip(plan, list, norm_out, workspace, stream, traits) : bad;
}

Status run_async(const Plan& plan, Inputs in, void* out, Stream stream) noexcept {
    return with_workspace(plan, stream, [&](void* workspace) { return run(plan, in, out, workspace, stream); });
}

Status add(ExactState* state, DType dtype, const void* x, std::uint64_t n, Stream stream) noexcept {
    if (const Status bad = check_state("state", state); !bad.ok()) return bad;
    const Plan plan = make_plan({.dtype = dtype, .n = n});
    if (!plan.status().ok() || n == 0) return plan.status();
    if (const Status bad = check_elements("x", x, dtype, n); !bad.ok()) return bad;
    DeviceTraits traits;
    if (const Status bad = current_device(traits); !bad.ok()) return bad;
    const Status added =
        with_dtype(dtype, [&]<class T>(T) { return launch_exact_add<T>(state, x, n, stream, traits); });
    return added.ok() ? launch_exact_finish(state, nullptr, nullptr, dtype, stream) : added;
}

Status merge(ExactState* state, const ExactState* term, Stream stream) noexcept {
    if (const Status bad = check_state("state", state); !bad.ok()) return bad;
    if (const Status bad = check_state("term", term); !bad.ok()) return bad;
    return launch_exact_finish(state, term, nullptr, DType::f64, stream);
}

Status round(const ExactState* state, DType dtype, void* out, Stream stream) noexcept {
    if (const Status bad = check_state("state", state); !bad.ok()) return bad;
    if (!is_dtype(dtype)) return {StatusCode::invalid_argument, "dtype", allowed_dtypes};
    if (out == nullptr || misaligned(out, size_of(dtype))) {
        return {StatusCode::invalid_argument, "out", "must be a device pointer, aligned to an element of dtype"};
    }
    return launch_exact_finish(const_cast<ExactState*>(state), nullptr, out, dtype,
                               stream); // only read, as it is not normalized
}

} // namespace detreduce::cuda
