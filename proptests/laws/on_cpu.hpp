// What the CPU backend gives, for tests of the GPU's bits.
#pragma once

#include <vector>

#include <detreduce/detreduce.hpp>

namespace detreduce::proptests {

/// Bytes of the results of a plan, or of its states.
[[nodiscard]] inline std::size_t bytes_of_all(const Plan& plan) {
    return plan.request().state ? plan.groups() * plan.state_words() * sizeof(std::int64_t)
                                : plan.results() * plan.result_bytes();
}

/// All results, as Out or as bytes; or states, as bytes.
template <class Out>
std::vector<Out> on_cpu(Request r, const Inputs& in) {
    r.device = cpu;
    const Plan plan = make_plan(r);
    throw_if_error(plan.status());
    std::vector<std::uint64_t> workspace(plan.workspace_bytes() / 8 + 1);
    std::vector<Out> results(bytes_of_all(plan) / sizeof(Out));
    throw_if_error(run(plan, in, results.data(), workspace.data()));
    return results;
}

} // namespace detreduce::proptests
