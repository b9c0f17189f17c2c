// Host side of `exact`, for one element type.
#pragma once

#include <algorithm>

#include "for_each.cuh"
#include "multiset/exact/kernels.cuh"
#include "multiset/exact/launch.hpp"

namespace detreduce::cuda {

/// Input: exact::Tiles, exact::Terms or exact::MappedTiles.
template <class Input>
struct ExactLaunch : Run {
    /// Each adds less than 2^36 to a limb of the state: 2^20 of them leave it below 2^56.
    static constexpr std::uint32_t most_blocks = 1u << 20;
    static constexpr int words = Input::states * acc::exact::words;
    Input input;

    /// Blocks that the device holds at once.
    [[nodiscard]] Status count_resident(std::uint32_t& blocks) const {
        return cuda::count_resident(exact::add_kernel<Input>, exact::block_threads, 0, device(), blocks);
    }

    [[nodiscard]] Status reduce() const {
        std::uint32_t resident = 0;
        if (const Status bad = count_resident(resident); !bad.ok()) return bad;
        const std::uint32_t blocks = exact_blocks(input.tasks(), plan.launch().grid, resident, most_blocks);
        auto* const state = static_cast<exact::Word*>(workspace);
        auto* const arrived = reinterpret_cast<std::uint32_t*>(state + words);
        const auto finish = exact::Finish::of(plan, out);
        const bool last_block = plan.launch().schedule == Schedule::last_block;
        const auto add = exact::add_kernel<Input>;
        if (blocks == 1 && last_block) {
            return launch_kernel(LaunchKind::plain, add, 1, exact::block_threads, 0, stream, input,
                                 static_cast<exact::Word*>(nullptr), exact::Between{}, finish);
        }
        const exact::Between between{last_block ? arrived : nullptr, arrived + 1, resident, !finish.state};
        const Status zeroed = clear(state, (words + 1) * sizeof *state, stream);
        if (!zeroed.ok()) return zeroed;
        const Status added = launch_kernel(after_previous(device(), add), add, blocks, exact::block_threads, 0, stream,
                                           input, state, between, finish);
        if (!added.ok() || last_block) return added;
        return exact::launch_finish<Input::states>(exact::StatesAt<Input::states>{state, 1}, finish, 1, stream);
    }

    [[nodiscard]] Status add_to(exact::Word* state) const {
        std::uint32_t resident = 0;
        if (const Status bad = count_resident(resident); !bad.ok()) return bad;
        const std::uint64_t useful = spec::tiles(input.tasks(), std::uint64_t{exact::block_warps});
        const auto blocks = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(useful, 1, resident));
        return launch_kernel(LaunchKind::plain, exact::add_kernel<Input>, blocks, exact::block_threads, 0, stream,
                             input, state, exact::Between{}, exact::Finish{});
    }
};

} // namespace detreduce::cuda
