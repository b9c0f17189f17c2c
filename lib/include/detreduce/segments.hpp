// Segments by key: offsets from the id of the segment that each element is in, and a look at ids
// and offsets before they are used.
#pragma once

#include <concepts>
#include <cstdint>
#include <ranges>
#include <vector>

#include <detreduce/plan.hpp>

#pragma GCC visibility push(default)
namespace detreduce {

/// What has ids of segments in a row in memory: a vector, an array, a span, … of std::uint32_t or
/// std::uint64_t.
template <class R>
concept SegmentIds = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    (std::same_as<std::ranges::range_value_t<R>, std::uint32_t> ||
     std::same_as<std::ranges::range_value_t<R>, std::uint64_t>);

/// Writes the offsets, as Inputs::offsets has them, of the segments that the n elements of an array
/// are in by their ids: segment g is the elements whose id is g.
///
/// formula      offsets[g] is how many ids are less than g: 0 for g = 0, n for g = groups. A
///              segment that no id names is empty.
/// shapes       ids: n, which do not descend and are less than `groups`; offsets: groups + 1; both
///              aligned to their elements and where `device` is, without overlap. n and groups as
///              in Request. Elements that are not sorted by id: sort them first by a stable sort,
///              such as cub::DeviceRadixSort::SortPairs, which keeps those of a segment in the
///              order of their indices and so defines the result's bits.
/// passes       CPU: two over the ids; CUDA: a binary search for each offset, which reads only a
///              part of the ids if there are few segments
/// workspace    none
/// stream       CUDA: enqueued on `stream` of the device, not synchronised, nothing allocated, may
///              be captured in a graph; CPU: returns when done
/// errors       invalid_argument for n, groups, device.backend, device.index, and for a null or
///              misaligned pointer; no_device; cuda_error. CPU: also what check_ids() finds, and
///              then nothing is written. CUDA does not look: of ids that descend or are `groups` or
///              more it makes offsets that can be used, as they do not descend or pass n, but that
///              mean nothing. check_ids() tells.
/// source       lib/SPEC.md, section 10
Status offsets_of_ids(Device device, const std::uint32_t* ids, std::uint64_t n, std::uint64_t groups,
                      std::uint64_t* offsets, Stream stream = nullptr) noexcept;
Status offsets_of_ids(Device device, const std::uint64_t* ids, std::uint64_t n, std::uint64_t groups,
                      std::uint64_t* offsets, Stream stream = nullptr) noexcept;

/// The same of ids in host memory, on the CPU. Throws Error.
template <SegmentIds Ids>
[[nodiscard]] std::vector<std::uint64_t> offsets_of_ids(const Ids& ids, std::uint64_t groups) {
    if (groups > max_groups) throw_if_error({StatusCode::invalid_argument, "groups", "allowed are 0 to 2^40 segments"});
    std::vector<std::uint64_t> offsets(groups + 1);
    throw_if_error(offsets_of_ids(cpu, std::ranges::data(ids), std::ranges::size(ids), groups, offsets.data()));
    return offsets;
}

/// Looks at every id: is none of them less than the one before it, or `groups` or more?
///
/// errors       ok, if so; else invalid_argument with argument "ids", and Status::index is that of
///              the first bad one; same as offsets_of_ids(), and argument "stream" for a stream
///              that is being captured
/// shapes       as offsets_of_ids()
/// workspace    CUDA: 8 bytes from the stream-ordered allocator (cudaMallocAsync, cudaFreeAsync)
/// stream       CUDA: enqueued on `stream` of the device, and waits for it: these checks are the
///              only calls of the library that synchronise. Both backends give the same status.
Status check_ids(Device device, const std::uint32_t* ids, std::uint64_t n, std::uint64_t groups,
                 Stream stream = nullptr) noexcept;
Status check_ids(Device device, const std::uint64_t* ids, std::uint64_t n, std::uint64_t groups,
                 Stream stream = nullptr) noexcept;

/// Looks at groups + 1 offsets of segments of n elements: is none of them less than the one before
/// it, or greater than n? That is what run() asks of them on the CPU, and on CUDA, where it does
/// not look, takes for granted: a segment whose offsets are wrong has a result of NaN there, the
/// index no_index, a count_nonzero of 0, and a count_unique that means nothing, nor do then the
/// segments beside it; where many overlap, right ones may be NaN, too. Nothing outside the array is
/// read.
///
/// order        groups comes before n here, as the offsets are groups + 1
/// whole        also asks that no element is outside all segments: that the first offset is 0 and
///              the last n
/// errors       ok, if so; else invalid_argument with argument "offsets". Otherwise as check_ids()
Status check_offsets(Device device, const std::uint64_t* offsets, std::uint64_t groups, std::uint64_t n,
                     Stream stream = nullptr, bool whole = false) noexcept;

} // namespace detreduce
#pragma GCC visibility pop
