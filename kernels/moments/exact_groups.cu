// Mean and variance by `exact` of rows, columns and segments: some thousand groups at a time are cut into slots; of each slot a block adds up the elements, and
// then their squares, to states of its own (exact/groups.cuh); then a block a group makes the result of its slots' states.
#include <cuda_runtime.h>

#include <algorithm>

#include "platform/cuda_error.hpp"
#include "exact/groups.cuh"
#include "platform/launch_kernel.hpp"
#include "moments/exact.hpp"
#include "moments/result.hpp"

namespace detreduce::cuda {

// exact_groups_<dtype>.cu
template <class T>
Status add_exact_slots(Transform term, const Plan& plan, const Inputs& in, const exact::GroupWork& work, Stream stream,
                       const DeviceTraits& device);

namespace {

using exact::Word;

constexpr std::uint32_t cut_threads = 256;
/// Groups at a time, and slots that a group of all elements is cut into.
constexpr std::uint64_t groups_at_once = 8192, most_slots = 4096;

/// A warp a group. What is put where depends on who comes first; what comes out does not.
__global__ void __launch_bounds__(cut_threads) cut_kernel(const Groups groups, std::uint64_t first_group,
                                                          std::uint64_t count, const SlotTable table, GroupCut* cuts) {
    const std::uint32_t lane = threadIdx.x % warp_size;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (cut_threads / warp_size);
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * (cut_threads / warp_size) + threadIdx.x / warp_size; i < count;
         i += warps) {
        const Span span = span_of(groups, first_group + i);
        const std::uint64_t parts = spec::tiles(span.n, table.length);
        std::uint64_t first = 0;
        if (lane == 0) first = atomicAdd(reinterpret_cast<unsigned long long*>(table.used), parts);
        first = shuffle_from(first, 0);
        // Offsets in order always find room.
        const bool fits = first <= table.room && parts <= table.room - first;
        if (lane == 0) cuts[i] = {first, span.valid && fits ? parts : GroupCut::invalid};
        for (std::uint64_t p = lane; p < parts && first + p < table.room; p += warp_size) {
            const std::uint64_t done = p * table.length, left = span.n - done;
            const auto m = static_cast<std::uint32_t>(left < table.length ? left : table.length);
            table.slots[first + p] = {span.begin + done * table.step, fits ? m : 0, 0};
        }
    }
}

/// What of a plan's groups is to be done, some at a time.
template <class T>
struct MomentGroups {
    static constexpr int square_states = fp::is_f64<T> ? acc::exact::product_states : 1;
    const Plan& plan;
    const Inputs& in;
    char* workspace;
    Stream stream;
    DeviceTraits device;
    MomentGroupsLayout layout{plan.request()};
    Groups groups{Groups::of(plan, in.offsets)};

    [[nodiscard]] Word* words(std::size_t at) const { return reinterpret_cast<Word*>(workspace + at); }
    [[nodiscard]] SlotTable table() const {
        return {reinterpret_cast<Slot*>(workspace + layout.slots),
                nullptr,
                reinterpret_cast<std::uint64_t*>(workspace),
                layout.room,
                layout.length,
                groups.step,
                0};
    }
    [[nodiscard]] Status add(Transform term, std::size_t states) const {
        exact::GroupWork work{};
        work.table = table();
        work.states = words(states);
        return add_exact_slots<T>(term, plan, in, work, stream, device);
    }
    [[nodiscard]] Status run(std::uint64_t first, std::uint64_t count, const acc::MomentsResult& result) const {
        auto* const cuts = reinterpret_cast<GroupCut*>(workspace + layout.cuts);
        const auto blocks = static_cast<std::uint32_t>(spec::tiles(count, cut_threads / warp_size));
        Status status = from_cuda("cudaMemsetAsync", cudaMemsetAsync(workspace, 0, sizeof(std::uint64_t), stream));
        if (status.ok())
            status = launch_kernel(LaunchKind::plain, cut_kernel, blocks, cut_threads, 0, stream, groups, first, count,
                                   table(), cuts);
        if (status.ok()) status = add(Transform::element, layout.sums);
        if (status.ok()) status = add(Transform::square, layout.squares);
        if (!status.ok()) return status;
        const MomentStates states{words(layout.sums), words(layout.squares), fp::is_f64<T>, acc::exact::words,
                                  square_states * acc::exact::words};
        return launch_moments_finish(states, count, result, stream, device, cuts);
    }
};

} // namespace

MomentGroupsLayout::MomentGroupsLayout(const Request& r) {
    constexpr auto align = [](std::size_t size) { return (size + 255) / 256 * 256; };
    length = static_cast<std::uint32_t>(std::max<std::uint64_t>(exact_slot_elements, spec::tiles(r.n, most_slots)));
    const std::uint64_t slots_each = std::max<std::uint64_t>(1, spec::tiles(r.n, length));
    if (r.shape == Shape::segments) {
        at_once = std::min(r.groups, groups_at_once);
        room = at_once + r.n / length; // each has one that is not full, at most
    } else {
        at_once = std::clamp<std::uint64_t>(groups_at_once / slots_each, 1, std::max<std::uint64_t>(1, r.groups));
        room = at_once * slots_each;
    }
    const std::size_t state = acc::exact::words * sizeof(Word);
    cuts = 256;
    slots = cuts + align(at_once * sizeof(GroupCut));
    sums = slots + align(room * sizeof(Slot));
    squares = sums + align(room * state);
    bytes = squares + align(room * state * (r.dtype == DType::f64 ? acc::exact::product_states : 1));
}

template <class T>
Status launch_moments_exact_groups(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                                   const DeviceTraits& device) {
    const MomentGroups<T> of{plan, in, static_cast<char*>(workspace), stream, device};
    const acc::MomentsResult result = moments_result(plan, out);
    Status status;
    for (std::uint64_t first = 0; status.ok() && first < plan.groups(); first += of.layout.at_once)
        status = of.run(first, std::min(of.layout.at_once, plan.groups() - first), result.moved(first));
    return status;
}

template Status launch_moments_exact_groups<float16>(const Plan&, const Inputs&, void*, void*, Stream,
                                                     const DeviceTraits&);
template Status launch_moments_exact_groups<bfloat16>(const Plan&, const Inputs&, void*, void*, Stream,
                                                      const DeviceTraits&);
template Status launch_moments_exact_groups<float>(const Plan&, const Inputs&, void*, void*, Stream,
                                                   const DeviceTraits&);
template Status launch_moments_exact_groups<double>(const Plan&, const Inputs&, void*, void*, Stream,
                                                    const DeviceTraits&);

} // namespace detreduce::cuda
