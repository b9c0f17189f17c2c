// Lists of tensors: one kernel a dtype looks at them, blocks shared out by size (tensors/list.hpp),
// and what those found is joined as doubles, so that dtypes can be mixed.
#include <algorithm>

#include "platform/cuda_error.hpp"
#include "multiset/join.hpp"
#include "multiset/launch.hpp"

namespace detreduce::cuda {
namespace multiset {
namespace {

struct ListLaunch {
    const Plan& plan;
    const Inputs& in;
    void* workspace;
    Stream stream;
    DeviceTraits device;
    Results results;
    ListLayout layout{};

    [[nodiscard]] Found* known() const {
        return reinterpret_cast<Found*>(static_cast<char*>(workspace) + layout.known);
    }
    [[nodiscard]] Found* found() const { return known() + 1; }
    [[nodiscard]] Status join(DType dtype, const JoinWork& work, std::uint32_t blocks) const {
        return multiset::join(plan.request(), dtype, found(), work, results, {blocks, plan.launch().block, false},
                              stream, device);
    }
    /// `first`: nothing is known yet.
    [[nodiscard]] Status join_blocks(DType dtype, const TensorParts& parts, bool first) const {
        Status status;
        if (plan.request().each) {
            status = join(dtype, JoinWork::of_tensors(layout.list.entries_in(workspace), parts.count), parts.count);
        }
        if (!status.ok()) return status;
        JoinWork all = JoinWork::of_one(parts.blocks, plan.groups() - 1);
        all.known = known();
        all.first = first;
        return join(dtype, all, 1);
    }
    /// All tensors of T.
    template <class T>
    [[nodiscard]] Status look(bool& first) const {
        TensorCursor cursor(plan, in, dtype_of<T>);
        std::uint32_t resident = 0;
        Status status;
        if (!cursor.done()) status = count_list_blocks<T>(plan, device, resident);
        const double blocks = plan.launch().grid ? plan.launch().grid : 3.0 * resident;
        const double useful = plan.launch().block * 64.0 / sizeof(T);
        while (status.ok() && !cursor.done()) {
            const TensorParts parts = cursor.take(blocks, useful);
            status = upload_tensors(parts, layout.list, workspace, nullptr, 0, stream);
            if (status.ok()) {
                status = look_at_list<T>(plan, layout.list.entries_in(workspace), layout.list.blocks_in(workspace),
                                         parts.blocks, found(), stream);
            }
            if (status.ok()) status = join_blocks(dtype_of<T>, parts, first);
            first = false;
        }
        return status;
    }
    [[nodiscard]] Status run() const {
        const Request& r = plan.request();
        Status status;
        if (r.each || r.n == 0)
            status = store_empty(plan, results, stream, device); // tensors without elements are not looked at
        bool first = true;
        for (const DType dtype : dtypes()) {
            if (status.ok()) status = with_dtype(dtype, [&]<class T>(T) { return look<T>(first); });
        }
        return status;
    }
};

} // namespace
} // namespace multiset

Status launch_multiset_list(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                            const DeviceTraits& device) {
    return multiset::ListLaunch{plan, in, workspace, stream, device, multiset::Results::of(plan, out)}.run();
}

} // namespace detreduce::cuda
