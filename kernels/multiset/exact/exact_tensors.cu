// `exact` of lists of tensors: one kernel a dtype adds them all (list.cuh), and one kernel rounds.
#include "multiset/exact/list.cuh"
#include "multiset/exact/launch.cuh"

namespace detreduce::cuda {

// exact_groups_<dtype>.cu
template <class T>
Status find_exact_list(Op op, const DeviceTraits& device, exact::ListKernel& list);
// Not here, too, where this is compiled together with that of double (detreduce_join_cuda_sources).
extern template Status find_exact_list<float16>(Op, const DeviceTraits&, exact::ListKernel&);
extern template Status find_exact_list<bfloat16>(Op, const DeviceTraits&, exact::ListKernel&);
extern template Status find_exact_list<float>(Op, const DeviceTraits&, exact::ListKernel&);

namespace {

using exact::Word;

/// States of what is added up, whatever dtypes there are.
int states_of(const Request& r) {
    return exact::with_map(r.op, []<class Map>(Map) { return exact::states_of<double, Map>; });
}

/// The sum of all, what came of the list, and, where the values of tensors are wanted, the sum of
/// each.
struct Layout {
    TensorListLayout list;
    std::size_t state_bytes, each, bytes;

    explicit Layout(const Request& r)
        : list(TensorListLayout::align(states_of(r) * sizeof(ExactState))),
          state_bytes(states_of(r) * sizeof(ExactState)), each(list.end),
          bytes(each + (r.each ? TensorListLayout::align(r.groups * state_bytes) : 0)) {}
};

struct TensorsLaunch : Run {
    int states = states_of(request());
    Layout layout{request()};

    [[nodiscard]] std::uint64_t count() const { return request().groups; }
    [[nodiscard]] Word* state() const { return static_cast<Word*>(workspace); }
    [[nodiscard]] Word* each() const {
        return request().each ? reinterpret_cast<Word*>(static_cast<char*>(workspace) + layout.each) : nullptr;
    }

    template <class T>
    [[nodiscard]] Status add(bool& first) const {
        const int words = states * acc::exact::words;
        TensorCursor cursor(plan, in, dtype_of<T>);
        exact::ListKernel list;
        Status status;
        if (!cursor.done()) status = find_exact_list<T>(request().op, device(), list);
        while (status.ok() && !cursor.done()) {
            TensorParts parts = cursor.take_tiles(list.tile);
            parts.blocks = exact_blocks(parts.tiles, plan.launch().grid, list.resident, policy::most_tensor_blocks);
            status = upload_tensors(parts, layout.list, workspace, state(), first ? words : 0, stream);
            first = false;
            if (!status.ok()) break;
            const exact::ListWork work{.tensors = layout.list.entries_in(workspace),
                                       .tensor_of_block = layout.list.blocks_in(workspace),
                                       .tiles = parts.tiles,
                                       .count = parts.count,
                                       .state_words = static_cast<std::uint32_t>(words),
                                       .states = each() != nullptr ? each() + list.first_word : nullptr};
            status = launch_kernel(after_previous(device(), list.kernel), list.kernel, parts.blocks,
                                   exact::block_threads, 0, stream, state() + list.first_word, work);
        }
        return status;
    }

    template <int States, int Beside = 0>
    [[nodiscard]] Status finish() const {
        const auto finish = exact::Finish::of(plan, out);
        const auto run = [&](const Word* states, std::uint64_t results, const exact::Finish& to) {
            using At = exact::StatesAt<States, Beside>;
            const std::uint64_t most = policy::finish_blocks * device().sms;
            return exact::launch_finish<States>(At{states, results}, to, std::min(results, most), stream);
        };
        const bool several = each() != nullptr && count() > 0;
        const Status status = several ? run(each(), count(), finish) : Status{};
        return status.ok() ? run(state(), 1, finish.moved(each() != nullptr ? count() : 0)) : status;
    }
    /// Everything but the rounding.
    [[nodiscard]] Status add_all() const {
        Status status = each() != nullptr ? clear(each(), layout.bytes - layout.each, stream) : Status{};
        bool first = true;
        for (const DType dtype : dtypes()) {
            if (!status.ok() || has_8_bits(dtype)) continue; // no list has elements of 8 bits
            status = with_dtype_from_16_bits(dtype, [&]<class T>(T) { return add<T>(first); });
        }
        if (status.ok() && first) status = clear(state(), layout.state_bytes, stream); // nothing at all
        return status;
    }

    [[nodiscard]] Status run() const {
        const Status status = add_all();
        if (!status.ok()) return status;
        const bool middle = request().state && !detail::has_joined_products(request());
        switch (states) {
        case 1:
            return finish<1>();
        case acc::exact::product_states:
            return middle ? finish<1, 1>() : finish<acc::exact::product_states>();
        default: // mean and variance
            return middle ? finish<2, 1>() : finish<1 + acc::exact::product_states>();
        }
    }
};

} // namespace

std::size_t exact_tensors_workspace_bytes(const Request& r) {
    return Layout(r).bytes;
}

Status launch_exact_tensors_sums(const Run& run, const Word*& states) {
    const TensorsLaunch launch{run};
    states = launch.state();
    return launch.add_all();
}

Status launch_exact_tensors(const Run& run) {
    return TensorsLaunch{run}.run();
}

} // namespace detreduce::cuda
