// Text with one number a line: the first byte says of which dtype and how it is read.
#include <number_text.hpp>

#include "memory_file.hpp"

namespace detreduce::fuzz {
namespace {

/// The elements' bytes, line after line; nothing where one is no number.
template <class T>
std::optional<std::string> read_naively(std::string_view text) {
    std::string bytes;
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        line = line.substr(0, line.find('#'));
        constexpr std::string_view blanks = " \t\r\v\f";
        while (!line.empty() && blanks.find(line.front()) != std::string_view::npos)
            line.remove_prefix(1);
        while (!line.empty() && blanks.find(line.back()) != std::string_view::npos)
            line.remove_suffix(1);
        if (line.empty()) continue;
        T value{};
        if (program::parse_number(line, value) != program::Parsed::ok) return std::nullopt;
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    return bytes;
}

} // namespace
} // namespace detreduce::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace detreduce;
    static fuzz::MemoryFile memory;
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
    const DType dtype = dtypes()[data[0] / 4 % 4];
    const auto found = fuzz::require_one_reading(
        memory, bytes, data[0] % 4, [&](const std::string& path) { return program::open_text(path, dtype); });
    with_dtype(dtype, [&]<class T>(T) {
        fuzz::require(found == fuzz::read_naively<T>(bytes), "each line is a number", std::string(bytes));
    });
    return 0;
}
