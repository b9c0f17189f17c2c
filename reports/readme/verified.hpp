// On which machines was it verified: what the results of `./dev gpu` and `detreduce report` say, in
// one table.
#pragma once

#include <string>

#include "table.hpp"

namespace detreduce::readme {

/// A line a verdict of summary.txt, with the machine of provenance.txt.
[[nodiscard]] report::Table runs_table(const std::string& provenance, const std::string& summary,
                                       const std::string& commit);

/// A line for the run of `detreduce report` that gave these results, with what it found of what is
/// promised.
void add_report(report::Table& table, const report::Results& results);

/// The lines "note: …" of summary.txt, as a list; empty: there are none.
[[nodiscard]] std::string notes_of(const std::string& summary);

} // namespace detreduce::readme
