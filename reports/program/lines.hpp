// The lines of a text file: one entry a line, blank lines and # comments skipped, LF or CRLF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "input.hpp"

namespace detreduce::program {

/// What may stand between an entry and the ends of its line.
inline constexpr std::string_view blanks = " \t\r\v\f";

/// The lines of a source, one after the other, without keeping it in memory. Line ends are LF or
/// CRLF.
class LineReader {
  public:
    static constexpr std::size_t first_buffer = std::size_t{1} << 16, longest_line = std::size_t{1} << 20; ///< bytes

    explicit LineReader(ByteSource& bytes);

    /// The next line without what ends it; false at the end. `line` is valid until the next call.
    bool next(std::string_view& line);

    /// Where the last line came from, for messages.
    [[nodiscard]] std::string place() const;
    [[nodiscard]] std::uint64_t number() const { return number_; }
    [[nodiscard]] const std::string& name() const { return bytes_.name(); }

  private:
    bool fill();

    ByteSource& bytes_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0, end_ = 0; // what has been read and not handed out
    std::uint64_t number_ = 0;
};

/// `line` without a comment, and without blanks at its ends.
[[nodiscard]] std::string_view without_comment_and_blanks(std::string_view line);
[[nodiscard]] std::string_view without_blanks(std::string_view line);

/// Hands out the entries of a text, one after the other: what stands on lines that are neither
/// blank nor comments.
class EntryReader {
  public:
    explicit EntryReader(ByteSource& bytes) : lines_(bytes) {}

    /// The next entry; false at the end. `entry` is valid until the next call.
    bool next(std::string_view& entry);

    /// Where the last entry came from, for messages.
    [[nodiscard]] std::string place() const { return lines_.place(); }

    /// What else might be done about a text that is no number.
    [[nodiscard]] static std::string_view advice() { return ""; }

  private:
    LineReader lines_;
};

} // namespace detreduce::program
