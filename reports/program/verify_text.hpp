// What `detreduce verify` says.
#pragma once

#include <functional>
#include <string>

#include "golden/compare.hpp"

namespace detreduce::program {

/// What was compared with what.
struct Verified {
    std::string device;
    std::string table; ///< its source
    golden::Verdict verdict;
};

/// One line a method of sums, one an op and shape, one a row op and a loss, one for all, and the
/// first few that differ.
[[nodiscard]] std::string verify_lines(const Verified& verified);

/// The same as a JSON object, on one line.
[[nodiscard]] std::string verify_json(const Verified& verified);

/// Hands to `say` what there is to be said, and then throws Failure if a result differs.
void verify(const Verified& verified, bool json, const std::function<void(const std::string&)>& say);

} // namespace detreduce::program
