// The part of README that is written by a program: the lines between two comments, which stay.
//
//     <!-- tables: begin … -->
//     <!-- tables: end … -->
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace detreduce::readme {

/// `text` with `tables` between the comments. Throws program::Failure, naming `source`, unless each comment is there
/// once, at the start of a line, and in this order.
[[nodiscard]] std::string with_block(const std::string& text, const std::string& tables, const std::string& source);

struct Difference {
    std::size_t line;          ///< the first that differs, from 1 on
    std::string is, should_be; ///< empty beyond the end
};
[[nodiscard]] std::optional<Difference> first_difference(const std::string& is, const std::string& should_be);

} // namespace detreduce::readme
