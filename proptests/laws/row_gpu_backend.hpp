// Row ops on the GPU, as row_laws.hpp calls a backend.
#pragma once

#include <span>
#include <vector>

#include "laws/device_memory.hpp"
#include "laws/row_draws.hpp"
#include "laws/row_results.hpp"

namespace detreduce::proptests {
namespace {

struct RowBackend {
    static constexpr Device device = current_gpu;
    static constexpr std::uint64_t longest = 20'000;
    template <class T>
    using Array = DeviceArray<T>;
    static std::span<const RowOp> ops() { return all_row_ops; }
    static std::vector<Launch> launches() { return {{}}; }
    /// With a workspace that begins as garbage.
    static void execute(const RowPlan& plan, const RowArrays& arrays) {
        const DeviceBuffer workspace(plan.workspace_bytes());
        workspace.fill(0xff, workspace.bytes());
        throw_if_error(run(plan, arrays, workspace.data()));
        CUDA_CHECK(cudaDeviceSynchronize());
        if (!workspace.guards_intact()) throw_if_error({StatusCode::invalid_argument, "test", "stray writes"});
    }

    /// What the CPU gives; its own tests compare that with the text.
    template <class Out, class T>
    static RowResults<Out, fp::Arithmetic<T>> expected(RowRequest r, const RowData<T>& data) {
        using V = fp::Arithmetic<T>;
        r.dtype = dtype_of<T>;
        r.output = dtype_of<Out>;
        r.device = cpu;
        r.stride = r.output_stride = r.probability_stride = r.upstream_stride = 0;
        r.reduction = r.reduction.value_or(Reduction::none);
        const RowPlan plan = make_row_plan(r);
        throw_if_error(plan.status());
        const auto numbers = [&](bool has) { return std::vector<V>(has ? r.rows : 0); };
        RowResults<Out, V> all{std::vector<Out>(r.rows * plan.results()), numbers(r.op == RowOp::layernorm),
                               numbers(of_norms(r.op)), numbers(has_row_weights(r)),
                               std::vector<V>(keeps_exp_sums(r.op) ? 2 * r.rows : 0)};
        const auto at = [](auto& v) { return v.empty() ? nullptr : v.data(); };
        auto mean = data.mean, rstd = data.rstd, exp_sums = data.exp_sums; // of gradients
        throw_if_error(run(
            plan, {.x = at(data.x),
                   .out = at(all.out),
                   .scale = at(data.scale),
                   .shift = at(data.shift),
                   .mean = mean.empty() ? at(all.mean) : at(mean),
                   .rstd = rstd.empty() ? at(all.rstd) : at(rstd),
                   .targets = at(data.targets),
                   .probabilities = at(data.probabilities),
                   .weights = at(data.weights),
                   .row_weights = at(all.weight),
                   .factor = at(data.factor),
                   .upstream = has_upstream(r.op) ? static_cast<const void*>(at(data.upstream)) : at(data.row_upstream),
                   .exp_sums = exp_sums.empty() ? at(all.exp_sums) : at(exp_sums)}));
        return all;
    }
};

} // namespace
} // namespace detreduce::proptests
