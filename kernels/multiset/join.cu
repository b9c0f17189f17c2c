// Host side of what is of no one element type: joins, and lists of tensors.
#include "for_each.cuh"
#include "multiset/launch.hpp"
#include "multiset/join.cuh"

namespace detreduce::cuda::multiset {
Status join(const Run& run, DType dtype, const Found* found, const JoinWork& work, const Results& results,
            const JoinLaunch& launch) {
    return with_accumulator<double>(run.request(), [&]<class A>(const A&) {
        const auto kernel = join_kernel<A>;
        return launch_kernel(launch.early ? after_previous(run.device(), kernel) : LaunchKind::plain, kernel,
                             launch.blocks, launch.threads, 0, run.stream, found, work, Views::of(run.request(), dtype),
                             results);
    });
}

Status join_parts(const Request& r, const Found* found, const Parts& parts, const Results& results, Stream stream) {
    return with_accumulator<double>(r, [&]<class A>(const A&) {
        return for_each(parts.count, JoinParts<A>{parts, found, Views::of(r, r.dtype), results}, stream);
    });
}

/// The results of a list as if no tensor had elements.
static Status store_empty(const Run& run, const Results& results) {
    return with_accumulator<double>(run.request(), [&](const auto& accumulator) {
        const JoinWork work{.count = run.plan.groups(), .empty = accumulator.empty(true)};
        const auto blocks = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(work.count, 1, 1024));
        return join(run, DType::f64, nullptr, work, results, {blocks, run.plan.launch().block, false});
    });
}
} // namespace detreduce::cuda::multiset

namespace detreduce::cuda {

Status launch_multiset_list(const Run& run) {
    const auto results = multiset::Results::of(run.plan, run.out);
    Status status;
    if (run.request().each || run.request().n == 0) // tensors without elements are not looked at
        status = multiset::store_empty(run, results);
    bool first = true;
    for (const DType dtype : dtypes()) {
        if (!status.ok()) break;
        if (has_8_bits(dtype)) continue; // which no list has
        status =
            with_dtype_from_16_bits(dtype, [&]<class T>(T) { return multiset::look_at_list<T>(run, results, first); });
    }
    return status;
}

} // namespace detreduce::cuda
