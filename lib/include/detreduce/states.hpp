// States: what a reduction by many has of each part of the elements. Each of them, a process of
// many, say, asks for the states of its own elements (Request::state) and sends these integers; any
// sum, or maximum, of integers puts them together, and finish() rounds what comes out, once. The
// bits are those of all elements in one place, however they were dealt out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <detreduce/plan.hpp>

#pragma GCC visibility push(default)
namespace detreduce {

/// How states are put together, word by word.
enum class StateMerge : std::uint8_t {
    /// by addition, as 64-bit integers (MPI_SUM of MPI_INT64_T, ncclSum of ncclInt64): sums, means,
    /// variances and counts
    sum,
    max, ///< by their maximum (MPI_MAX, ncclMax): min, max, minmax and nrminf
    /// argmin and argmax: of two states that with the greater first word, and of equal ones with
    /// the greater second
    pair,
};
/// That of a plan of states.
[[nodiscard]] StateMerge state_merge(const Plan& plan) noexcept;

/// Merge, normalize and finish the states of plan.groups() groups, plan.state_words() words each.
///
/// merge        adds `others` to `states`, as if their elements had been reduced together. Both may
///              be the same array
/// normalize    brings states that were added word by word to their one form, in which equal
///              multisets of elements (with their indices) have equal words. run() and merge()
///              write that form
/// finish       writes plan.results() results to `out`. The states need not be normalized, and stay
///              as they are
/// ops          all but prod and count_unique; sums, means and variances by exact
/// lists        of tensors, of ops that add up products: of dtype f64 if a tensor may be of f64. A
///              state has 142 words then, else 74; of variance, stddev and moments 74 more
/// range        2^62 elements of a group in all, and 2^28 normalized states added word by word
/// guarantee    plan.guarantee(): where that is order, of all elements together, however they are
///              dealt out. argmin and argmax: device, if first_index says where each part begins
/// workspace    none
/// stream       CUDA: enqueued on `stream` of the plan's device, not synchronised, nothing
///              allocated, may be captured in a graph. CPU: returns when it is done
/// errors       plan.status(); invalid_argument for a `plan` without Request::state, for a null or
///              misaligned pointer, and, on the CPU, for `states` with the index of the first group
///              whose state is not one of this plan or is beyond its headroom. finish() writes
///              nothing then. On CUDA such a group has NaN, or no_index. cuda_error; out_of_memory
///              of finish()
/// more         docs/reference-calls.md, lib/SPEC.md, section 18
Status merge(const Plan& plan, std::int64_t* states, const std::int64_t* others, Stream stream = nullptr) noexcept;
Status normalize(const Plan& plan, std::int64_t* states, Stream stream = nullptr) noexcept;
Status finish(const Plan& plan, const std::int64_t* states, void* out, Stream stream = nullptr) noexcept;

/// The same states as bytes that any machine can read: with op, dtype, NaN policy, shape and
/// groups, and a checksum.
///
/// serialized_bytes    how many bytes serialize() writes; 0 of a plan that is not ok, or not one of
///                     states
/// serialize           writes them; equal multisets of elements have equal bytes, as the states are
///                     normalized
/// deserialize         reads them into the states of `plan`. Of what ExactState::serialize()
///                     writes, version 1, it makes a state of a flat sum of any dtype
/// serialized_request  a request for such states, to make a plan of that reads them and goes on:
///                     op, dtype, nan, shape (rows, where they are of rows, columns or segments),
///                     groups and each, on the CPU. A list of tensors that is one group has 1 of
///                     them. Of argmin and argmax first_index is the index behind the last element
///                     that the plan of serialize() has read, but for segments and each: 0
/// states              in host memory, whatever the plan's device: copy those of a GPU
/// errors              plan.status(); invalid_argument for `plan` if it is not one of states, for
///                     null or misaligned `states`; of serialize() for `bytes` of another size than
///                     serialized_bytes(), and `states`, with the index of the group, as finish()
///                     has it; of the others for `bytes` that are no serialized states, truncated,
///                     damaged, of another version, op, dtype, nan, shape, groups, or no normalized
///                     states, with the index of the group. Nothing is written then
/// source              lib/SPEC.md, section 18.5
[[nodiscard]] std::uint64_t serialized_bytes(const Plan& plan) noexcept;
Status serialize(const Plan& plan, const std::int64_t* states, std::span<std::byte> bytes) noexcept;
Status deserialize(const Plan& plan, std::span<const std::byte> bytes, std::int64_t* states) noexcept;
Status serialized_request(std::span<const std::byte> bytes, Request& request) noexcept;

namespace throwing {
[[nodiscard]] inline std::vector<std::byte> serialize(const Plan& plan, const std::int64_t* states) {
    std::vector<std::byte> bytes(serialized_bytes(plan));
    throw_if_error(detreduce::serialize(plan, states, bytes));
    return bytes;
}
inline void deserialize(const Plan& plan, std::span<const std::byte> bytes, std::int64_t* states) {
    throw_if_error(detreduce::deserialize(plan, bytes, states));
}
[[nodiscard]] inline Request serialized_request(std::span<const std::byte> bytes) {
    Request request;
    throw_if_error(detreduce::serialized_request(bytes, request));
    return request;
}
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
