// clip_grad_norm(): the kernels of the list's norm, of which one that also makes the factor takes
// the place of the one that rounds; then one launch scales tensors of all dtypes. They come as its
// parameters, as they do for the norm (tensors/list.hpp): nothing is copied to the device.
#include <algorithm>
#include <cmath>

#include <detreduce/spec/clip.hpp>

#include "cuda_backend.hpp"
#include "for_each.cuh"
#include "multiset/exact/launch.hpp"
#include "multiset/exact/kernels.cuh"
#include "platform/launch_kernel.hpp"
#include "rounded.cuh"
#include "state_form.hpp"
#include "tensors/list.hpp"

namespace detreduce::cuda {
namespace {

using exact::Word;
using spec::ClipFactor;

constexpr int loads_at_once = policy::scale_loads;
constexpr std::uint32_t packs_a_block = policy::scale_threads * loads_at_once;

/// The norm's words, after it was rounded to binary64, for the factor: what was asked for is
/// rounded from the exact sum, too.
struct NormStates {
    static constexpr int states = acc::exact::product_states;
    exact::StatesAt<states> at;
    double max_norm, epsilon;
    ClipFactor* factor;
    static constexpr int threads = decltype(at)::threads;

    [[nodiscard]] __device__ __forceinline__ std::uint64_t results() const { return 1; }
    __device__ __forceinline__ bool load(std::uint64_t i, Word* words, std::uint64_t& group) const {
        __shared__ double norm;
        at.load(i, words, group);
        __syncthreads();
        exact::round_words<states>(words, {&norm, DType::f64, Finalize::root});
        __syncthreads();
        if (threadIdx.x != 0) return true;
        *factor = spec::clip_factor(norm, max_norm, epsilon);
        if (is_none(words + acc::exact::words + acc::exact::limbs)) factor->clips = false;
        return true;
    }
    /// Does a state that is none have these counters? It has a NaN, but no element.
    [[nodiscard]] static __device__ __forceinline__ bool is_none(const Word* counters) {
        using namespace acc::exact;
        return counters[nan_count - limbs] > counters[elements - limbs];
    }
};

/// The one state of a norm, as run() writes it, as the states that are rounded.
struct PartState {
    const Word* from;
    Word* states;

    __device__ void operator()(std::uint64_t) const {
        using namespace acc::exact;
        Word joined[joined_words];
        for (int k = 0; k < joined_words; ++k)
            joined[k] = from[k];
        if (!detail::normalize_sum<product_limbs>(joined, false)) set_beyond<product_limbs>(joined);
        part(joined, states);
    }
};

/// Tensors as parameters, of any dtypes, and the blocks that share each.
struct ScaleParts {
    struct Part {
        void* x;
        std::uint64_t n;
        std::uint32_t first; ///< block
        DType dtype;
    };
    std::uint32_t count = 0, blocks = 0;
    Part part[tensors_at_once];
};

template <class T>
struct alignas(16) ScalePack {
    T v[16 / sizeof(T)];
};

/// Block `block` of `blocks` scales its share of n elements at x: packs of 16 bytes, and block 0
/// what is before the first and behind the last, too.
template <class T>
__device__ __forceinline__ void scale_share(T* x, std::uint64_t n, std::uint32_t block, std::uint32_t blocks,
                                            const ClipFactor& factor) {
    constexpr std::uint32_t width = 16 / sizeof(T);
    const auto misfit = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(x) % 16);
    const std::uint64_t head = min(n, std::uint64_t{(16 - misfit) % 16 / sizeof(T)}), packs = (n - head) / width;
    auto* const body = reinterpret_cast<ScalePack<T>*>(x + head);
    for (std::uint64_t at = std::uint64_t{block} * packs_a_block; at < packs;
         at += std::uint64_t{blocks} * packs_a_block) {
        ScalePack<T> pack[loads_at_once];
#pragma unroll
        for (int i = 0; i < loads_at_once; ++i) {
            const std::uint64_t k = at + i * policy::scale_threads + threadIdx.x;
            if (k < packs) pack[i] = body[k];
        }
#pragma unroll
        for (int i = 0; i < loads_at_once; ++i) {
            const std::uint64_t k = at + i * policy::scale_threads + threadIdx.x;
            if (k >= packs) break;
#pragma unroll
            for (std::uint32_t j = 0; j < width; ++j)
                pack[i].v[j] = spec::clipped(pack[i].v[j], factor);
            body[k] = pack[i];
        }
    }
    if (block != 0) return;
    const std::uint64_t tail = head + packs * width;
    if (threadIdx.x < head) x[threadIdx.x] = spec::clipped(x[threadIdx.x], factor);
    if (tail + threadIdx.x < n) x[tail + threadIdx.x] = spec::clipped(x[tail + threadIdx.x], factor);
}

__global__ void __launch_bounds__(policy::scale_threads)
    scale_kernel(const __grid_constant__ ScaleParts parts, const ClipFactor* from) {
    const ClipFactor factor = *from;
    if (!factor.clips) return;
    const std::uint32_t i = find_part(parts, blockIdx.x);
    const ScaleParts::Part part = parts.part[i];
    const std::uint32_t end = i + 1 < parts.count ? parts.part[i + 1].first : parts.blocks,
                        block = blockIdx.x - part.first, blocks = end - part.first;
    with_array(part.x, part.dtype, [&](auto* x) { scale_share(x, part.n, block, blocks, factor); });
}

double bytes_of(const Tensor& tensor) {
    return static_cast<double>(tensor.n) * static_cast<double>(size_of(tensor.dtype));
}

/// The next tensors that fit, from `next` on; those of no elements are left out. Each gets its
/// share of `blocks` blocks, but at least one.
ScaleParts take_parts(const Tensor* list, std::uint64_t count, std::uint64_t& next, double all_bytes, double blocks) {
    ScaleParts parts;
    for (; next < count && parts.count < tensors_at_once; ++next) {
        const Tensor& t = list[next];
        if (t.n == 0) continue;
        const double share = blocks * bytes_of(t) / all_bytes, useful = bytes_of(t) / (16.0 * packs_a_block);
        parts.part[parts.count++] = {const_cast<void*>(t.data), t.n, parts.blocks, t.dtype};
        parts.blocks += static_cast<std::uint32_t>(std::ceil(std::min(share, useful)));
    }
    return parts;
}

Status scale(const ClipPlan& plan, const Tensor* list, const ClipFactor* factor, Stream stream) {
    const double blocks = policy::scale_blocks * detail::route_of(plan.norm()).device.sms;
    const std::uint64_t count = plan.request().tensors;
    double bytes = 0;
    for (std::uint64_t i = 0; i < count; ++i)
        bytes += bytes_of(list[i]);
    Status status;
    for (std::uint64_t next = 0; status.ok() && next < count;) {
        const ScaleParts parts = take_parts(list, count, next, bytes, blocks);
        if (parts.count == 0) break;
        status = launch_kernel(LaunchKind::plain, scale_kernel, parts.blocks, policy::scale_threads, 0, stream, parts,
                               factor);
    }
    return status;
}

} // namespace

Status enqueue_clip(const ClipPlan& plan, const std::int64_t* state, const Tensor* list, void* norm_out,
                    void* workspace, Stream stream) noexcept {
    static_assert(sizeof(ClipFactor) <= clip_workspace_bytes);
    auto* const factor = reinterpret_cast<ClipFactor*>(static_cast<char*>(workspace) + plan.norm().workspace_bytes());
    const Word* states = static_cast<const Word*>(workspace);
    Status status = state == nullptr
                        ? launch_exact_tensors_sums({plan.norm(), list, nullptr, workspace, stream}, states)
                        : for_each(1, PartState{state, static_cast<Word*>(workspace)}, stream);
    if (!status.ok()) return status;
    const NormStates norm{{states, 1}, plan.request().max_norm, plan.request().epsilon, factor};
    status = exact::launch_finish<norm.states>(norm, {norm_out, plan.request().norm, Finalize::root}, 1, stream);
    return status.ok() ? scale(plan, list, factor, stream) : status;
}

} // namespace detreduce::cuda
