// The page without its plots, for tests that need no gnuplot.
#pragma once

#include <string>

#include "render.hpp"

namespace report_test {

inline std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
        ++found;
    return found;
}

inline detreduce::report::Page undrawn(const detreduce::report::Results& results) {
    using namespace detreduce::report;
    return {"detreduce report",
            "summary",
            results.provenance,
            {methods_section(), error_section(results), edges_section(results), determinism_section(results),
             cost_section(results)},
            std::vector<std::vector<Plot>>(5)};
}

} // namespace report_test
