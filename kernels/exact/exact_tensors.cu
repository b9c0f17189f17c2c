// `exact` of lists of tensors: one kernel a dtype adds them all (list.cuh), and one kernel rounds. Mean and variance take two kernels a dtype, one of which
// adds the elements, and one their squares.
#include "exact/list.cuh"
#include "exact/launch.cuh"
#include "moments/exact.hpp"
#include "moments/result.hpp"

namespace detreduce::cuda {

// exact_groups_<dtype>.cu
template <class T>
Status describe_exact_list(Transform term, const DeviceTraits& device, ExactListShape& shape);
template <class T>
Status add_exact_list(Transform term, exact::Word* state, exact::ListWork work, std::uint32_t blocks, int states,
                      Stream stream, const DeviceTraits& device);
// Not here, too, where this is compiled together with that of double (detreduce_join_cuda_sources).
#define DETREDUCE_ELSEWHERE(T)                                                                                         \
    extern template Status describe_exact_list<T>(Transform, const DeviceTraits&, ExactListShape&);                    \
    extern template Status add_exact_list<T>(Transform, exact::Word*, exact::ListWork, std::uint32_t, int, Stream,     \
                                             const DeviceTraits&);
DETREDUCE_ELSEWHERE(float16)
DETREDUCE_ELSEWHERE(bfloat16)
DETREDUCE_ELSEWHERE(float)
#undef DETREDUCE_ELSEWHERE

namespace {

using exact::Word;

/// What is added up, and how many states that takes.
struct Pass {
    Transform term;
    int states;
};
struct Passes {
    Pass pass[2];
    int count, words; ///< words: of all states

    explicit Passes(const Request& r) : pass{}, count(1) {
        const auto of = [](Transform term) -> Pass {
            const bool linear = transforms::with_term(term, []<class Map>(Map) { return Map::linear; });
            return {term, linear ? 1 : acc::exact::product_states};
        };
        if (info(r.op).kind == Kind::moments) pass[count++] = of(Transform::square);
        pass[0] = of(count == 2 ? Transform::element : info(r.op).transform);
        words = (pass[0].states + pass[1].states) * acc::exact::words;
    }
};

/// The sum of all, what came of the list, and, where the values of tensors are wanted, the sum of each.
struct Layout {
    TensorListLayout list;
    std::size_t state_bytes, each, bytes;

    explicit Layout(const Request& r)
        : list(TensorListLayout::align(static_cast<std::size_t>(Passes(r).words) * sizeof(Word))),
          state_bytes(static_cast<std::size_t>(Passes(r).words) * sizeof(Word)), each(list.end),
          bytes(each + (r.each ? TensorListLayout::align(r.groups * state_bytes) : 0)) {}
};

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
    const Inputs& in;
    void* out;
    char* workspace;
    Stream stream;
    DeviceTraits device;
    Passes passes{plan.request()};
    Layout layout{plan.request()};

    [[nodiscard]] std::uint64_t count() const { return plan.request().groups; }
    [[nodiscard]] Word* state() const { return reinterpret_cast<Word*>(workspace); }
    [[nodiscard]] Word* each() const {
        return plan.request().each ? reinterpret_cast<Word*>(workspace + layout.each) : nullptr;
    }

    /// Adds the tensors of T in one pass, whose words are `words_before` words behind the first's.
    template <class T>
    [[nodiscard]] Status add(const Pass& pass, int words_before, bool& first) const {
        TensorCursor cursor(plan, in, dtype_of<T>);
        ExactListShape shape;
        Status status;
        if (!cursor.done()) status = describe_exact_list<T>(pass.term, device, shape);
        while (status.ok() && !cursor.done()) {
            TensorParts parts = cursor.take_tiles(shape.tile);
            parts.blocks = exact_blocks(parts.tiles, plan.launch().grid, shape.resident, most_tensor_blocks);
            status = upload_tensors(parts, layout.list, workspace, state(), first ? passes.words : 0, stream);
            first = false;
            if (!status.ok()) break;
            const exact::ListWork work{.tensors = layout.list.entries_in(workspace),
                                       .tensor_of_block = layout.list.blocks_in(workspace),
                                       .tiles = parts.tiles,
                                       .count = parts.count,
                                       .state_words = static_cast<std::uint32_t>(passes.words),
                                       .states = each() ? each() + words_before : nullptr};
            status =
                add_exact_list<T>(pass.term, state() + words_before, work, parts.blocks, pass.states, stream, device);
        }
        return status;
    }

    template <int States>
    [[nodiscard]] Status finish() const {
        const auto bytes = static_cast<std::uint32_t>(plan.result_bytes());
        exact::Finish finish{out, plan.output(), false, info(plan.request().op).finalize};
        if (plan.request().each && count() > 0) {
            const auto blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>(count(), 16ull * device.sms));
            const Word* const states = each();
            const Status bad = launch_kernel(LaunchKind::plain, round_each_kernel<States>, blocks, state_block_threads,
                                             0, stream, states, count(), finish, bytes);
            if (!bad.ok()) return bad;
            finish.out = static_cast<char*>(out) + count() * bytes;
        }
        return launch_kernel(LaunchKind::plain, exact::finish_kernel<States>, 1, state_block_threads, 0, stream,
                             state(), finish);
    }
    [[nodiscard]] Status finish_moments() const {
        const acc::MomentsResult result = moments_result(plan, out);
        const auto run = [&](const Word* states, std::uint64_t tensors, std::uint64_t first) {
            const MomentStates from{states, states + acc::exact::words, true, static_cast<std::uint32_t>(passes.words),
                                    static_cast<std::uint32_t>(passes.words)};
            return launch_moments_finish(from, tensors, result.moved(first), stream, device);
        };
        const Status status = each() != nullptr && count() > 0 ? run(each(), count(), 0) : Status{};
        return status.ok() ? run(state(), 1, each() != nullptr ? count() : 0) : status;
    }

    /// Everything but the rounding.
    [[nodiscard]] Status add_all() const {
        if (each() != nullptr) {
            const Status zeroed =
                from_cuda("cudaMemsetAsync", cudaMemsetAsync(each(), 0, layout.bytes - layout.each, stream));
            if (!zeroed.ok()) return zeroed;
        }
        bool first = true;
        Status status;
        for (int p = 0, words = 0; p < passes.count; words += passes.pass[p++].states * acc::exact::words) {
            for (const DType dtype : dtypes()) {
                if (!status.ok()) return status;
                status = with_dtype(dtype, [&]<class T>(T) { return add<T>(passes.pass[p], words, first); });
            }
        }
        if (status.ok() && first) { // nothing at all
            status = from_cuda("cudaMemsetAsync", cudaMemsetAsync(state(), 0, layout.state_bytes, stream));
        }
        return status;
    }

    [[nodiscard]] Status run() const {
        const Status status = add_all();
        if (!status.ok()) return status;
        if (passes.count == 2) return finish_moments();
        return passes.pass[0].states == 1 ? finish<1>() : finish<acc::exact::product_states>();
    }
};

} // namespace

std::size_t exact_tensors_workspace_bytes(const Request& r) {
    return Layout(r).bytes;
}

Status launch_exact_tensors_sums(const Plan& plan, const Inputs& in, void* workspace, const Word*& states,
                                 Stream stream, const DeviceTraits& device) {
    const TensorsLaunch launch{plan, in, nullptr, static_cast<char*>(workspace), stream, device};
    states = launch.state();
    return launch.add_all();
}

Status launch_exact_tensors(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                            const DeviceTraits& device) {
    return TensorsLaunch{plan, in, out, static_cast<char*>(workspace), stream, device}.run();
}

} // namespace detreduce::cuda
