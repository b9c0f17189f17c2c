// Text: one number a line, blank lines and # comments skipped, LF or CRLF.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <detreduce/fp/convert.hpp>

#include "failure.hpp"
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

/// The largest number of T, with digits enough to be no smaller than that.
template <class T>
std::string largest() {
    const auto bits = static_cast<fp::Bits<T>>(fp::infinity_bits<T> - 1);
    return shortest_decimal(fp::widen(fp::from_bits<T>(bits)));
}

template <class T>
[[noreturn]] void reject(const LineReader& lines, std::string_view text, Parsed why) {
    if (text.find_first_of(blanks) != std::string_view::npos) {
        throw Failure(
            fmt::format("{}: {} is more than one number; allowed is one number a line", lines.place(), excerpt(text)));
    }
    if (why == Parsed::too_large) {
        throw Failure(fmt::format("{}: {} is too large for {}; allowed are -{max} to {max}, inf and -inf",
                                  lines.place(), excerpt(text), name(dtype_of<T>), fmt::arg("max", largest<T>())));
    }
    throw Failure(
        fmt::format("{}: {} is not a number; allowed are decimal (-1.5e3), hexadecimal (0x1.8p+1), nan, inf and -inf",
                    lines.place(), excerpt(text)));
}

/// f(number) for every number of the file.
template <class T, class F>
void for_each_number(InputFile& file, const F& f) {
    LineReader lines(file);
    bool first = true;
    for (std::string_view line; lines.next(line); first = false) {
        if (first && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3); // the mark some editors put before UTF-8
        const std::string_view text = without_comment_and_blanks(line);
        if (text.empty()) continue;
        T value{};
        if (const Parsed parsed = parse_number(text, value); parsed != Parsed::ok) reject<T>(lines, text, parsed);
        f(value);
    }
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
class TextFile : public NumberFile {
  public:
    explicit TextFile(const std::string& path) : file_(path) {}

    [[nodiscard]] DType dtype() const override { return dtype_of<T>; }

    [[nodiscard]] Numbers all() override {
        auto values = std::make_shared<std::vector<T>>();
        for_each_number<T>(file_, [&](T value) { append(*values, value); });
        return {dtype_of<T>, values->size(), values->data(), values};
    }

    void pour_into(Sink& sink) override {
        std::byte* block = sink.buffer();
        std::uint64_t in_block = 0, before = 0;
        const auto flush = [&] {
            before += in_block;
            require_countable(dtype_of<T>, before);
            sink.add(dtype_of<T>, in_block);
            in_block = 0;
        };
        for_each_number<T>(file_, [&](T value) {
            std::memcpy(block + in_block * sizeof(T), &value, sizeof(T));
            if (++in_block < Sink::block_bytes / sizeof(T)) return;
            flush();
            block = sink.buffer();
        });
        if (in_block > 0) flush();
    }

  private:
    InputFile file_;
};

} // namespace

std::unique_ptr<NumberFile> open_text(const std::string& path, DType dtype) {
    switch (dtype) {
    case DType::f16:
        return std::make_unique<TextFile<float16>>(path);
    case DType::bf16:
        return std::make_unique<TextFile<bfloat16>>(path);
    case DType::f32:
        return std::make_unique<TextFile<float>>(path);
    case DType::f64:
        return std::make_unique<TextFile<double>>(path);
    }
    throw Failure("unknown dtype");
}

} // namespace detreduce::program
