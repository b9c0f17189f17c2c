// Groups, and lists of tensors.
#pragma once

#include <algorithm>
#include <bit>

#include "for_each.cuh"
#include "multiset/exact/groups.cuh"
#include "multiset/exact/launch.hpp"
#include "multiset/exact/list.cuh"
#include "multiset/exact/plain_rows.cuh"
#include "multiset/exact/threads.cuh"
#include "platform/launch_kernel.hpp"

namespace detreduce::cuda {

template <class Input>
struct ExactGroupLaunch {
    Input input;
    Stream stream;
    DeviceTraits device;

    /// Rows and segments, with the workspace of WorkLayout, or columns.
    [[nodiscard]] Status reduce(const Run& run) const {
        const Plan& plan = run.plan;
        const auto finish = exact::Finish::of(plan, run.out);
        if (detail::route_of(plan).scope == detail::Scope::thread) {
            return reduce_by_threads(Groups::of(plan, nullptr), exact_part_layout(plan.request()), finish,
                                     plan.launch().grid, run.workspace);
        }
        const WorkLayout layout = exact_group_layout(plan.request());
        exact::GroupWork work{Groups::of(plan, run.in.offsets),
                              layout.table(run.workspace, exact_item_elements(plan.request()), 0, input.step),
                              reinterpret_cast<exact::Word*>(static_cast<char*>(run.workspace) + layout.results)};
        std::uint32_t resident = 0;
        Status status = count_resident(exact::items_kernel<Input>, exact::block_threads, 0, device, resident);
        const std::uint64_t most = policy::times_resident * resident;
        if (status.ok() && layout.room > 0) status = clear(work.table.used, 2 * sizeof *work.table.used, stream);
        if (status.ok()) {
            const Groups& groups = work.groups;
            work.dense = groups.offsets != nullptr || groups.stride == groups.n;
            work.end = groups.offsets != nullptr ? groups.n : (groups.count - 1) * groups.stride + groups.n;
            constexpr std::uint64_t batches =
                exact::is_moments<typename Input::MapType> ? policy::exact_batches_of_moments : policy::exact_batches;
            work.batch = std::max(batch_of(plan, batches * resident, exact::block_warps), exact_batch(plan.request()));
            // Moments have one kernel for what plain.cuh leaves and where it is not asked: it is
            // large.
            constexpr bool moments = exact::is_moments<typename Input::MapType>,
                           may_be_plain = moments || (Input::MapType::linear && Input::MapType::inputs == 1);
            auto* kernel = exact::groups_kernel<Input, moments>;
            if constexpr (may_be_plain) {
                if (auto* const plain = plain_kernel(plan.request()); plain != nullptr) {
                    status = reduce_plain(plain, run, finish, work);
                    if (!status.ok()) return status;
                    kernel = exact::groups_kernel<Input, true>;
                }
            }
            const std::uint64_t useful = spec::tiles(plan.groups(), std::uint64_t{exact::block_warps} * work.batch);
            status = launch_kernel(LaunchKind::plain, kernel, run.blocks(useful, most), exact::block_threads, 0, stream,
                                   input, finish, work);
        }
        if (!status.ok() || layout.room == 0) return status;
        status = launch_kernel(LaunchKind::plain, exact::items_kernel<Input>, run.blocks(layout.room, most),
                               exact::block_threads, 0, stream, input, work);
        if (!status.ok()) return status;
        const exact::LargeStates<Input::states> large{work.table, work.states};
        const std::uint64_t blocks =
            std::clamp<std::uint64_t>(layout.room / 4, 1, policy::large_group_blocks * device.sms);
        return exact::launch_finish<Input::states>(large, finish, blocks, stream);
    }

    using PlainKernel = void(Input, exact::Finish, exact::GroupWork);
    /// What sums groups up as doubles; null: nothing does.
    [[nodiscard]] PlainKernel* plain_kernel(const Request& r) const {
        using T = typename Input::Type;
        if constexpr (exact::is_moments<typename Input::MapType>) {
            return exact_takes_plain(r) ? exact::plain_kernel<Input, exact::PlainGroups<Input>> : nullptr;
        } else if (exact_takes_plain_rows(r) && input.aligned) {
            if (policy::is_short_plain_row(exact_group_bytes(r)))
                return exact::plain_kernel<Input, exact::PlainRows<Input, false>>;
            if constexpr (!fp::has_16_bits<T>) return exact::plain_kernel<Input, exact::PlainRows<Input, true>>;
        }
        if constexpr (!fp::is_f64<T>) {
            if (exact_takes_plain(r)) return exact::plain_kernel<Input, exact::PlainGroups<Input>>;
        }
        return nullptr;
    }
    /// Groups as doubles, as far as that is possible; work.left says which remain.
    [[nodiscard]] Status reduce_plain(PlainKernel* kernel, const Run& run, const exact::Finish& finish,
                                      exact::GroupWork& work) const {
        constexpr std::uint32_t threads = policy::plain_groups.threads;
        static_assert(threads == policy::plain_rows.threads && threads == policy::plain_moments.threads &&
                      threads == policy::plain_moments_of_16_bits.threads);
        std::uint32_t resident = 0;
        const Status status = count_resident(kernel, threads, 0, device, resident);
        if (!status.ok()) return status;
        work.left = reinterpret_cast<std::uint32_t*>(static_cast<char*>(run.workspace) +
                                                     exact_group_workspace(run.request()).left);
        work.batch_log = std::bit_width(work.batch) - 1;
        work.batch = 1u << work.batch_log;
        const std::uint64_t useful = spec::tiles(run.plan.groups(), std::uint64_t{threads / warp_size} * work.batch);
        return launch_kernel(LaunchKind::plain, kernel, run.blocks(useful, policy::times_resident * resident), threads,
                             0, stream, input, finish, work);
    }

    /// Columns, with the workspace of PartLayout.
    [[nodiscard]] Status reduce_by_threads(const Groups& groups, const PartLayout& layout, const exact::Finish& finish,
                                           std::uint32_t grid, void* workspace) const {
        using Sum = exact::SumOf<Input>;
        constexpr int room = exact::part_words<typename Input::Type, typename Input::MapType>;
        static_assert(Sum::template BinsOfColumns<Sum::minimum_columns>::count == room &&
                      Sum::template BinsOfColumns<Sum::maximum_columns>::count <= room);
        auto* const base = static_cast<char*>(workspace);
        const bool most =
            Sum::maximum_columns > Sum::minimum_columns && Sum::takes_most(input, groups.count, groups.stride);
        const auto at = [&]<class W>(W, std::size_t offset) { return reinterpret_cast<W*>(base + offset); };
        const exact::AddUpParts<Input> add{input,
                                           groups.stride,
                                           layout.parts,
                                           finish,
                                           at(exact::Word{}, layout.results),
                                           at(0u, layout.remaining),
                                           at(0u, layout.arrived),
                                           layout.has_states ? at(exact::Word{}, layout.states) : nullptr,
                                           most};
        const std::uint64_t most_blocks = grid ? grid : for_each_most;
        const Status cleared = layout.bytes > 0 ? clear(workspace, layout.bytes, stream) : Status{};
        return cleared.ok() ? for_each(layout.parts.threads(most ? Sum::maximum_columns : Sum::minimum_columns), add,
                                       stream, most_blocks, add.threads)
                            : cleared;
    }
};

template <class T>
Status launch_exact_groups(const Run& run) {
    return exact::with_map(run.request().op, [&]<class Map>(Map) -> Status {
        using Input = exact::Terms<T, Map>;
        const auto input = exact::terms_of<Input>(run, detail::strides_of(run.request()).element);
        return ExactGroupLaunch<Input>{input, run.stream, run.device()}.reduce(run);
    });
}

/// The kernel for a list of tensors whose elements are T.
template <class T>
Status find_exact_list(Op op, const DeviceTraits& device, exact::ListKernel& list) {
    return exact::with_map(op, [&]<class Map>(Map) {
        using Input = exact::Terms<T, Map, exact::long_tile<T, Map>>;
        const bool middle = exact::states_of<double, Map> > Input::states && !exact::is_moments<Map>;
        list = {exact::list_kernel<Input>, Input::tile, middle ? acc::exact::words : 0, 0};
        return count_resident(list.kernel, exact::block_threads, 0, device, list.resident);
    });
}

} // namespace detreduce::cuda
