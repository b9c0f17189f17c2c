// From the model, and what the bench wrote beside it, to files. Reads nothing else: the same
// results give the same bytes.
#pragma once

#include <string>
#include <vector>

#include "files.hpp"
#include "model.hpp"
#include "published.hpp"
#include "table.hpp"

namespace detreduce::report {

/// Everything that is printed, put together once for all formats.
struct Page {
    std::string title;
    std::string summary; ///< where it ran, in one line
    Provenance provenance;
    std::vector<Section> sections;
    std::vector<std::vector<Plot>> plots; ///< one list a section
};

/// Of `detreduce ladder`, which measures nothing else.
[[nodiscard]] bool is_ladder_alone(const Results& results);

[[nodiscard]] Page make_page(const Results& results, const std::vector<BenchFile>& bench = {},
                             const std::vector<OtherRun>& others = {});

[[nodiscard]] std::string html(const Page& page);
[[nodiscard]] std::string markdown(const Page& page);
/// Its tables and findings without the plots, for a terminal: of the ladder.
[[nodiscard]] std::string markdown_tables(const Results& results);
[[nodiscard]] std::string error_csv(const Results& results);
[[nodiscard]] std::string edges_csv(const Results& results);
[[nodiscard]] std::string determinism_csv(const Results& results);
[[nodiscard]] std::string cost_csv(const Results& results);
[[nodiscard]] std::string ladder_csv(const Results& results);
[[nodiscard]] std::string data_csv(const Results& results);
[[nodiscard]] std::string data_sums_csv(const Results& results);
[[nodiscard]] std::string reference_csv(const Results& results);
[[nodiscard]] std::string op_cost_csv(const Results& results);
[[nodiscard]] std::string compared_bits_csv(const std::vector<ComparedBits>& rows);
[[nodiscard]] std::string compared_speed_csv(const std::vector<ComparedSpeed>& rows);
[[nodiscard]] std::string published_csv(const std::vector<PublishedRow>& rows);

/// A plot as a file of its own, for report.md: the page's SVG with its own style sheet.
[[nodiscard]] std::string standalone_svg(const Plot& plot);

/// Writes index.html, report.md, *.csv (of what was measured) and *.svg. Throws program::Failure,
/// before it writes anything where one of them cannot be replaced.
void render(const Results& results, const OutputDirectory& out, const std::vector<BenchFile>& bench = {},
            const std::vector<OtherRun>& others = {});

/// Throws program::Failure where render() would, as what is there cannot be replaced, of results
/// that have rows where `expected` has some: before minutes of measuring.
void require_renderable(const Results& expected, const OutputDirectory& out, bool compared);

} // namespace detreduce::report
