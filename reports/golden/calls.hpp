// Golden results of calls of row ops and losses, which are no reductions of one array.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "golden/memory.hpp"

namespace detreduce::golden {

/// A call, and what came of it: a line of row_ops.tsv or losses.tsv.
struct CallResult {
    std::string call;   ///< the line, but for its last column: nothing else says what the call is
    std::uint64_t bits; ///< fingerprint of all that was written
    friend bool operator==(const CallResult&, const CallResult&) = default;
};

/// `row_op softmax`: the first two columns.
[[nodiscard]] std::string name_of(const CallResult& result);

[[nodiscard]] std::string line_of(const CallResult& result);

/// `longest` of the functions below: calls with more elements are left out. By this none is.
inline constexpr std::uint64_t all_lengths = std::numeric_limits<std::uint64_t>::max();

/// Makes every call of the table of that family, in its order. Throws Error.
[[nodiscard]] std::vector<CallResult> row_op_results(const Memory& memory, std::uint64_t longest = all_lengths);
[[nodiscard]] std::vector<CallResult> loss_results(const Memory& memory, std::uint64_t longest = all_lengths);
/// Of both, one table behind the other.
[[nodiscard]] std::vector<CallResult> call_results(const Memory& memory, std::uint64_t longest = all_lengths);

/// A table of calls, as it is kept.
struct CallTable {
    std::string_view kind; ///< the first column of each line
    int spec_version;
    std::string_view columns; ///< its second line
    std::vector<CallResult> (*results)(const Memory&, std::uint64_t longest);
};
[[nodiscard]] CallTable row_op_table();
[[nodiscard]] CallTable loss_table();

/// Is that line one of a call?
[[nodiscard]] bool is_call(std::string_view line);

/// Writes a whole table; `device` is what its first line says of where.
void write_table(std::ostream& out, const std::string& device, const CallTable& table, const Memory& memory);

} // namespace detreduce::golden
