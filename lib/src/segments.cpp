// Segments by key: what is checked, and the CPU's loops.
#include <detreduce/segments.hpp>

#include "check_pointer.hpp"
#include "cuda_call.hpp"
#include "segments.hpp"

namespace detreduce {
namespace {

/// n, groups and device are what a plan says they are.
Status check_sizes(Device device, std::uint64_t n, std::uint64_t groups) {
    return make_plan({.shape = Shape::segments, .n = n, .groups = groups, .device = device}).status();
}

template <class Id>
Status check_id_array(const Id* ids, std::uint64_t n) {
    if (ids == nullptr && n > 0) return invalid("ids", "must not be null unless n is 0");
    return misaligned(ids, sizeof(Id)) ? invalid("ids", "must be aligned to the id: 4 or 8 bytes") : Status{};
}

Status check_offset_array(const std::uint64_t* offsets) {
    if (offsets == nullptr) return invalid("offsets", "must point to groups + 1 offsets");
    return misaligned(offsets, 8) ? invalid("offsets", "must be aligned to 8 bytes") : Status{};
}

template <class Id>
spec::Ascending as_ascending(const Id* ids, std::uint64_t n, std::uint64_t groups) {
    return {ids, n, groups, sizeof(Id) == 8, false};
}

template <class Id>
void write_offsets(const Id* ids, std::uint64_t n, std::uint64_t groups, std::uint64_t* offsets) {
    std::uint64_t g = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
        for (; g <= ids[i]; ++g)
            offsets[g] = i;
    }
    for (; g <= groups; ++g)
        offsets[g] = n;
}

template <class Id>
Status make_offsets(Device device, const Id* ids, std::uint64_t n, std::uint64_t groups, std::uint64_t* offsets,
                    Stream stream) {
    if (const Status bad = check_sizes(device, n, groups); !bad.ok()) return bad;
    if (const Status bad = check_id_array(ids, n); !bad.ok()) return bad;
    if (const Status bad = check_offset_array(offsets); !bad.ok()) return bad;
    const spec::Ascending ascending = as_ascending(ids, n, groups);
    if (device.backend == Backend::cuda)
        return cuda::call(&cuda::Functions::enqueue_offsets, device, ascending, offsets, stream);
    const Status found = status_of_ids(find_fault(ascending));
    if (found.ok()) write_offsets(ids, n, groups, offsets);
    return found;
}

/// Looks where the entries are.
Status look(Device device, const spec::Ascending& ascending, Stream stream, std::uint64_t& found) {
    if (device.backend == Backend::cuda)
        return cuda::call(&cuda::Functions::find_fault, device, ascending, stream, found);
    found = find_fault(ascending);
    return {};
}

template <class Id>
Status look_at_ids(Device device, const Id* ids, std::uint64_t n, std::uint64_t groups, Stream stream) {
    if (const Status bad = check_sizes(device, n, groups); !bad.ok()) return bad;
    if (const Status bad = check_id_array(ids, n); !bad.ok()) return bad;
    std::uint64_t found = spec::no_finding;
    const Status looked = look(device, as_ascending(ids, n, groups), stream, found);
    return looked.ok() ? status_of_ids(found) : looked;
}

} // namespace

Status status_of_ids(std::uint64_t found) {
    if (found == spec::no_finding) return {};
    const std::uint64_t index = spec::index_of(found);
    if (spec::fault_of(found) == spec::Fault::too_large) return invalid("ids", "must be less than groups", index);
    return invalid("ids", "must not descend: elements must be sorted by id, as a stable sort does", index);
}

Status status_of_offsets(std::uint64_t found) {
    if (found == spec::no_finding) return {};
    const std::uint64_t index = spec::index_of(found);
    switch (spec::fault_of(found)) {
    case spec::Fault::too_large:
        return invalid("offsets", "must not point past the n elements", index);
    case spec::Fault::late_start:
        return invalid("offsets", "the first must be 0, so that no element is left out", index);
    case spec::Fault::early_end:
        return invalid("offsets", "the last must be n, so that no element is left out", index);
    default:
        return invalid("offsets", "must not descend", index);
    }
}

Status offsets_of_ids(Device device, const std::uint32_t* ids, std::uint64_t n, std::uint64_t groups,
                      std::uint64_t* offsets, Stream stream) noexcept {
    return make_offsets(device, ids, n, groups, offsets, stream);
}
Status offsets_of_ids(Device device, const std::uint64_t* ids, std::uint64_t n, std::uint64_t groups,
                      std::uint64_t* offsets, Stream stream) noexcept {
    return make_offsets(device, ids, n, groups, offsets, stream);
}

Status check_ids(Device device, const std::uint32_t* ids, std::uint64_t n, std::uint64_t groups,
                 Stream stream) noexcept {
    return look_at_ids(device, ids, n, groups, stream);
}
Status check_ids(Device device, const std::uint64_t* ids, std::uint64_t n, std::uint64_t groups,
                 Stream stream) noexcept {
    return look_at_ids(device, ids, n, groups, stream);
}

Status check_offsets(Device device, const std::uint64_t* offsets, std::uint64_t groups, std::uint64_t n, Stream stream,
                     bool whole) noexcept {
    if (const Status bad = check_sizes(device, n, groups); !bad.ok()) return bad;
    if (const Status bad = check_offset_array(offsets); !bad.ok()) return bad;
    std::uint64_t found = spec::no_finding;
    const Status looked = look(device, as_ascending(offsets, groups, n, whole), stream, found);
    return looked.ok() ? status_of_offsets(found) : looked;
}

} // namespace detreduce
