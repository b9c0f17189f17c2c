// What happens to states of plans on the device besides being written: they are put together, and finished.
#include "cuda_backend.hpp"
#include "multiset/exact/round.cuh"
#include "platform/launch_kernel.hpp"

namespace detreduce::cuda {
namespace {

using exact::Word;

/// What is wanted of states: with those of `others`, unless null, as they are or, unless finish.out is null, finished.
struct StatesWork {
    detail::StateForm form;
    spec::ListView view;
    Word* states;
    const Word* others;
    std::uint64_t groups;
    exact::Finish finish;

    /// False if the words, which are the only thread's, are no state, or beyond the headroom.
    [[nodiscard]] __device__ __forceinline__ bool normalize(Word* own, Word* other) const {
        bool good = form.normalize(own);
        if (others != nullptr) {
            good = form.normalize(other) && good;
            if (good) {
                form.merge(own, other);
                good = form.normalize(own);
            }
        }
        if (!good) form.set_beyond(own);
        return good;
    }
};

/// Keys and counts, a group a thread.
__global__ void keys_kernel(const __grid_constant__ StatesWork work) {
    const int count = work.form.count;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < work.groups;
         i += std::uint64_t{gridDim.x} * blockDim.x) {
        Word own[2], other[2] = {};
        Word* const state = work.states + i * count;
        for (int k = 0; k < count; ++k) {
            own[k] = state[k];
            if (work.others != nullptr) other[k] = work.others[i * count + k];
        }
        const bool good = work.normalize(own, other);
        if (work.finish.out == nullptr) {
            for (int k = 0; k < count; ++k)
                state[k] = own[k];
            continue;
        }
        const exact::Finish to = work.finish.moved(i);
        if (good) {
            work.view.store(work.form.found(own, work.view), to.out, to.output, to.bytes / (work.view.both ? 2 : 1));
        } else if (work.view.integer) {
            *static_cast<std::uint64_t*>(to.out) = no_index;
        } else { // that of no element, but of nrminf
            spec::ListView nothing = work.view;
            nothing.zero_of_nothing = false;
            nothing.store({}, to.out, to.output, to.bytes / (work.view.both ? 2 : 1));
        }
    }
}

/// The words of a sum of products as three states.
__device__ __forceinline__ void part_by_warp(const Word* joined, Word* states) {
    using namespace acc::exact;
    const int lane = threadIdx.x % warp_size;
    for (int k = lane; k < product_states * acc::exact::words; k += warp_size)
        states[k] = 0;
    sync_warp();
    for (int k = lane; k < joined_words; k += warp_size) {
        const int s = k < scale_digits ? 0 : k < scale_digits + digits || k >= product_digits ? 1 : 2;
        states[s * acc::exact::words + k - s * scale_digits - (k < product_digits ? 0 : scale_digits)] = joined[k];
    }
}

/// Sums, a group a warp, which is the block.
template <int States>
__global__ void __launch_bounds__(warp_size) sums_kernel(const __grid_constant__ StatesWork work) {
    constexpr int last = exact::of_moments<States> ? States - 1 : States, first = (States - last) * acc::exact::words,
                  count = first + (last == 1 ? acc::exact::words : acc::exact::joined_words);
    __shared__ Word own[count], other[count], states[States * acc::exact::words];
    __shared__ exact::RoundRoom<States> room;
    const int lane = threadIdx.x;
    for (std::uint64_t i = blockIdx.x; i < work.groups; i += gridDim.x) {
        for (int k = lane; k < count; k += warp_size) {
            own[k] = work.states[i * count + k];
            other[k] = work.others != nullptr ? work.others[i * count + k] : 0;
        }
        sync_warp();
        if (lane == 0) (void)work.normalize(own, other); // what is beyond counts a NaN
        sync_warp();
        if (work.finish.out == nullptr) {
            for (int k = lane; k < count; k += warp_size)
                work.states[i * count + k] = own[k];
        } else {
            for (int k = lane; k < (last == 1 ? count : first); k += warp_size)
                states[k] = own[k];
            if constexpr (last != 1) part_by_warp(own + first, states + first);
            sync_warp();
            exact::round_by_warp<States>(states, room, work.finish.moved(i));
        }
        sync_warp(); // the words are used again
    }
}

template <class Kernel>
Status launch(const Kernel& kernel, const StatesWork& work, std::uint32_t threads, std::uint64_t groups,
              Stream stream) {
    const auto blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>(spec::tiles(work.groups, groups), 1u << 20));
    return launch_kernel(LaunchKind::plain, kernel, blocks, threads, 0, stream, work);
}

} // namespace

Status enqueue_states(const Plan& plan, std::int64_t* states, const std::int64_t* others, void* out,
                      Stream stream) noexcept {
    const Request& r = plan.request();
    exact::Finish finish = exact::Finish::of(plan, out);
    finish.state = false;
    finish.bytes = static_cast<std::uint32_t>(plan.result_bytes() * static_cast<std::size_t>(info(r.op).results));
    const StatesWork work{
        detail::StateForm::of(plan), spec::ListView::of(r.op, r.nan), states, others, plan.groups(), finish};
    constexpr std::uint32_t threads = 128;
    if (info(r.op).kind == Kind::order || info(r.op).kind == Kind::count)
        return launch(keys_kernel, work, threads, threads, stream);
    const int sums = info(r.op).kind == Kind::moments ? 1 : 0, states_of_last = work.form.joined ? 3 : 1;
    switch (sums + states_of_last) {
    case 1:
        return launch(sums_kernel<1>, work, warp_size, 1, stream);
    case 2:
        return launch(sums_kernel<2>, work, warp_size, 1, stream);
    case 3:
        return launch(sums_kernel<3>, work, warp_size, 1, stream);
    default:
        return launch(sums_kernel<4>, work, warp_size, 1, stream);
    }
}

} // namespace detreduce::cuda
