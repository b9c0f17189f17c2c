#include "platform/launch_kernel.hpp"
#include "multiset/join.cuh"

namespace detreduce::cuda::multiset {
namespace {

/// f(how what was found merges).
template <class F>
Status with_merges(Op op, const F& f) {
    if (op == Op::minmax) return f(FoundEnds{});
    if (op == Op::count_nonzero) return f(FoundCount{});
    return f(FoundBest{});
}

} // namespace

Status join(const Request& r, DType dtype, const Found* found, const JoinWork& work, const Results& results,
            const JoinLaunch& launch, Stream stream, const DeviceTraits& device) {
    return with_merges(r.op, [&]<class Merges>(Merges) {
        const auto kernel = join_kernel<Merges>;
        return launch_kernel(launch.early ? after_previous(device, kernel) : LaunchKind::plain, kernel, launch.blocks,
                             launch.threads, 0, stream, found, work, Views::of(r, dtype), results);
    });
}

Status join_parts(const Request& r, const Found* found, const Parts& parts, const Results& results, Stream stream) {
    return with_merges(r.op, [&]<class Merges>(Merges) {
        return launch_kernel(LaunchKind::plain, join_parts_kernel<Merges>, part_blocks(parts.count), part_threads, 0,
                             stream, parts, found, Views::of(r, r.dtype), results);
    });
}

Status store_empty(const Plan& plan, const Results& results, Stream stream, const DeviceTraits& device) {
    const auto blocks = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(plan.groups(), 1, 1024));
    return with_accumulator<double>(plan.request(), [&](const auto& accumulator) {
        return join(plan.request(), DType::f64, nullptr, JoinWork::of_nothing(plan.groups(), accumulator.empty(true)),
                    results, {blocks, plan.launch().block, false}, stream, device);
    });
}

} // namespace detreduce::cuda::multiset
