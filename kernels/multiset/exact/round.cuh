// How the GPU rounds what was added up: to the finalize of a sum, or to mean and variance. One
// thread works it out, once a result: it is much code, of which there is as little as can be, and
// none that depends on the dtype of the result but the rounding itself.
#pragma once

#include <detreduce/acc/exact_variance.hpp>
#include <detreduce/acc/finish.hpp>
#include <detreduce/plan.hpp>

#include "multiset/exact/words.cuh"
#include "state_form.hpp"

namespace detreduce::cuda::exact {

/// Rounds an outcome to where results go.
__device__ __forceinline__ void store_outcome(void* out, DType output, const acc::exact::Outcome& o) {
    acc::store_bits(out, output, [&](const fp::AnyFormat& f) { return acc::exact::rounded(f, o); });
}
/// The same of the finalize of a sum of n elements. Not inlined: kernels round in several places.
static __device__ __noinline__ void store_finalized(void* out, DType output, Finalize finalize, acc::exact::Outcome sum,
                                                    std::uint64_t n) {
    store_outcome(out, output, sum.finalized(finalize, n));
}

/// Where results go, and what they are of the sums; or their states.
struct Finish {
    void* out = nullptr;
    DType output = DType::f32;
    Finalize finalize = Finalize::sum;
    std::uint32_t bytes = 0; ///< of what there is of a group
    Op op = Op::sum;
    bool state = false; ///< not results: the words of states (lib/SPEC.md, section 18.1)
    std::uint64_t ddof = 0;

    [[nodiscard]] static Finish of(const Plan& plan, void* out) {
        const Request& r = plan.request();
        return {
            out,     plan.output(), info(r.op).finalize, static_cast<std::uint32_t>(detail::group_bytes(plan)), r.op,
            r.state, r.ddof};
    }
    /// That of the group `by` groups further.
    [[nodiscard]] __host__ __device__ Finish moved(std::uint64_t by) const {
        Finish to = *this;
        to.out = static_cast<char*>(out) + by * bytes;
        return to;
    }
    __device__ __forceinline__ void store(const acc::exact::Outcome& sum, std::uint64_t n) const {
        store_finalized(out, output, finalize, sum, n);
    }
    /// What there is to know of n elements.
    [[nodiscard]] __device__ __forceinline__ acc::exact::WantedMoments moments(std::uint64_t n) const {
        return {n, ddof, op == Op::moments, op == Op::stddev, acc::format_of(output)};
    }
    __device__ __forceinline__ void store(const acc::exact::MeanAndVariance& m) const {
#pragma unroll 1
        for (int which = op == Op::moments ? 0 : 1; which < 2; ++which) {
            void* const to = op == Op::moments ? static_cast<char*>(out) + which * (bytes / 2) : out;
            acc::exact::Outcome o = m.variance; // a pointer to one of two would keep both in memory
            if (which == 0) o = m.mean;
            store_outcome(to, output, o);
        }
    }
};

/// Words of States states: of one sum (1, or product_states of products of doubles), or of Σx and,
/// behind it, Σx².
template <int States>
inline constexpr bool of_moments = States == 2 || States == 1 + acc::exact::product_states;

/// The limbs of States states as one number, and where its words are that count.
template <int States>
struct LongOf {
    static_assert(of_moments<States>);
    static constexpr int counters = 0;
};
template <>
struct LongOf<1> {
    static constexpr int limbs = acc::exact::limbs, lowest = acc::exact::lowest_exponent, counters = 0;
    static __device__ __forceinline__ Word limb(const Word* words, int k) { return words[k]; }
};
template <>
struct LongOf<acc::exact::product_states> {
    static constexpr int limbs = acc::exact::product_limbs, lowest = acc::exact::lowest_product_exponent,
                         counters = acc::exact::words;
    static __device__ __forceinline__ Word limb(const Word* words, int k) { return acc::exact::joined_limb(words, k); }
};

/// What a warp needs to round words.
template <int States, bool Moments = of_moments<States>>
struct RoundRoom {
    acc::exact::Scratch<LongOf<States>::limbs> scratch;
    Word joined[States == 1 ? 1 : LongOf<States>::limbs];
};
template <int States>
struct RoundRoom<States, true> {
    acc::exact::VarianceRoom<acc::exact::limbs, LongOf<States - 1>::limbs> variance;
    Word joined[States == 2 ? 1 : LongOf<States - 1>::limbs];
};

/// The number in the words of States states, 1 or product_states, whose limbs are put into
/// `joined` unless it is one state, and those that are not zero.
template <int States>
__device__ __forceinline__ acc::exact::Long join_limbs(const Word* words, Word* joined, acc::exact::LimbRange& used) {
    using L = LongOf<States>;
    used = {L::limbs, 0};
#pragma unroll 1
    for (int base = 0; base < L::limbs; base += warp_size) {
        const int k = base + static_cast<int>(threadIdx.x % warp_size);
        const Word limb = k < L::limbs ? L::limb(words, k) : 0;
        if (States > 1 && k < L::limbs) joined[k] = limb;
        const std::uint32_t there = votes_of_warp(limb != 0);
        if (there == 0) continue;
        used.first = min(used.first, base + __ffs(static_cast<int>(there)) - 1);
        used.last = base + warp_size - __clz(static_cast<int>(there));
    }
    sync_warp();
    if (used.last == 0) used.first = 0;
    return {States == 1 ? words : joined, L::lowest, words + L::counters};
}

/// The words of States states, which all threads of a warp see, as those of the state of a plan at
/// `to`: of n elements. Where a sum is not of −0 alone, they do not say how many of it there are.
template <int States>
__device__ __noinline__ void save_by_warp(const Word* words, Word* joined, Word n, Word* to) {
    using namespace acc::exact;
    if constexpr (of_moments<States>) {
        save_by_warp<1>(words, nullptr, n, to);
        save_by_warp<States - 1>(words + acc::exact::words, joined, n, to + acc::exact::words);
    } else {
        constexpr int count = LongOf<States>::limbs, last = count - 1;
        LimbRange used;
        const Long number = join_limbs<States>(words, joined, used);
        const int lane = threadIdx.x % warp_size;
        // One thread passes carries on, until nothing remains of them, or a sign.
        Word carry = 0;
        int end = used.first;
        bool seen = false;
        for (; lane == 0 && end < count && (end < used.last || (carry != 0 && carry != -1)); ++end) {
            const Word limb = (end < used.last ? number.limb[end] : 0) + carry;
            carry = end < last ? limb >> 32 : 0;
            const Word kept = limb - carry * (Word{1} << 32);
            to[end] = kept;
            seen |= kept != 0;
        }
        end = shuffle_from(end, 0);
        carry = shuffle_from(carry, 0);
        const bool any = shuffle_from(static_cast<int>(seen), 0) != 0 || carry != 0;
        for (int i = lane; i < count; i += warp_size) {
            if (i < used.first || i >= end) to[i] = i < used.first ? 0 : i < last ? carry & 0xffffffff : carry;
        }
        if (lane < counters) {
            const int k = limbs + lane;
            const Word value = number.counters[k];
            to[count + lane] = k == elements ? n : k == weight ? any : k == negative_zeros && value != n ? 0 : value;
        }
    }
}

/// Rounds the words of States states, which all threads of a warp see, to where `finish` says.
/// Between two calls with one room the warp must wait. By value, as what a call has the address of
/// is kept in memory.
template <int States>
__device__ __noinline__ void round_by_warp(const Word* words, RoundRoom<States>& room, Finish finish) {
    using namespace acc::exact;
    if (finish.state) {
        save_by_warp<States>(words, room.joined, words[LongOf<States>::counters + elements],
                             static_cast<Word*>(finish.out));
        return;
    }
    const bool works = threadIdx.x % warp_size == 0;
    LimbRange used;
    if constexpr (of_moments<States>) {
        LimbRange used_squares;
        const Long sum = join_limbs<1>(words, nullptr, used),
                   squares = join_limbs<States - 1>(words + acc::exact::words, room.joined, used_squares);
        if (works) {
            finish.store(mean_and_variance(sum, used, squares, used_squares,
                                           finish.moments(static_cast<std::uint64_t>(words[elements])), room.variance));
        }
    } else {
        const Long number = join_limbs<States>(words, room.joined, used);
        if (works) {
            finish.store(sum_outcome(number, used.first, used.last, finish.finalize, room.scratch),
                         static_cast<std::uint64_t>(number.counters[elements]));
        }
    }
}

/// The same by the first warp of a block; the others may call this or not. Between two calls there
/// must be a barrier.
template <int States>
__device__ __forceinline__ void round_words(const Word* words, const Finish& finish) {
    __shared__ RoundRoom<States> room;
    if (threadIdx.x < warp_size) round_by_warp<States>(words, room, finish);
}

/// The States states in global memory, to which every block has added, as `finish` wants it.
template <int States>
__device__ __forceinline__ void finish_state(const Word* state, const Finish& finish) {
    constexpr int count = States * acc::exact::words;
    __shared__ Word words[count];
    for (int k = threadIdx.x; k < count; k += blockDim.x)
        words[k] = load_from_l2(state + k);
    __syncthreads();
    round_words<States>(words, finish);
}

} // namespace detreduce::cuda::exact
