// What the CPU backend gives, for tests of the GPU's bits.
#pragma once

#include <vector>

#include <detreduce/detreduce.hpp>

namespace detreduce::proptests {

/// All results, as Out or as bytes.
template <class Out>
std::vector<Out> on_cpu(Request r, const Inputs& in) {
    r.device = cpu;
    const Plan plan = make_plan(r);
    throw_if_error(plan.status());
    std::vector<std::uint64_t> workspace(plan.workspace_bytes() / 8 + 1);
    std::vector<Out> results(plan.results() * plan.result_bytes() / sizeof(Out));
    throw_if_error(run(plan, in, results.data(), workspace.data()));
    return results;
}

} // namespace detreduce::proptests
