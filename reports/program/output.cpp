#include "output.hpp"

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
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\n') {
            line += "\\n";
        } else if (c == '\t') {
            line += "\\t";
        } else if (byte < 0x20 || byte == 0x7f) {
            line += fmt::format("\\x{:02x}", byte);
        } else {
            line += c; // bytes above 0x7f are UTF-8 and stay
        }
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
