// Ids and offsets of segments: the offsets that ids make, and the first entry that is wrong.
#include <algorithm>

#include "cuda_backend.hpp"
#include "platform/launch_kernel.hpp"

namespace detreduce::cuda {
namespace {

constexpr std::uint32_t block_threads = 256, most_blocks = 4096; // more than any device holds at once

/// The thread's number, and how many there are: 64 bits, for entries are up to 2^40 and one more.
__device__ __forceinline__ std::uint64_t first_index() {
    return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ std::uint64_t threads_in_all() {
    return std::uint64_t{gridDim.x} * blockDim.x;
}

/// A search for each offset, so that it does not matter how many segments in a row are empty.
__global__ void __launch_bounds__(block_threads)
    offsets_kernel(const __grid_constant__ spec::Ascending ids, std::uint64_t groups, std::uint64_t* offsets) {
    for (std::uint64_t g = first_index(); g <= groups; g += threads_in_all())
        offsets[g] = spec::count_below(ids, g);
}

/// Lowers *found to the least finding. A thread stops at its first: what it would find later is greater.
__global__ void __launch_bounds__(block_threads)
    fault_kernel(const __grid_constant__ spec::Ascending entries, unsigned long long* found) {
    for (std::uint64_t i = first_index(); i < entries.count; i += threads_in_all()) {
        const spec::Fault fault = spec::fault_at(entries, i);
        if (fault == spec::Fault::none) continue;
        atomicMin(found, static_cast<unsigned long long>(spec::finding(i, fault)));
        return;
    }
}

std::uint32_t blocks_for(std::uint64_t count) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>((count - 1) / block_threads + 1, most_blocks));
}

/// Brings the least finding to the host, once the stream gets there, through 8 bytes at `place`.
Status enqueue_search(const spec::Ascending& entries, void* place, Stream stream, std::uint64_t& found) {
    static_assert(spec::no_finding == ~std::uint64_t{0}); // every byte is ff
    const Status set = from_cuda("cudaMemsetAsync", cudaMemsetAsync(place, 0xff, sizeof found, stream));
    if (!set.ok()) return set;
    const Status launched = launch_kernel(LaunchKind::plain, fault_kernel, blocks_for(entries.count), block_threads, 0,
                                          stream, entries, static_cast<unsigned long long*>(place));
    if (!launched.ok()) return launched;
    return from_cuda("cudaMemcpyAsync", cudaMemcpyAsync(&found, place, sizeof found, cudaMemcpyDeviceToHost, stream));
}

/// A stream that is being captured does nothing yet, and waiting for it would spoil the capture.
Status check_not_captured(Stream stream) {
    cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
    const Status asked = from_cuda("cudaStreamIsCapturing", cudaStreamIsCapturing(stream, &captured));
    if (!asked.ok() || captured == cudaStreamCaptureStatusNone) return asked;
    return {StatusCode::invalid_argument, "stream", "must not be captured: a check waits for the stream"};
}

} // namespace

Status enqueue_offsets(const Device&, const spec::Ascending& ids, std::uint64_t* offsets, Stream stream) noexcept {
    const std::uint64_t groups = ids.end;
    return launch_kernel(LaunchKind::plain, offsets_kernel, blocks_for(groups + 1), block_threads, 0, stream, ids,
                         groups, offsets);
}

Status find_fault(const Device&, const spec::Ascending& entries, Stream stream, std::uint64_t& found) noexcept {
    found = spec::no_finding;
    if (const Status bad = check_not_captured(stream); !bad.ok() || entries.count == 0) return bad;
    void* place = nullptr;
    const Status got = from_cuda("cudaMallocAsync", cudaMallocAsync(&place, sizeof found, stream));
    if (!got.ok()) return got;
    const Status searched = enqueue_search(entries, place, stream, found);
    const Status freed = from_cuda("cudaFreeAsync", cudaFreeAsync(place, stream));
    // In any case, for what was enqueued may still write to `found`.
    const Status done = from_cuda("cudaStreamSynchronize", cudaStreamSynchronize(stream));
    if (!searched.ok()) return searched;
    return freed.ok() ? done : freed;
}

} // namespace detreduce::cuda
