// From results to everything that is made of them, but for gnuplot, in whose place no_gnuplot.cpp
// is.
#pragma once

#include <string>
#include <vector>

#include <failure.hpp>
#include <json.hpp>
#include <render.hpp>

#include "fuzz.hpp"

namespace detreduce::fuzz {

/// Writes the page and all tables, to memory.
inline void write_pages(const report::Results& results, const std::vector<report::OtherRun>& others) {
    const report::Page page = report::make_page(results, {}, others);
    const std::string html = report::html(page), markdown = report::markdown(page);
    for (const std::string* const text : {&html, &markdown})
        for (const char c : *text)
            require(c < 0 || c >= ' ' || c == '\n' || c == '\t', "pages have no control characters");
    std::size_t scripts = 0;
    for (std::size_t at = 0; (at = html.find("<script", at)) != std::string::npos; ++at)
        ++scripts;
    require(scripts == 1, "a page has no script but its own");
    require(markdown.find("<script") == std::string::npos, "Markdown has no script");
    if (report::is_ladder_alone(results)) (void)report::markdown_tables(results);
    for (const auto& csv :
         {report::error_csv(results), report::edges_csv(results), report::determinism_csv(results),
          report::cost_csv(results), report::ladder_csv(results), report::data_csv(results),
          report::data_sums_csv(results), report::reference_csv(results), report::op_cost_csv(results)})
        require(csv.ends_with('\n'), "a table has a header");
    for (const report::Comparison& c : report::compare(results, others)) {
        (void)report::compared_bits_csv(c.bits.rows);
        (void)report::compared_speed_csv(c.speed.rows);
    }
}

/// What is written reads back, and is then written the same.
inline report::Results require_reads_back(const report::Results& results) {
    const std::string text = report::to_json(results);
    try {
        report::Results again = report::from_json(text, "fuzz");
        require(report::to_json(again) == text, "what is read back is written as it was", text);
        return again;
    } catch (const program::Failure& failure) {
        require(false, "what is written reads back", failure.what());
    }
    return {};
}

} // namespace detreduce::fuzz
