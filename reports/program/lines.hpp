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

/// Hands out the entries of a file, one after the other, without keeping the file in memory.
class EntryReader {
  public:
    explicit EntryReader(InputFile& file);

    /// The next entry; false at the end. `entry` is valid until the next call.
    bool next(std::string_view& entry);

    /// Where the last entry came from, for messages.
    [[nodiscard]] std::string place() const;

  private:
    bool next_line(std::string_view& line);
    bool fill();

    InputFile& file_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0, end_ = 0; // what has been read and not handed out
    std::uint64_t number_ = 0;
};

} // namespace detreduce::program
