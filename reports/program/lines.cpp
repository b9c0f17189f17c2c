#include "lines.hpp"

#include <cstring>

#include <fmt/format.h>

#include "failure.hpp"

namespace detreduce::program {

std::string_view without_blanks(std::string_view line) {
    const std::size_t first = line.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return line.substr(first, line.find_last_not_of(blanks) - first + 1);
}

std::string_view without_comment_and_blanks(std::string_view line) {
    return without_blanks(line.substr(0, line.find('#')));
}

bool EntryReader::next(std::string_view& entry) {
    for (std::string_view line; lines_.next(line);) {
        entry = without_comment_and_blanks(line);
        if (!entry.empty()) return true;
    }
    return false;
}

LineReader::LineReader(ByteSource& bytes) : bytes_(bytes), buffer_(first_buffer) {}

std::string LineReader::place() const {
    return fmt::format("{}, line {}", bytes_.name(), number_);
}

bool LineReader::next(std::string_view& line) {
    const void* newline = nullptr;
    while ((newline = std::memchr(buffer_.data() + begin_, '\n', end_ - begin_)) == nullptr) {
        if (!fill()) break;
    }
    if (begin_ == end_) return false;
    const char* const start = buffer_.data() + begin_;
    line = {start,
            newline ? static_cast<const char*>(newline) : buffer_.data() + end_}; // the last may lack its newline
    begin_ += line.size() + (newline ? 1 : 0);
    ++number_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    // the mark some editors put before UTF-8
    if (number_ == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    return true;
}

/// Moves the incomplete line to the front, makes room for more where it fills the buffer, and reads
/// that; false at the end of the source.
bool LineReader::fill() {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (end_ == longest_line) {
        throw Failure(fmt::format("{}, line {} is longer than {} bytes; allowed is one number a line", bytes_.name(),
                                  number_ + 1, longest_line));
    }
    if (end_ == buffer_.size()) buffer_.resize(2 * end_);
    const std::size_t got = bytes_.read(buffer_.data() + end_, buffer_.size() - end_);
    end_ += got;
    return got > 0;
}

} // namespace detreduce::program
