#include "lines.hpp"

#include <cstring>

#include <fmt/format.h>

#include "failure.hpp"

namespace detreduce::program {
namespace {

constexpr std::size_t first_buffer = std::size_t{1} << 16, longest_line = std::size_t{1} << 20;

std::string_view without_comment_and_blanks(std::string_view line) {
    line = line.substr(0, line.find('#'));
    const std::size_t first = line.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return line.substr(first, line.find_last_not_of(blanks) - first + 1);
}

} // namespace

EntryReader::EntryReader(InputFile& file) : file_(file), buffer_(first_buffer) {}

bool EntryReader::next(std::string_view& entry) {
    for (std::string_view line; next_line(line);) {
        // the mark some editors put before UTF-8
        if (number_ == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
        entry = without_comment_and_blanks(line);
        if (!entry.empty()) return true;
    }
    return false;
}

std::string EntryReader::place() const {
    return fmt::format("{}, line {}", file_.name(), number_);
}

/// The next line without its newline; false at the end.
bool EntryReader::next_line(std::string_view& line) {
    for (;;) {
        const char* const start = buffer_.data() + begin_;
        if (const void* newline = std::memchr(start, '\n', end_ - begin_)) {
            line = {start, static_cast<const char*>(newline)};
            begin_ += line.size() + 1;
            ++number_;
            return true;
        }
        if (!fill()) break;
    }
    if (begin_ == end_) return false;
    line = {buffer_.data() + begin_, end_ - begin_}; // the last line may lack its newline
    begin_ = end_;
    ++number_;
    return true;
}

/// Moves the incomplete line to the front, makes room for more where it fills the buffer, and reads that; false at the end of the file.
bool EntryReader::fill() {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (end_ == longest_line) {
        throw Failure(fmt::format("{}, line {} is longer than {} bytes; allowed is one number a line", file_.name(),
                                  number_ + 1, longest_line));
    }
    if (end_ == buffer_.size()) buffer_.resize(2 * end_);
    const std::size_t got = file_.read(buffer_.data() + end_, buffer_.size() - end_);
    end_ += got;
    return got > 0;
}

} // namespace detreduce::program
