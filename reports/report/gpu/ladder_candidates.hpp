// Who stands on the ladder: rungs and libraries, by the tables that they are in.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ladder/ladder.hpp>

#include "contenders.hpp"
#include "model.hpp"

namespace detreduce::report::gpu {

struct Candidate {
    LadderRow row; ///< all that is known before anything runs
    /// The shape of n elements as it is timed.
    std::function<ladder::Shape(std::uint64_t n)> shape;
    std::function<Contender(const ladder::Shape& shape)> make;
    bool is_sum = true; ///< is the result to be Σx?
    bool waits = false; ///< does the call make the host wait?
};

/// Each rung as the literature runs it, libraries, and our methods. What is missing here is said in
/// `notes`.
[[nodiscard]] std::vector<Candidate> rung_candidates(std::uint64_t n, std::vector<std::string>& notes);
[[nodiscard]] std::vector<Candidate> thread_candidates();
[[nodiscard]] std::vector<Candidate> per_thread_candidates();
[[nodiscard]] std::vector<Candidate> coalesced_candidates();
/// Sums of one array: some rungs of each family, all endings, CUB and ours.
[[nodiscard]] std::vector<Candidate> size_candidates();
/// Of rows of `length` elements.
[[nodiscard]] std::vector<Candidate> softmax_candidates(std::uint64_t length);

} // namespace detreduce::report::gpu
