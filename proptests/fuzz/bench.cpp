// The tables of detreduce_gpu_bench and the published figures, which `render` and README read, and
// the provenance beside them.
#include <origin.hpp>
#include <read_csv.hpp>

#include "pages.hpp"

namespace fuzz = detreduce::fuzz;
namespace report = detreduce::report;

namespace {

/// read(), if it can.
template <class Read>
auto result_of(const Read& read) -> std::optional<decltype(read())> {
    try {
        return read();
    } catch (const detreduce::program::Failure& failure) {
        fuzz::require(*failure.what() != '\0', "a failure says what failed");
        return std::nullopt;
    }
}

/// Rows after the header of their table, which nobody need guess.
std::string table_of(const std::string& header, std::string_view rows) {
    return header + std::string(rows);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    switch (data[0] % 3) {
    case 0:
        if (const auto rows =
                result_of([&] { return report::cost_from_csv(table_of(report::cost_csv({}), text), "fuzz"); })) {
            report::Results results;
            results.cost = *rows;
            const std::string written = report::cost_csv(results);
            const auto again = result_of([&] { return report::cost_from_csv(written, "fuzz"); });
            fuzz::require(again && again->size() == rows->size(), "what is written reads back", written);
            fuzz::write_pages(results, {});
        }
        break;
    case 1:
        (void)result_of([&] { return report::published_from_csv(table_of(report::published_csv({}), text), "fuzz"); });
        break;
    default:
        (void)result_of([&] { return report::words_of(report::origin_of("ops.csv", std::string(text), "fuzz")); });
    }
    return 0;
}
