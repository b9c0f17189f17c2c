// Text: one number a line, blank lines and # comments skipped, LF or CRLF.
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "command.hpp"
#include "input.hpp"
#include "number_text.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

/// Hands out the lines of a file, one after the other, without keeping the file in memory.
class LineReader {
  public:
    explicit LineReader(InputFile& file) : file_(file), buffer_(longest_line) {}

    /// The next line without its newline; false at the end. `line` is valid until the next call.
    bool next(std::string_view& line) {
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

    /// Where the last line came from, for messages.
    [[nodiscard]] std::string place() const { return fmt::format("{}, line {}", file_.name(), number_); }

  private:
    static constexpr std::size_t longest_line = std::size_t{1} << 20;

    /// Moves the incomplete line to the front and reads more after it; false at the end of the file.
    bool fill() {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
        if (end_ == buffer_.size()) {
            throw Failure(fmt::format("{}, line {} is longer than {} bytes; allowed is one number a line", file_.name(),
                                      number_ + 1, longest_line));
        }
        const std::size_t got = file_.read(buffer_.data() + end_, buffer_.size() - end_);
        end_ += got;
        return got > 0;
    }

    InputFile& file_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0, end_ = 0; // what has been read and not handed out
    std::uint64_t number_ = 0;
};

constexpr std::string_view blanks = " \t\r\v\f";

std::string_view without_comment_and_blanks(std::string_view line) {
    line = line.substr(0, line.find('#'));
    const std::size_t first = line.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return line.substr(first, line.find_last_not_of(blanks) - first + 1);
}

template <class T>
[[noreturn]] void reject(const LineReader& lines, std::string_view text, Parsed why) {
    if (text.find_first_of(blanks) != std::string_view::npos) {
        throw Failure(
            fmt::format("{}: {} is more than one number; allowed is one number a line", lines.place(), excerpt(text)));
    }
    if (why == Parsed::too_large) {
        throw Failure(fmt::format("{}: {} is too large for {}; allowed are -{max} to {max}, inf and -inf",
                                  lines.place(), excerpt(text), name(dtype_of<T>),
                                  fmt::arg("max", shortest_decimal(std::numeric_limits<T>::max()))));
    }
    throw Failure(
        fmt::format("{}: {} is not a number; allowed are decimal (-1.5e3), hexadecimal (0x1.8p+1), nan, inf and -inf",
                    lines.place(), excerpt(text)));
}

template <class T>
void append(std::vector<T>& values, T value) {
    if (values.size() == values.capacity()) {
        const std::size_t capacity = std::max<std::size_t>(1024, 2 * values.capacity());
        require_memory(capacity * sizeof(T));
        values.reserve(capacity);
    }
    values.push_back(value);
}

template <class T>
Numbers read_as(InputFile& file) {
    auto values = std::make_shared<std::vector<T>>();
    LineReader lines(file);
    bool first = true;
    for (std::string_view line; lines.next(line); first = false) {
        if (first && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3); // the mark some editors put before UTF-8
        const std::string_view text = without_comment_and_blanks(line);
        if (text.empty()) continue;
        T value = 0;
        if (const Parsed parsed = parse_number(text, value); parsed != Parsed::ok) reject<T>(lines, text, parsed);
        append(*values, value);
    }
    return {dtype_of<T>, values->size(), values->data(), values};
}

} // namespace

Numbers read_text(InputFile& file, DType dtype) {
    return dtype == DType::f32 ? read_as<float>(file) : read_as<double>(file);
}

} // namespace detreduce::program
