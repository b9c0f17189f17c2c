// Texts of results.json: what is read becomes a page, and what is not fails with a message.
#include "pages.hpp"

namespace fuzz = detreduce::fuzz;
namespace report = detreduce::report;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    report::Results results;
    try {
        results = report::from_json(text, "fuzz");
    } catch (const detreduce::program::Failure& failure) {
        fuzz::require(*failure.what() != '\0', "a failure says what failed");
        return 0;
    }
    fuzz::require_reads_back(results);
    fuzz::write_pages(results, {{"fuzz.json", results}});
    return 0;
}
