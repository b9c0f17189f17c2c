// The tables of golden results: proptests/golden/results.tsv, of flat sums, ops.tsv, of all other
// reductions, row_ops.tsv and losses.tsv. One line a case, or a call.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "golden/calls.hpp"
#include "golden/cases.hpp"

namespace detreduce::golden {

struct Entry {
    Case of;
    std::uint64_t bits; ///< of the result, in its lowest bytes; of several results the fingerprint
    friend bool operator==(const Entry&, const Entry&) = default;
};

/// One of them, or several.
struct Table {
    std::string
        source; ///< `spec_version 1, from NVIDIA H200 (…)`; of files that differ there: each, with semicolons between
    std::vector<Entry> entries;    ///< of results.tsv and ops.tsv
    std::vector<CallResult> calls; ///< of row_ops.tsv and losses.tsv
};

/// How the first line of a file begins.
inline constexpr std::string_view source_prefix = "# spec_version ";

/// The first and the second line of a file.
[[nodiscard]] std::string first_lines(int version, std::string_view device, std::string_view columns);

/// The second line of the file that has such cases.
[[nodiscard]] std::string_view columns_of(const Case& c);

/// Bytes of each result.
[[nodiscard]] std::size_t result_bytes_of(const Case& c);

/// Bytes that Entry::bits takes: those of the one result, or of a fingerprint.
[[nodiscard]] std::size_t bits_bytes_of(const Case& c);

/// `0x3c00`: the lowest `bytes` bytes.
[[nodiscard]] std::string hexadecimal(std::uint64_t bits, std::size_t bytes);

/// The words of a line, with tabs between.
[[nodiscard]] std::string joined(std::initializer_list<std::string_view> words);

/// Those of the result, or a fingerprint.
[[nodiscard]] std::string bits_text(const Case& c, std::uint64_t bits);

/// The dtype of the results, or `u64`.
[[nodiscard]] std::string_view output_text(const Case& c);

/// `nan=ignore`, `ddof=1`, `each` or `-`.
[[nodiscard]] std::string option_text(const Case& c);

[[nodiscard]] std::string line_of(const Entry& entry);

/// Takes the text of one file, or of several, one behind the other. Throws std::runtime_error,
/// naming the line, when that is no such table.
[[nodiscard]] Table parse_table(std::string_view text);

/// The text of all four files, as they were when this was built.
[[nodiscard]] std::string_view embedded_table() noexcept;

} // namespace detreduce::golden
