// Ids and offsets of segments: the offsets that ids make, and the first entry that is wrong.
#include "cuda_backend.hpp"
#include "for_each.cuh"

namespace detreduce::cuda {
namespace segments {

constexpr std::uint64_t most_blocks = 4096; // more than any device holds at once

/// A search for each offset, so that it does not matter how many segments in a row are empty.
struct WriteOffset {
    spec::Ascending ids;
    std::uint64_t* offsets;
    __device__ __forceinline__ void operator()(std::uint64_t g) const { offsets[g] = spec::count_below(ids, g); }
};

/// Lowers *found to the minimum of the findings. Most findings are greater than what has been
/// found, and take no atomic.
struct FindFault {
    spec::Ascending entries;
    unsigned long long* found;
    __device__ __forceinline__ void operator()(std::uint64_t i) const {
        const spec::Fault fault = spec::fault_at(entries, i);
        if (fault == spec::Fault::none) return;
        const auto finding = static_cast<unsigned long long>(spec::finding(i, fault));
        if (finding < *static_cast<volatile unsigned long long*>(found)) atomicMin(found, finding);
    }
};

/// Brings the minimum of the findings to the host, once the stream gets there, through 8 bytes at
/// `place`.
static Status enqueue_search(const spec::Ascending& entries, void* place, Stream stream, std::uint64_t& found) {
    static_assert(spec::no_finding == ~std::uint64_t{0}); // every byte is ff
    const Status set = from_cuda("cudaMemsetAsync", cudaMemsetAsync(place, 0xff, sizeof found, stream));
    if (!set.ok()) return set;
    const FindFault find{entries, static_cast<unsigned long long*>(place)};
    const Status launched = for_each(entries.count, find, stream, most_blocks);
    if (!launched.ok()) return launched;
    return from_cuda("cudaMemcpyAsync", cudaMemcpyAsync(&found, place, sizeof found, cudaMemcpyDeviceToHost, stream));
}

/// A stream that is being captured does nothing yet, and waiting for it would spoil the capture.
static Status check_not_captured(Stream stream) {
    cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
    const Status asked = from_cuda("cudaStreamIsCapturing", cudaStreamIsCapturing(stream, &captured));
    if (!asked.ok() || captured == cudaStreamCaptureStatusNone) return asked;
    return {StatusCode::invalid_argument, "stream", "must not be captured: a check waits for the stream"};
}

} // namespace segments

Status enqueue_offsets(const Device&, const spec::Ascending& ids, std::uint64_t* offsets, Stream stream) noexcept {
    const std::uint64_t groups = ids.end;
    return for_each(groups + 1, segments::WriteOffset{ids, offsets}, stream, segments::most_blocks);
}

Status find_fault(const Device&, const spec::Ascending& entries, Stream stream, std::uint64_t& found) noexcept {
    found = spec::no_finding;
    if (const Status bad = segments::check_not_captured(stream); !bad.ok() || entries.count == 0) return bad;
    void* place = nullptr;
    const Status got = from_cuda("cudaMallocAsync", cudaMallocAsync(&place, sizeof found, stream));
    if (!got.ok()) return got;
    const Status searched = segments::enqueue_search(entries, place, stream, found);
    const Status freed = from_cuda("cudaFreeAsync", cudaFreeAsync(place, stream));
    // In any case, for what was enqueued may still write to `found`.
    const Status done = from_cuda("cudaStreamSynchronize", cudaStreamSynchronize(stream));
    if (!searched.ok()) return searched;
    return freed.ok() ? done : freed;
}

} // namespace detreduce::cuda
