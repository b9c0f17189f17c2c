// Sums by parts, in any order: what only the states of `exact` can do.
#include <algorithm>
#include <cstring>

#include <detreduce/accuracy/generators.hpp>

#include "gpu.hpp"
#include "runner.hpp"

namespace detreduce::report {
namespace {

void round_to_memory(const ExactState& state, DType output, void* result) {
    with_dtype(output, [&]<class T>(T) {
        const T value = state.round<T>();
        std::memcpy(result, &value, sizeof value);
    });
}

} // namespace

Split random_split(std::uint64_t n, std::size_t pieces, std::uint64_t seed) {
    std::uint64_t counter = 0;
    const auto below = [&](std::uint64_t limit) { return accuracy::hash(seed, counter++) % limit; };
    Split split;
    for (std::size_t i = 1; i < pieces; ++i)
        split.cuts.push_back(below(n + 1));
    split.cuts.insert(split.cuts.end(), {0, n});
    std::sort(split.cuts.begin(), split.cuts.end());
    std::vector<std::size_t> alive(pieces);
    for (std::size_t i = 0; i < pieces; ++i)
        alive[i] = i;
    while (alive.size() > 1) {
        std::swap(alive[below(alive.size())], alive.back());
        const std::size_t from = alive.back();
        alive.pop_back();
        split.merges.emplace_back(alive[below(alive.size())], from);
    }
    split.last = alive.front();
    return split;
}

Split even_split(std::uint64_t n, std::size_t pieces) {
    Split split;
    for (std::size_t i = 0; i <= pieces; ++i)
        split.cuts.push_back(n / pieces * i + n % pieces * i / pieces);
    for (std::size_t i = 1; i < pieces; ++i)
        split.merges.emplace_back(0, i);
    return split;
}

void run_split(const Device& device, const Split& split, const Input& input, DType output, void* result) {
    if (device.backend == Backend::cuda) return gpu::run_split(device, split, input, output, result);
    std::vector<ExactState> states(split.cuts.size() - 1);
    const auto* bytes = static_cast<const std::byte*>(input.data);
    for (std::size_t i = 0; i < states.size(); ++i)
        throw_if_error(states[i].add(input.dtype, bytes + split.cuts[i] * size_of(input.dtype),
                                     split.cuts[i + 1] - split.cuts[i]));
    for (const auto& [to, from] : split.merges)
        states[to].merge(states[from]);
    round_to_memory(states[split.last], output, result);
}

} // namespace detreduce::report
