// The table of golden results (proptests/golden/results.tsv): one line a case.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "golden/cases.hpp"

namespace detreduce::golden {

struct Entry {
    Case of;
    std::uint64_t bits; ///< of the result, in the lowest size_of(output) bytes
    friend bool operator==(const Entry&, const Entry&) = default;
};

struct Table {
    std::string source; ///< `spec_version 1, from NVIDIA H200 (…)`
    std::vector<Entry> entries;
};

inline constexpr std::string_view columns = "# method\tdtype\toutput\tfamily\tn\tseed\tbits";

/// `0x3c00`, with as many digits as the output has.
[[nodiscard]] std::string bits_text(DType output, std::uint64_t bits);

[[nodiscard]] std::string line_of(const Entry& entry);

/// Throws std::runtime_error, naming the line, when `text` is not such a table.
[[nodiscard]] Table parse_table(std::string_view text);

/// The text of the table that was there when this was built.
[[nodiscard]] std::string_view embedded_table() noexcept;

} // namespace detreduce::golden
