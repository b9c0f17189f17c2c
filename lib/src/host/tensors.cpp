// Lists of tensors on the CPU, of ops that compare or count: one tensor after the other, each by all threads.
#include <detreduce/spec/list_found.hpp>

#include "host/backend.hpp"

namespace detreduce::host {

spec::ListFound find_in(const Plan& plan, const Tensor& tensor, const spec::ListView& list) noexcept {
    if (tensor.n == 0) return {};
    return with_dtype(tensor.dtype, [&]<class T>(T) -> spec::ListFound {
        const Arrays<T> in{static_cast<const T*>(tensor.data), nullptr, tensor.n};
        if (list.counts) return {in.n, {}, nonzeros(in, plan.launch())};
        return list.both ? find_both_ends(plan, in, list) : find_by_order(plan, in, list);
    });
}

void reduce_tensors(const Plan& plan, const Inputs& in, void* out) noexcept {
    const Request& r = plan.request();
    const auto list = spec::ListView::of(r.op, r.nan);
    const auto* const tensors = static_cast<const Tensor*>(in.x);
    char* to = static_cast<char*>(out);
    spec::ListFound all{};
    for (std::uint64_t i = 0; i < r.groups; ++i) {
        spec::ListFound one = find_in(plan, tensors[i], list);
        if (r.each) {
            list.store(one, to, plan.output(), plan.result_bytes());
            to += plan.result_bytes() * (list.both ? 2 : 1);
        }
        if (!list.counts) one.integer += all.elements; // an index in the list
        all.merge(one, list.counts);
    }
    list.store(all, to, plan.output(), plan.result_bytes());
}

} // namespace detreduce::host
