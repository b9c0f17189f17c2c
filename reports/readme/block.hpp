// The parts of a document that are written by a program: the lines between two comments, which
// stay.
//
//     <!-- tables: begin NAME; … -->
//     <!-- tables: end -->
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace detreduce::readme {

/// What stands in the block called so. Throws program::Failure for a name that there is not.
using Tables = std::function<std::string(const std::string& name)>;

/// `text` with its tables in each block. Throws program::Failure, naming `source`, unless there is
/// a block, each comment starts a line, and each block ends before the next begins.
[[nodiscard]] std::string with_blocks(const std::string& text, const Tables& tables, const std::string& source);

struct Difference {
    std::size_t line;          ///< the first that differs, from 1 on
    std::string is, should_be; ///< empty beyond the end
};
[[nodiscard]] std::optional<Difference> first_difference(const std::string& is, const std::string& should_be);

} // namespace detreduce::readme
