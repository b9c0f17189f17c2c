#include "output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fmt/format.h>

#include "failure.hpp"

namespace detreduce::program {
namespace {

constexpr std::size_t longest_excerpt = 60; // bytes

[[noreturn]] void fail_to_write(int error) {
    const std::string why = error ? std::generic_category().message(error) : "write error";
    throw Failure(fmt::format("cannot write to standard output: {}", why));
}

// The bytes of the first character in UTF-8; 0: it begins with none. Well-formed as Unicode 15,
// table 3-7, says.
std::size_t length_of_character(std::string_view text) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const auto continues = [&](std::size_t i) { return byte(i) >= 0x80 && byte(i) <= 0xbf; };
    const unsigned first = byte(0), second = byte(1);
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
        const bool allowed = second >= (first == 0xe0 ? 0xa0u : 0x80u) && second <= (first == 0xed ? 0x9fu : 0xbfu);
        return allowed && continues(2) ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        const bool allowed = second >= (first == 0xf0 ? 0x90u : 0x80u) && second <= (first == 0xf4 ? 0x8fu : 0xbfu);
        return allowed && continues(2) && continues(3) ? 4 : 0;
    }
    return 0;
}

} // namespace

void print(std::string_view text) {
    errno = 0;
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail_to_write(errno);
}

void finish_output() {
    errno = 0;
    if (std::fflush(stdout) != 0) fail_to_write(errno);
    if (std::ferror(stdout)) fail_to_write(0); // an earlier write failed and nobody looked
}

void print_error(std::string_view text) noexcept {
    [[maybe_unused]] const std::size_t written = std::fwrite(text.data(), 1, text.size(), stderr);
}

std::string one_line(std::string_view text) {
    std::string line;
    while (!text.empty()) {
        const std::size_t size = length_of_character(text);
        const auto byte = static_cast<unsigned char>(text[0]);
        if (text[0] == '\n') {
            line += "\\n";
        } else if (text[0] == '\t') {
            line += "\\t";
        } else if (size == 0 || byte < 0x20 || byte == 0x7f) {
            line += fmt::format("\\x{:02x}", byte);
        } else if (size == 2 && byte == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0) { // U+0080 to U+009F
            line += fmt::format("\\x{:02x}\\x{:02x}", byte, static_cast<unsigned char>(text[1]));
        } else {
            line += text.substr(0, size);
        }
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return line;
}

std::string in_quotes(std::string_view text) {
    return fmt::format("'{}'", one_line(text)); // on one line already here: an exception's text would end at a NUL
}

std::string excerpt(std::string_view text) {
    if (text.size() <= longest_excerpt) return in_quotes(text);
    std::size_t end = longest_excerpt;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
        --end; // not within a character of UTF-8
    return fmt::format("'{}…'", one_line(text.substr(0, end)));
}

} // namespace detreduce::program
