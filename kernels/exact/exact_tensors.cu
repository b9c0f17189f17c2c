// `exact` of lists of tensors: their addresses go to the device as a kernel's parameters, so that nothing is copied, and the call can be captured
// in a graph. Then one kernel a dtype adds them all, blocks shared out by size, and one kernel rounds.
#include <cmath>

#include "exact/groups.cuh"
#include "exact/launch.cuh"

namespace detreduce::cuda {

// exact_groups_<dtype>.cu
template <class T>
Status add_exact_tensors(Term term, exact::Word* state, exact::GroupWork work, std::uint32_t blocks, int states,
                         Stream stream, const DeviceTraits& device);
template <class T>
Status count_resident_for_tensors(const DeviceTraits& device, std::uint32_t& blocks);

namespace {

using exact::TensorEntry;
using exact::Word;

/// What fits into a kernel's parameters: 32 KiB since CUDA 12.1, 4 KiB before.
#if CUDART_VERSION >= 12010
constexpr std::uint32_t at_once = 1300;
#else
constexpr std::uint32_t at_once = 160;
#endif
constexpr std::uint32_t most_blocks = 8192, upload_threads = 256;

struct Part {
    const void* x;
    std::uint64_t n;
    std::uint32_t first_block, index;
};
struct Parts {
    std::uint32_t count = 0, blocks = 0;
    Part part[at_once];
};

/// Where a list and its sums are in the workspace.
struct Layout {
    std::size_t state = 0, entries, blocks, each, bytes;
    int states, words;

    explicit Layout(const Request& r) {
        constexpr auto align = [](std::size_t bytes) { return (bytes + 255) / 256 * 256; };
        states = terms::with_term(info(r.op).term, []<class Map>(Map) { return Map::linear; })
                     ? 1
                     : acc::exact::product_states;
        words = states * acc::exact::words;
        const std::size_t state_bytes = static_cast<std::size_t>(words) * sizeof(Word);
        entries = align(state_bytes);
        blocks = entries + align(at_once * sizeof(TensorEntry));
        each = blocks + align((most_blocks + at_once) * sizeof(std::uint32_t));
        bytes = each + (r.each ? align(r.groups * state_bytes) : 0);
    }
};

__global__ void upload_kernel(const __grid_constant__ Parts parts, TensorEntry* entries, std::uint32_t* tensor_of_block,
                              Word* zeros, int zero_count) {
    let_next_kernel_start();
    const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (std::uint32_t i = thread; i < static_cast<std::uint32_t>(zero_count); i += threads)
        zeros[i] = 0;
    for (std::uint32_t i = thread; i < parts.count; i += threads) {
        const Part& p = parts.part[i];
        const std::uint32_t end = i + 1 < parts.count ? parts.part[i + 1].first_block : parts.blocks;
        entries[i] = {p.x, p.n, p.first_block, end - p.first_block, p.index};
        for (std::uint32_t b = p.first_block; b < end; ++b)
            tensor_of_block[b] = i;
    }
}

/// The value of each tensor, a block each.
template <int States>
__global__ void round_each_kernel(const Word* states, std::uint64_t count, const exact::Finish finish,
                                  std::uint32_t bytes) {
    constexpr int words = States * acc::exact::words;
    __shared__ Word own[words];
    for (std::uint64_t i = blockIdx.x; i < count; i += gridDim.x) {
        for (int k = threadIdx.x; k < words; k += blockDim.x)
            own[k] = states[i * words + k];
        __syncthreads();
        exact::Finish one = finish;
        one.out = static_cast<char*>(finish.out) + i * bytes;
        exact::round_words<States>(own, one);
        __syncthreads();
    }
}

struct TensorsLaunch {
    const Plan& plan;
    const Tensor* list;
    void* out;
    char* workspace;
    Stream stream;
    DeviceTraits device;
    Layout layout{plan.request()};

    [[nodiscard]] std::uint64_t count() const { return plan.request().groups; }
    [[nodiscard]] Word* state() const { return reinterpret_cast<Word*>(workspace + layout.state); }
    [[nodiscard]] Word* each() const {
        return plan.request().each ? reinterpret_cast<Word*>(workspace + layout.each) : nullptr;
    }

    /// Adds the next tensors of dtype T from `i` on, as many as fit; `all`: bytes of all that are T.
    template <class T>
    [[nodiscard]] Status add_some(std::uint64_t& i, std::uint64_t all, bool first) const {
        std::uint32_t resident = 0;
        if (const Status bad = count_resident_for_tensors<T>(device, resident); !bad.ok()) return bad;
        const double blocks = std::min<double>(6.0 * resident, most_blocks); // small ones: the last to end is not late
        Parts parts;
        for (; i < count() && parts.count < at_once; ++i) {
            if (list[i].dtype != dtype_of<T> || list[i].n == 0) continue;
            // Its share of the blocks, but no more than have a tile each.
            const double share = blocks * static_cast<double>(list[i].n) / static_cast<double>(all);
            const double useful = static_cast<double>(list[i].n) / (exact::block_threads * 64.0 / sizeof(T));
            parts.part[parts.count++] = {list[i].data, list[i].n, parts.blocks, static_cast<std::uint32_t>(i)};
            parts.blocks += static_cast<std::uint32_t>(std::ceil(std::min(share, useful)));
        }
        if (parts.count == 0 && !first) return {};
        auto* const entries = reinterpret_cast<TensorEntry*>(workspace + layout.entries);
        auto* const tensor_of_block = reinterpret_cast<std::uint32_t*>(workspace + layout.blocks);
        const Status uploaded =
            launch_kernel(LaunchKind::plain, upload_kernel, 1 + parts.count / upload_threads, upload_threads, 0, stream,
                          parts, entries, tensor_of_block, state(), first ? layout.words : 0);
        if (!uploaded.ok() || parts.count == 0) return uploaded;
        exact::GroupWork work{};
        work.of = exact::GroupWork::Of::tensors;
        work.states = each();
        work.tensors = entries;
        work.tensor_of_block = tensor_of_block;
        work.state_words = static_cast<std::uint32_t>(layout.words);
        return add_exact_tensors<T>(info(plan.request().op).term, state(), work, parts.blocks, layout.states, stream,
                                    device);
    }

    template <class T>
    [[nodiscard]] Status add(bool& first) const {
        std::uint64_t all = 0;
        for (std::uint64_t i = 0; i < count(); ++i)
            all += list[i].dtype == dtype_of<T> ? list[i].n : 0;
        Status status;
        for (std::uint64_t i = 0; status.ok() && i < count() && all > 0;) {
            status = add_some<T>(i, all, first);
            first = false;
        }
        return status;
    }

    template <int States>
    [[nodiscard]] Status finish() const {
        const auto bytes = static_cast<std::uint32_t>(plan.result_bytes());
        exact::Finish finish{out, plan.output(), false, info(plan.request().op).ending};
        if (plan.request().each && count() > 0) {
            const auto blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>(count(), 16ull * device.sms));
            const Word* const states = each();
            const Status bad = launch_kernel(LaunchKind::plain, round_each_kernel<States>, blocks, state_block_threads,
                                             0, stream, states, count(), finish, bytes);
            if (!bad.ok()) return bad;
            finish.out = static_cast<char*>(out) + count() * bytes;
        }
        return launch_kernel(LaunchKind::plain, exact::finish_kernel<States>, 1, state_block_threads, 0, stream,
                             state(), static_cast<const Word*>(nullptr), finish);
    }

    [[nodiscard]] Status run() const {
        if (each() != nullptr) {
            const Status zeroed =
                from_cuda("cudaMemsetAsync", cudaMemsetAsync(each(), 0, layout.bytes - layout.each, stream));
            if (!zeroed.ok()) return zeroed;
        }
        bool first = true;
        Status status;
        for (const DType dtype : dtypes()) {
            if (status.ok()) status = with_dtype(dtype, [&]<class T>(T) { return add<T>(first); });
        }
        if (status.ok() && first) { // nothing at all
            status =
                from_cuda("cudaMemsetAsync",
                          cudaMemsetAsync(state(), 0, static_cast<std::size_t>(layout.words) * sizeof(Word), stream));
        }
        if (!status.ok()) return status;
        return layout.states == 1 ? finish<1>() : finish<acc::exact::product_states>();
    }
};

} // namespace

std::size_t exact_tensors_workspace_bytes(const Request& r) {
    return Layout(r).bytes;
}

Status launch_exact_tensors(const Plan& plan, const Tensor* list, void* out, void* workspace, Stream stream,
                            const DeviceTraits& device) {
    return TensorsLaunch{plan, list, out, static_cast<char*>(workspace), stream, device}.run();
}

} // namespace detreduce::cuda
