// Tables that the programs of docs/edge-cases/ printed, as they are kept in
// reports/results/edge-cases.
#pragma once

#include <string>
#include <vector>

namespace detreduce::readme {

/// The first line, and the table behind it: the first two columns say which sum.
struct Printed {
    std::string origin; ///< "NVIDIA H200, CUB 3.6.0, CUDA 13.0"
    std::vector<std::string> heads;
    std::vector<std::vector<std::string>> rows;

    /// Of the sum of that name and dtype what stands in the column; empty: nothing.
    [[nodiscard]] std::string at(const std::string& sum, const std::string& dtype, std::size_t column) const;
};

/// Throws program::Failure, naming `source`, when the text is something else.
[[nodiscard]] Printed printed(const std::string& text, const std::string& source);

/// The whole of a file, as it is, under the line that says where it is from.
[[nodiscard]] std::string printed_table(const Printed& p, const std::string& link);

} // namespace detreduce::readme
