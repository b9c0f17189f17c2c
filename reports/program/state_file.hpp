// States in files, so that a reduction can be split, sent and resumed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <detreduce/exact_state.hpp>
#include <detreduce/plan.hpp>

namespace detreduce::program {

/// The sum of the states in these files, for `request`, a sum or mean. Throws Failure, naming the
/// file, when one cannot be read, is damaged, of another op, or is too much.
[[nodiscard]] ExactState load_states(const std::vector<std::string>& paths, const Request& request);

/// The same of any other op: the request that such a file is of (states.hpp), and what adds its
/// state to `states`, those of `plan`.
[[nodiscard]] Request request_of_state(const std::string& path);
void add_state(const std::string& path, const Plan& plan, std::int64_t* states);

/// Throws Failure when `state`, the sum of these files and of the numbers that came after, is
/// beyond its headroom.
void require_headroom(const ExactState& state, const std::vector<std::string>& paths);

/// Throws Failure when it is plain beforehand that no state can be saved at `path`: better than
/// after an hour of summing.
void require_savable(const std::string& path);

/// Throws Failure when `path` is the regular file `input` (`-`: standard input; empty: none),
/// or the one that standard output goes to.
void require_apart(const std::string& path, const std::string& input);

/// Writes the state to a new file beside `path` and gives it that name: readers see the old file or
/// the new one, never half of one. What is not a regular file (a pipe, a device) is written to.
/// Throws Failure.
void save_state(const std::string& path, std::span<const std::byte> bytes);

} // namespace detreduce::program
