// Texts of results.json: what is read becomes a page, and what is not fails with a message. The
// first two bytes put another value, of another kind, in the place of one of the text's: mutations
// of bytes seldom do.
#include "pages.hpp"

namespace detreduce::fuzz {
namespace {

/// `text` with the value of its key number `which`, counted from 1, replaced; with 0, or more than
/// there are, as it is.
std::string with_another_value(std::string text, std::size_t which, std::size_t what) {
    constexpr std::string_view values[] = {
        "null",     "true", "0",   "-1", "1.5",  "1e999", "18446744073709551616", "1e-400", "\"\"",
        "\"-inf\"", "[]",   "[0]", "{}", "[{}]", "[[]]",  "9223372036854775807"};
    std::size_t key = 0;
    for (std::size_t at = 0; key < which && (at = text.find("\":", at)) != std::string::npos; at += 2) {
        if (++key < which) continue;
        const std::size_t begin = at + 2, end = text.find_first_of(",}]", begin);
        if (end != std::string::npos) text.replace(begin, end - begin, values[what % std::size(values)]);
        break;
    }
    return text;
}

} // namespace
} // namespace detreduce::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace detreduce;
    if (size < 2) return 0;
    const std::string text({reinterpret_cast<const char*>(data + 2), size - 2});
    report::Results results;
    try {
        results = report::from_json(fuzz::with_another_value(text, data[0], data[1]), "fuzz");
    } catch (const program::Failure& failure) {
        fuzz::require(*failure.what() != '\0', "a failure says what failed");
        return 0;
    }
    fuzz::require_reads_back(results);
    fuzz::write_pages(results, {{"fuzz.json", results}});
    return 0;
}
