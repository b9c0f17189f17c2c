// Host side of list.hpp, and the kernel that stores what came as its parameters.
#include <algorithm>
#include <cmath>

#include "dependent_launch.cuh"
#include "launch_kernel.hpp"
#include "tensors/list.hpp"

namespace detreduce::cuda {
namespace {

constexpr std::uint32_t upload_threads = 256;

__global__ void upload_kernel(const __grid_constant__ TensorParts parts, TensorEntry* entries,
                              std::uint32_t* tensor_of_block, std::int64_t* zeros, int zero_count) {
    let_next_kernel_start();
    const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (std::uint32_t i = thread; i < static_cast<std::uint32_t>(zero_count); i += threads)
        zeros[i] = 0;
    for (std::uint32_t i = thread; i < parts.count; i += threads) {
        const TensorParts::Part& p = parts.part[i];
        const std::uint32_t end = i + 1 < parts.count ? parts.part[i + 1].first_block : parts.blocks;
        entries[i] = {p.x, p.second, p.n, p.first_block, end - p.first_block, p.index};
        for (std::uint32_t b = p.first_block; b < end; ++b)
            tensor_of_block[b] = i;
    }
}

} // namespace

TensorCursor::TensorCursor(const Plan& plan, const Inputs& in, DType dtype)
    : x_(static_cast<const Tensor*>(in.x)), y_(static_cast<const Tensor*>(in.y)), count_(plan.request().groups),
      dtype_(dtype) {
    for (std::uint64_t i = 0; i < count_; ++i) {
        if (x_[i].dtype == dtype) all_ += x_[i].n;
    }
    left_ = all_;
}

TensorParts TensorCursor::take(double blocks, double useful) {
    TensorParts parts;
    blocks = std::min<double>(blocks, most_tensor_blocks);
    for (; next_ < count_ && parts.count < tensors_at_once; ++next_) {
        const Tensor& t = x_[next_];
        const std::uint64_t before = before_;
        before_ += t.n;
        if (t.dtype != dtype_ || t.n == 0) continue;
        const double share = blocks * static_cast<double>(t.n) / static_cast<double>(all_);
        left_ -= t.n;
        const std::uint64_t second = y_ ? reinterpret_cast<std::uintptr_t>(y_[next_].data) : before;
        parts.part[parts.count++] = {t.data, second, t.n, parts.blocks, static_cast<std::uint32_t>(next_)};
        parts.blocks += static_cast<std::uint32_t>(std::ceil(std::min(share, static_cast<double>(t.n) / useful)));
    }
    return parts;
}

Status upload_tensors(const TensorParts& parts, const TensorListLayout& layout, void* workspace, std::int64_t* zeros,
                      int zero_count, Stream stream) {
    return launch_kernel(LaunchKind::plain, upload_kernel, 1 + parts.count / upload_threads, upload_threads, 0, stream,
                         parts, layout.entries_in(workspace), layout.blocks_in(workspace), zeros, zero_count);
}

} // namespace detreduce::cuda
