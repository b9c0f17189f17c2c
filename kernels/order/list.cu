// Ops that compare or count, of lists of tensors: one kernel a dtype looks at them, blocks shared out by size (tensors/list.hpp), and one block puts
// together what those found. There everything is as for doubles (spec/list_found.hpp), so that dtypes can be mixed.
#include <algorithm>

#include <detreduce/spec/list_found.hpp>

#include "launch_kernel.hpp"
#include "order/launch.hpp"
#include "order/tally.cuh"
#include "tensors/list.hpp"

namespace detreduce::cuda {
namespace order {

using spec::ListFound;
using spec::ListView;

/// More elements than this are looked at in turns: places in them are 32 bits.
inline constexpr std::uint64_t most_at_once = std::uint64_t{1} << 30;

/// How one tensor, or a share of it, is looked at.
template <class T>
struct ListScan {
    using Key = typename spec::KeyMap<T>::Key;
    TallyScan<T> tally; ///< minmax and counts; other ops have the keys of its elements
    ListView list;
    bool index;

    /// m elements, at most most_at_once, from `at` on; `before`: elements of the list before the tensor. All threads of the block call this; they must
    /// meet before the next call.
    [[nodiscard]] __device__ __forceinline__ ListFound found(std::uint64_t at, std::uint32_t m,
                                                             std::uint64_t before) const {
        const auto part = tally.part(at, m);
        if (list.counts || list.both) {
            const Tally all = tally_of_block(tally.look(part, threadIdx.x, blockDim.x), list.counts);
            if (list.counts) return {m, {0, 0}, static_cast<std::uint64_t>(all.first)};
            return {m,
                    {list.key(0, tally.of_least.map.element(static_cast<Key>(all.first))),
                     list.key(1, tally.elements.keys.map.element(static_cast<Key>(all.second)))},
                    0};
        }
        const auto seen = tally.elements.look(part, threadIdx.x, blockDim.x);
        const auto key = best_of_block<Greater>(seen.key());
        std::uint64_t integer = 0;
        if (index) integer = before + at + best_of_block<Less>(tally.elements.find(part, seen, key));
        return {m, {list.key(0, tally.elements.keys.map.element(static_cast<Key>(key))), 0}, integer};
    }
};

/// A block each takes its share of a tensor.
template <class T>
__global__ void __launch_bounds__(max_threads)
    list_kernel(const __grid_constant__ ListScan<T> scan, const TensorEntry* entries,
                const std::uint32_t* tensor_of_block, ListFound* found) {
    const TensorEntry entry = entries[tensor_of_block[blockIdx.x]];
    constexpr std::uint64_t multiple = 64; // elements, so that shares begin as the tensor is aligned
    const std::uint64_t share = spec::tiles(spec::tiles(entry.n, entry.blocks), multiple) * multiple,
                        begin = (blockIdx.x - entry.first) * share,
                        end = begin < entry.n ? min(begin + share, entry.n) : begin;
    ListScan<T> mine = scan;
    mine.tally.elements.x = static_cast<const T*>(entry.x);
    ListFound all{};
    for (std::uint64_t at = begin; at < end; at += most_at_once) {
        const auto m = static_cast<std::uint32_t>(min(most_at_once, end - at));
        all.merge(mine.found(at, m, entry.second), scan.list.counts);
        __syncthreads(); // shared memory is used again
    }
    if (threadIdx.x == 0) found[blockIdx.x] = all;
}

/// What `count` blocks found, in the first thread of this one. All threads call this, once.
static __device__ __noinline__ ListFound join(const ListFound* found, std::uint32_t count, bool counts) {
    __shared__ ListFound of_warp[max_warps];
    ListFound mine{};
    for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x)
        mine.merge(found[i], counts);
#pragma unroll
    for (int distance = warp_size / 2; distance >= 1; distance /= 2)
        mine.merge(shuffle_down(mine, distance), counts);
    if (threadIdx.x % warp_size == 0) of_warp[threadIdx.x / warp_size] = mine;
    __syncthreads();
    for (int w = 1; threadIdx.x == 0 && w < static_cast<int>(blockDim.x) / warp_size; ++w)
        mine.merge(of_warp[w], counts);
    return mine;
}

/// Where the results of a list go.
struct ListResults {
    char* out;
    DType output;
    std::uint32_t bytes; ///< of one of the two of minmax
    ListView list;

    __device__ __forceinline__ void store(std::uint64_t i, const ListFound& found) const {
        list.store(found, out + i * bytes * (list.both ? 2 : 1), output, bytes);
    }
};

/// As of lists without elements.
static __global__ void __launch_bounds__(max_threads)
    list_nothing_kernel(std::uint64_t count, const ListResults results) {
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count; i += threads)
        results.store(i, {});
}

/// The value of each tensor, a block each.
static __global__ void __launch_bounds__(max_threads)
    list_each_kernel(const TensorEntry* entries, const ListFound* found, const ListResults results) {
    const TensorEntry entry = entries[blockIdx.x];
    ListFound all = join(found + entry.first, entry.blocks, results.list.counts);
    if (threadIdx.x != 0) return;
    if (results.list.integer && !results.list.counts) all.integer -= entry.second; // an index in the tensor
    results.store(entry.index, all);
}

/// One block: adds what was found to what is known of the list, and stores that as result number `at`. Others may follow.
static __global__ void __launch_bounds__(max_threads)
    list_join_kernel(const ListFound* found, std::uint32_t count, ListFound* known, std::uint64_t at,
                     const ListResults results) {
    ListFound all = join(found, count, results.list.counts);
    if (threadIdx.x != 0) return;
    all.merge(*known, results.list.counts);
    *known = all;
    results.store(at, all);
}

} // namespace order

namespace {

/// What is known of all, what came of the list, and what its blocks found.
struct Layout {
    TensorListLayout list{256};
    std::size_t found = list.end;
    std::size_t bytes =
        found + TensorListLayout::align((most_tensor_blocks + tensors_at_once) * sizeof(spec::ListFound));
};
static_assert(sizeof(spec::ListFound) % sizeof(std::int64_t) == 0 && sizeof(spec::ListFound) <= 256);

struct ListLaunch {
    const Plan& plan;
    const Inputs& in;
    void* workspace;
    Stream stream;
    DeviceTraits device;
    order::ListResults results;
    Layout layout{};

    [[nodiscard]] spec::ListFound* known() const { return static_cast<spec::ListFound*>(workspace); }
    [[nodiscard]] spec::ListFound* found() const {
        return reinterpret_cast<spec::ListFound*>(static_cast<char*>(workspace) + layout.found);
    }
    template <class... Parameters, class... Arguments>
    [[nodiscard]] Status launch(void (*kernel)(Parameters...), std::uint32_t blocks,
                                const Arguments&... arguments) const {
        return launch_kernel(LaunchKind::plain, kernel, blocks, plan.launch().block, 0, stream, arguments...);
    }

    template <class T>
    [[nodiscard]] order::ListScan<T> scan() const {
        using Map = spec::KeyMap<T>;
        using Keys = typename order::GroupScan<T>::Keys;
        const Request& r = plan.request();
        const bool index = results.list.integer && !results.list.counts;
        return {{{nullptr, 1, Keys(Map::of(spec::view_of(r.op), r.nan))},
                 Keys(Map::of(spec::View::least, r.nan)),
                 results.list.counts},
                results.list,
                index};
    }
    [[nodiscard]] Status join(const TensorParts& parts) const {
        const spec::ListFound* const of_blocks = found();
        const TensorEntry* const entries = layout.list.entries_in(workspace);
        Status status;
        if (plan.request().each) status = launch(order::list_each_kernel, parts.count, entries, of_blocks, results);
        if (!status.ok()) return status;
        return launch(order::list_join_kernel, 1, of_blocks, parts.blocks, known(), plan.groups() - 1, results);
    }
    /// All tensors of T. `first`: nothing is known yet.
    template <class T>
    [[nodiscard]] Status look(bool& first) const {
        TensorCursor cursor(plan, in, dtype_of<T>);
        std::uint32_t resident = 0;
        Status status;
        if (!cursor.done()) status = count_resident(order::list_kernel<T>, plan.launch().block, 0, device, resident);
        const double blocks = plan.launch().grid ? plan.launch().grid : 3.0 * resident;
        const double useful = plan.launch().block * 64.0 / sizeof(T);
        while (status.ok() && !cursor.done()) {
            const TensorParts parts = cursor.take(blocks, useful);
            status =
                upload_tensors(parts, layout.list, workspace, reinterpret_cast<std::int64_t*>(known()),
                               first ? static_cast<int>(sizeof(spec::ListFound) / sizeof(std::int64_t)) : 0, stream);
            first = false;
            if (!status.ok()) break;
            const TensorEntry* const entries = layout.list.entries_in(workspace);
            const std::uint32_t* const tensor_of_block = layout.list.blocks_in(workspace);
            status = launch(order::list_kernel<T>, parts.blocks, scan<T>(), entries, tensor_of_block, found());
            if (status.ok()) status = join(parts);
        }
        return status;
    }
    [[nodiscard]] Status run() const {
        const Request& r = plan.request();
        Status status;
        if (r.each || r.n == 0) { // tensors without elements are not looked at
            const auto blocks =
                static_cast<std::uint32_t>(std::min<std::uint64_t>(plan.groups() / order::max_threads + 1, 1024));
            status = launch(order::list_nothing_kernel, blocks, plan.groups(), results);
        }
        bool first = true;
        for (const DType dtype : dtypes()) {
            if (status.ok()) status = with_dtype(dtype, [&]<class T>(T) { return look<T>(first); });
        }
        return status;
    }
};

} // namespace

std::size_t order_list_workspace_bytes() {
    return Layout{}.bytes;
}

Status launch_order_list(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                         const DeviceTraits& device) {
    const Request& r = plan.request();
    const auto bytes = static_cast<std::uint32_t>(plan.result_bytes());
    return ListLaunch{plan,   in,     workspace,
                      stream, device, {static_cast<char*>(out), plan.output(), bytes, spec::ListView::of(r.op, r.nan)}}
        .run();
}

} // namespace detreduce::cuda
