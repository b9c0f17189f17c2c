// Where the figures of a results folder come from: its provenance.txt, which `./dev gpu` writes and
// people add to when they measure a file anew.
#pragma once

#include <string>

namespace detreduce::report {

struct Origin {
    std::string gpu, commit, date;
    friend bool operator==(const Origin&, const Origin&) = default;
};

/// Of `file`, by the text of provenance.txt: by the line "FILE, …: commit HASH, DATE" that names
/// it, or else by the folder's own commit and date. Throws program::Failure, naming `source`, when
/// there is none, or more than one.
[[nodiscard]] Origin origin_of(const std::string& file, const std::string& provenance, const std::string& source);

/// "NVIDIA H200, commit 0123456789 (with changes), 2026-11-22"
[[nodiscard]] std::string words_of(const Origin& origin);

} // namespace detreduce::report
