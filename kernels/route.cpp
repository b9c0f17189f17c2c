// The rest of a plan's route on a GPU: who reduces a group, by which schedule, in blocks of how
// many threads, and in how much workspace. Whatever run() could decide without the pointers is
// decided here, once.
#include <cuda_runtime_api.h>

#include <utility>

#include "accumulators.hpp"
#include "multiset/count/launch.hpp"
#include "cuda_backend.hpp"
#include "platform/cuda_error.hpp"
#include "multiset/exact/launch.hpp"
#include "multiset/launch.hpp"
#include "plan_parts.hpp"
#include "sequence/launch.hpp"
#include "policies.hpp"
#include "f8/bytes.hpp"
#include "f8/widen.hpp"

namespace detreduce::cuda {
namespace {

using detail::Engine, detail::Route, detail::Scope;

Status select_device(int& index) {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess && error != cudaErrorNoDevice && error != cudaErrorInsufficientDriver)
        return from_cuda("cudaGetDeviceCount", error);
    if (error != cudaSuccess || count == 0) {
        (void)cudaGetLastError(); // the caller has the status
        return {StatusCode::no_device, "device",
                error == cudaSuccess ? "there is no CUDA device" : cudaGetErrorString(error), static_cast<int>(error)};
    }
    if (index >= count || index < -1)
        return {StatusCode::invalid_argument, "device.index",
                "allowed are the indices of CUDA devices, or -1 for the current one"};
    return index >= 0 ? Status{} : from_cuda("cudaGetDevice", cudaGetDevice(&index));
}

Status read_traits(int device, DeviceTraits& traits) {
    int sms = 0, cooperative = 0, major = 0;
    for (const auto& [which, value] :
         {std::pair{cudaDevAttrMultiProcessorCount, &sms}, std::pair{cudaDevAttrCooperativeLaunch, &cooperative},
          std::pair{cudaDevAttrComputeCapabilityMajor, &major}}) {
        const Status status = from_cuda("cudaDeviceGetAttribute", cudaDeviceGetAttribute(value, which, device));
        if (!status.ok()) return status;
    }
    traits = {static_cast<std::uint32_t>(sms), cooperative != 0, major >= 9, major >= 9};
    return {};
}

/// Of flat inputs by `exact`: short ones take tiles, or one block, which finishes. A caller's grid
/// is for the others, as are states, and moments of one block.
Scope exact_flat_scope(const Request& r, const Route& route) {
    const Launch& asked = route.launch;
    std::uint32_t alone = exact_alone_threads(r, asked);
    if (route.bytes && alone > exact_small_threads) alone = 0; // kernels of bytes have no such blocks
    const bool takes = !route.computed && !r.state && asked.grid == 0 &&
                       (asked.block == 0 || asked.block == (alone != 0 ? alone : exact_small_threads)) &&
                       (asked.schedule == Schedule::automatic ||
                        asked.schedule == (alone != 0 ? Schedule::last_block : Schedule::two_pass));
    if (!takes || (alone == 0 && exact_small_blocks(r) <= 1)) return Scope::grid;
    return alone != 0 ? Scope::block : Scope::tiles;
}

Scope scope_of(const Request& r, const Route& route) {
    if (r.shape == Shape::tensors) return Scope::list;
    switch (route.engine) {
    case Engine::exact:
        if (r.shape == Shape::flat) return exact_flat_scope(r, route);
        if (r.shape == Shape::rows && !route.computed && !route.bytes && route.launch.grid == 0 &&
            exact_alone_threads(r, route.launch) != 0)
            return Scope::block;
        return detail::is_across(r.shape) ? Scope::thread : Scope::warp;
    case Engine::order:
        if (r.n == 0 && r.state) return Scope::warp; // which knows nothing
        if (r.shape == Shape::flat) return Scope::grid;
        return detail::is_across(r.shape) ? Scope::thread : Scope::warp;
    case Engine::unique: // of groups: once sorted, a thread looks at an element and the one before
        return r.shape == Shape::flat ? Scope::grid : Scope::thread;
    case Engine::products:
        if (r.n == 0 && r.shape != Shape::segments) return Scope::grid; // ones
        break;
    default:
        break;
    }
    return r.shape == Shape::flat ? Scope::grid : detail::is_across(r.shape) ? Scope::block : Scope::warp;
}

/// What a caller can choose of a launch.
struct Offer {
    std::uint32_t minimum_block, most_block, block; ///< of 128, 256 and 512; and the library's choice
    bool last_block, cooperative;
    Schedule schedule;              ///< the library's choice
    const char *blocks, *schedules; ///< what is said about them
};

Offer offer_of(const Request& r, const Route& route) {
    constexpr auto two_pass = Schedule::two_pass;
    constexpr const char* of_sums =
        "last_block and cooperative are offered for sum and mean; allowed for other ops is two_pass";
    constexpr const char* of_flat_sums =
        "last_block and cooperative are offered for flat sums and means; allowed for all else is two_pass";
    const auto only = [](std::uint32_t block, const char* blocks, const char* schedules) -> Offer {
        return {block, block, block, false, false, two_pass, blocks, schedules};
    };
    const bool flat = r.shape == Shape::flat, tiles = route.scope == Scope::tiles;
    switch (route.engine) {
    case Engine::exact: {
        if (info(r.op).kind == Kind::moments && flat)
            return only(
                tiles ? 256 : 128,
                "allowed for variance, stddev and moments of flat inputs by exact are 128, but 256 of 16 KiB to 16 "
                "MiB without a grid, or 0",
                of_flat_sums);
        if (tiles || route.scope == Scope::thread)
            return only(tiles ? 256 : exact::column_threads(r.dtype == DType::f64, info(r.op).kind == Kind::moments),
                        "allowed for exact of columns is 256, for variance, stddev and moments of f64 128, or 0 for "
                        "the library's choice",
                        "allowed for exact of columns is two_pass");
        if (!flat)
            return only(route.scope == Scope::block ? exact_double_block : 128,
                        "allowed for exact of rows, segments and tensors is 128, for sums and means of up to 256 rows "
                        "of up to 32 KiB also 512, without a grid, or 0 for the library's choice",
                        "allowed for exact of rows, columns, segments and tensors is two_pass");
        Offer offer =
            only(route.scope == Scope::block ? exact_alone_threads(r, route.launch) : exact_block_threads,
                 "allowed for exact is 128; without a grid also 256, of up to 16 KiB by last_block and of more, up "
                 "to 16 MiB (32 MiB of one input of 16-bit elements that are not squared), by two_pass, and 512, for "
                 "sums and means of more than 16 KiB, up to 32, by last_block; or 0 for the library's choice",
                 "exact has no levels to keep apart; allowed are two_pass and last_block");
        offer.last_block = true;
        offer.schedule = Schedule::last_block;
        return offer;
    }
    case Engine::moments:
        return only(256, "allowed for variance, stddev and moments by tree is 256, or 0", of_flat_sums);
    case Engine::products:
        return only(256, "allowed for prod is 256, or 0 for the library's choice", of_sums);
    case Engine::sums:
        if (route.computed)
            return only(256, "allowed for transform_reduce is 256, or 0", "allowed for transform_reduce is two_pass");
        if (!flat || info(r.op).transform != Transform::element || r.method != Method::tree)
            return only(256,
                        "128 is offered for flat sums and means by tree; allowed for other ops, shapes and methods is "
                        "256, or 0",
                        "last_block and cooperative are offered for flat sums and means by tree; allowed for other "
                        "ops, shapes and methods is two_pass");
        return {128, 256, policy::tree.threads, true, true, policy::tree_schedule, "", ""};
    case Engine::atomic:
        return {128, 256, policy::tree.threads, false, false, two_pass, "", "allowed for atomic is two_pass"};
    default: // ops that compare or count
        if (route.scope == Scope::thread && route.engine != Engine::unique)
            return only(256, "allowed for ops that compare or count, of columns, is 256, or 0", of_sums);
        return {128, 256, 256, false, false, two_pass, "", of_sums};
    }
}

Status choose_launch(const Offer& offer, Launch& launch) {
    if ((launch.schedule == Schedule::last_block && !offer.last_block) ||
        (launch.schedule == Schedule::cooperative && !offer.cooperative))
        return {StatusCode::unsupported, "launch.schedule", offer.schedules};
    if (launch.block != 0 && (launch.block < offer.minimum_block || launch.block > offer.most_block))
        return {StatusCode::unsupported, "launch.block", offer.blocks};
    if (launch.schedule == Schedule::automatic) launch.schedule = offer.schedule;
    if (launch.block == 0) launch.block = offer.block;
    return {};
}

std::size_t sums_workspace_bytes(const Request& r) {
    const std::size_t accumulator_bytes = with_dtype(r.dtype, [&]<class T>(T) {
        return with_accumulator<fp::Arithmetic<T>>(r.method, []<class Acc>(const Acc*) { return sizeof(Acc); });
    });
    return level_workspace_bytes(r, accumulator_bytes);
}

std::size_t exact_workspace_bytes_of(const Request& r, const Route& route) {
    switch (route.scope) {
    case Scope::list:
        return exact_tensors_workspace_bytes(r);
    case Scope::block:
        return 0;
    case Scope::tiles:
        return exact_small_workspace_bytes(r);
    case Scope::thread:
        return exact_part_layout(r).bytes;
    case Scope::warp:
        return exact_group_workspace(r).bytes;
    default:
        if (info(r.op).kind == Kind::moments) return exact_moments_workspace_bytes;
        return info(r.op).transform == Transform::element ? exact_workspace_bytes : exact_terms_workspace_bytes;
    }
}

/// CUB looks at the current device.
Status find_unique_workspace_bytes(const Request& r, std::size_t& bytes) {
    if (r.n == 0) return {};
    const DeviceScope scope(r.device.index);
    if (!scope.status().ok()) return scope.status();
    return r.shape == Shape::flat ? unique_workspace_bytes(r.dtype, r.n, bytes)
                                  : unique_groups_workspace_bytes(r, bytes);
}

std::size_t workspace_bytes_of(const Request& r, const Route& route) {
    switch (route.engine) {
    case Engine::sums:
        return sums_workspace_bytes(r);
    case Engine::atomic:
        return r.output.value_or(r.dtype) == arithmetic_of(r.dtype) ? 0 : 256;
    case Engine::products:
        return level_workspace_bytes(r, product_accumulator_bytes(r.dtype));
    case Engine::moments:
        return level_workspace_bytes(r, 2 * size_of(arithmetic_of(r.dtype)));
    case Engine::exact:
        return exact_workspace_bytes_of(r, route);
    case Engine::order:
        return multiset_workspace_bytes(r, route);
    case Engine::zeros:
    case Engine::unique: // find_unique_workspace_bytes()
        break;
    }
    return 0;
}

/// Are the results zeros, whatever the pointers? The product of nothing is 1, and an empty segment
/// or tensor is for the kernels.
bool gives_zeros(const Request& r, Engine engine) {
    if (r.shape == Shape::tensors) return false;
    const bool no_results = r.shape != Shape::flat && r.groups == 0;
    if (r.state && info(r.op).kind == Kind::order) return no_results; // a key of nothing is none
    return no_results || (r.n == 0 && r.shape != Shape::segments && engine != Engine::products);
}

} // namespace

Status unique_workspace_bytes(DType dtype, std::uint64_t n, std::size_t& bytes) {
    if (is_narrow(dtype)) return bytes = pattern_map_bytes, Status{};
    return dtype == DType::f32 ? sort_bytes<float>(n, bytes) : sort_bytes<double>(n, bytes);
}

Status prepare(Request& request, Route& route) noexcept {
    if (has_8_bits(request.dtype)) {
        Request wide = detail::PlanParts::in_f16(request);
        route.bytes = true; // as far as scope_of() need know
        const Status bad = prepare(wide, route);
        request.device = wide.device;
        route.bytes = bad.ok() && reduces_bytes(request, route);
        if (route.bytes) {
            route.workspace_bytes = ByteParts(request, route.device).workspace_bytes(request);
        } else if (bad.ok() && route.engine != Engine::zeros) {
            route.workspace_bytes = (route.workspace_bytes + 255) / 256 * 256 + widened_bytes(request);
        }
        return bad;
    }
    const Launch asked = route.launch;
    const bool alone = route.engine == Engine::exact && asked.block == exact_alone_threads(request, asked);
    if (asked.block != 0 && asked.block != 128 && asked.block != 256 && !alone)
        return {StatusCode::invalid_argument, "launch.block", "allowed are 128 and 256, or 0 for the library's choice"};
    if (asked.grid > 0x7fffffffu)
        return {StatusCode::invalid_argument, "launch.grid",
                "allowed are 1 to 2^31 - 1, or 0 for the library's choice"};
    if (const Status bad = select_device(request.device.index); !bad.ok()) return bad;
    if (const Status bad = read_traits(request.device.index, route.device); !bad.ok()) return bad;
    if (asked.schedule == Schedule::cooperative && !route.device.cooperative)
        return {StatusCode::unsupported, "launch.schedule",
                "this device has no cooperative launch; allowed are two_pass and last_block"};
    route.scope = scope_of(request, route);
    if (const Status bad = choose_launch(offer_of(request, route), route.launch); !bad.ok()) return bad;
    if (gives_zeros(request, route.engine)) {
        route.engine = Engine::zeros;
        route.launch = {.threads = asked.threads, .isa = asked.isa};
    }
    if (route.engine == Engine::unique) return find_unique_workspace_bytes(request, route.workspace_bytes);
    route.workspace_bytes = workspace_bytes_of(request, route);
    return {};
}

} // namespace detreduce::cuda
