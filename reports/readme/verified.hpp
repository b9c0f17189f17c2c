// On which machines was it verified: what the results of `./dev gpu` and `detreduce report` say.
#pragma once

#include <string>
#include <vector>

#include "table.hpp"

namespace detreduce::readme {

/// A line a verdict of summary.txt; the caption is the machine, of provenance.txt. The commit is
/// `commit`, or that of a verdict whose remark ends in "at HASH".
[[nodiscard]] report::Table runs_table(const std::string& provenance, const std::string& summary,
                                       const std::string& commit);

/// A line for each run of `detreduce report`, with what it found of what is promised.
[[nodiscard]] report::Table reports_table(const std::vector<report::Results>& list);

/// The lines "note: …" of summary.txt, as a list; empty: there are none.
[[nodiscard]] std::string notes_of(const std::string& summary);

} // namespace detreduce::readme
