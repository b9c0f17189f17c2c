// States: what a reduction by many has of each part of the elements. Each of them, a process of many, say, asks for the states of its own elements
// (Request::state) and sends these integers; any sum, or maximum, of integers puts them together, and finish() rounds what comes out, once. The bits are
// those of all elements in one place, however they were dealt out.
#pragma once

#include <cstdint>

#include <detreduce/plan.hpp>

#pragma GCC visibility push(default)
namespace detreduce {

/// How states are put together, word by word.
enum class StateMerge : std::uint8_t {
    sum, ///< by addition, as 64-bit integers (MPI_SUM of MPI_INT64_T, ncclSum of ncclInt64): sums, means, variances and counts
    max, ///< by their maximum (MPI_MAX, ncclMax): min, max, minmax and nrminf
    pair, ///< argmin and argmax: of two states that with the greater first word, and of equal ones with the greater second
};
/// That of a plan of states.
[[nodiscard]] StateMerge state_merge(const Plan& plan) noexcept;

/// The states of plan.groups() groups, plan.state_words() words each, as run() writes them for a plan of a request with Request::state.
///
/// merge        adds what `others` hold to `states`, as if their elements had been reduced with those of `states`. Both may be the same.
/// normalize    brings states that were added word by word, up to 2^28 normalized ones, to the one form that each has: equal multisets of elements, with
///              their indices, have equal words, on CPU and GPU. run() and merge() write that form.
/// finish       writes plan.results() results to `out`, as run() writes those of a plan without states. States need not be normalized, and stay as they are. How many
///              elements a group has is known from its state; where that are none, or no more than ddof, results are those of segments.
/// plans        make_plan() of a request with Request::state. States go together if op, dtype, shape, nan and groups, of which they are, are the same; output and
///              ddof matter to finish() alone, n, stride, launch and first_index to run() alone. The device says where states and `out` are.
/// stream       CUDA: enqueued on `stream` of the plan's device, not synchronised, nothing allocated, may be captured in a graph. CPU: returns when it is done
/// guarantee    plan.guarantee(): where that is order, of all elements together, whatever the order, number and sizes of parts; of argmin and argmax, if first_index says where each part
///              begins, device
/// ops          all but prod and count_unique; sums, means and variances by exact
/// range        2^62 elements of a group in all, and up to 2^28 normalized states added word by word
/// errors       plan.status(); invalid_argument for `plan` if it is not one of states, for a null or misaligned pointer, and, on the CPU, for `states` with the index of the first group
///              that is beyond its headroom, or no state of this plan. finish() writes nothing then; merge() and normalize() leave a state of such a group that is refused as well.
///              On CUDA nothing is said: finish() writes NaN, or no_index for an index or a count, to the results of such a group. cuda_error; out_of_memory of finish()
/// threads, memory  on the CPU merge() and normalize() run on the calling thread; nothing is allocated but what run() says
/// source       lib/SPEC.md, section 18
Status merge(const Plan& plan, std::int64_t* states, const std::int64_t* others, Stream stream = nullptr) noexcept;
Status normalize(const Plan& plan, std::int64_t* states, Stream stream = nullptr) noexcept;
Status finish(const Plan& plan, const std::int64_t* states, void* out, Stream stream = nullptr) noexcept;

namespace throwing {
inline void merge(const Plan& plan, std::int64_t* states, const std::int64_t* others, Stream stream = nullptr) {
    throw_if_error(detreduce::merge(plan, states, others, stream));
}
inline void normalize(const Plan& plan, std::int64_t* states, Stream stream = nullptr) {
    throw_if_error(detreduce::normalize(plan, states, stream));
}
inline void finish(const Plan& plan, const std::int64_t* states, void* out, Stream stream = nullptr) {
    throw_if_error(detreduce::finish(plan, states, out, stream));
}
} // namespace throwing

} // namespace detreduce
#pragma GCC visibility pop
