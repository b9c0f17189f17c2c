// The tables of golden results: proptests/golden/results.tsv, of flat sums, and ops.tsv, of
// everything else. One line a case.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "golden/cases.hpp"

namespace detreduce::golden {

struct Entry {
    Case of;
    std::uint64_t bits; ///< of the result, in its lowest bytes; of several results the fingerprint
    friend bool operator==(const Entry&, const Entry&) = default;
};

/// One of them, or both.
struct Table {
    std::string
        source; ///< `spec_version 1, from NVIDIA H200 (…)`; of files that differ there: both, with a semicolon between
    std::vector<Entry> entries;
};

/// How the first line of a file begins.
inline constexpr std::string_view source_prefix = "# spec_version ";

/// The second line of the file that has such cases.
[[nodiscard]] std::string_view columns_of(const Case& c);

/// Bytes of each result.
[[nodiscard]] std::size_t result_bytes_of(const Case& c);

/// Bytes that Entry::bits takes: those of the one result, or of a fingerprint.
[[nodiscard]] std::size_t bits_bytes_of(const Case& c);

/// `0x3c00`, with as many digits as these bytes have.
[[nodiscard]] std::string bits_text(const Case& c, std::uint64_t bits);

/// The dtype of the results, or `u64`.
[[nodiscard]] std::string_view output_text(const Case& c);

/// `nan=ignore`, `ddof=1`, `each` or `-`.
[[nodiscard]] std::string option_text(const Case& c);

[[nodiscard]] std::string line_of(const Entry& entry);

/// Takes the text of one file, or of both, one behind the other. Throws std::runtime_error, naming
/// the line, when that is no such table.
[[nodiscard]] Table parse_table(std::string_view text);

/// The text of both files, as they were when this was built.
[[nodiscard]] std::string_view embedded_table() noexcept;

} // namespace detreduce::golden
