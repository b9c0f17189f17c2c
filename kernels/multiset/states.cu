// What happens to states of plans on the device besides being written: they are put together, and
// finished.
#include "cuda_backend.hpp"
#include "for_each.cuh"
#include "multiset/exact/kernels.cuh"

namespace detreduce::cuda {
namespace {

using exact::Word;

/// What is wanted of states: with those of `others`, unless null, as they are or, unless finish.out
/// is null, finished.
struct StatesWork {
    detail::StateForm form;
    spec::ListView view;
    Word* states;
    const Word* others;
    std::uint64_t groups;
    exact::Finish finish;

    /// False if the words, which are the only thread's, are no state, or beyond the headroom.
    template <bool Sums>
    [[nodiscard]] __device__ __forceinline__ bool normalize(Word* own, Word* other) const {
        bool good = true;
#pragma unroll 1
        for (int iteration = 0; good && iteration < (others != nullptr ? 3 : 1); ++iteration) {
            Word* const words = iteration == 1 ? other : own;
            if (iteration == 2) form.merge(own, other);
            good = Sums ? form.normalize_sums(words) : form.fits(words);
        }
        if (!good) form.set_beyond(own);
        return good;
    }
};

/// Keys and counts, a group a thread.
struct FinishKey {
    StatesWork work;

    __device__ __forceinline__ void operator()(std::uint64_t i) const {
        const int count = work.form.count;
        Word own[2], other[2] = {};
        Word* const state = work.states + i * count;
        for (int k = 0; k < count; ++k) {
            own[k] = state[k];
            if (work.others != nullptr) other[k] = work.others[i * count + k];
        }
        const bool good = work.normalize<false>(own, other);
        if (work.finish.out == nullptr) {
            for (int k = 0; k < count; ++k)
                state[k] = own[k];
            return;
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
};

/// Sums, a group a warp, which is the block.
template <int States>
struct SumStates {
    static constexpr int threads = warp_size;
    StatesWork work;

    [[nodiscard]] __device__ __forceinline__ std::uint64_t results() const { return work.groups; }
    __device__ __forceinline__ bool load(std::uint64_t i, Word* states, std::uint64_t&) const {
        constexpr int last = exact::of_moments<States> ? States - 1 : States,
                      first = (States - last) * acc::exact::words,
                      count = first + (last == 1 ? acc::exact::words : acc::exact::joined_words);
        __shared__ Word own[count], other[count];
        const int lane = threadIdx.x;
        for (int k = lane; k < count; k += warp_size) {
            own[k] = work.states[i * count + k];
            other[k] = work.others != nullptr ? work.others[i * count + k] : 0;
        }
        sync_warp();
        if (lane == 0) (void)work.normalize<true>(own, other); // what is beyond counts a NaN
        sync_warp();
        if (work.finish.out == nullptr) {
            for (int k = lane; k < count; k += warp_size)
                work.states[i * count + k] = own[k];
            sync_warp(); // the words are used again
            return false;
        }
        for (int k = lane; k < (last == 1 ? count : first); k += warp_size)
            states[k] = own[k];
        if constexpr (last != 1) {
            if (lane == 0) acc::exact::part(own + first, states + first);
        }
        return true;
    }
};

template <int States>
Status launch_sums(const StatesWork& work, Stream stream) {
    const std::uint64_t blocks = std::min<std::uint64_t>(work.groups, 1u << 20);
    return exact::launch_finish<States>(SumStates<States>{work}, work.finish, blocks, stream);
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
    if (info(r.op).kind == Kind::order || info(r.op).kind == Kind::count)
        return for_each(work.groups, FinishKey{work}, stream);
    const int sums = info(r.op).kind == Kind::moments ? 1 : 0, states_of_last = work.form.joined ? 3 : 1;
    switch (sums + states_of_last) {
    case 1:
        return launch_sums<1>(work, stream);
    case 2:
        return launch_sums<2>(work, stream);
    case 3:
        return launch_sums<3>(work, stream);
    default:
        return launch_sums<4>(work, stream);
    }
}

} // namespace detreduce::cuda
