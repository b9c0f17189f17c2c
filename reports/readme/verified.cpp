#include "verified.hpp"

#include <regex>
#include <sstream>

#include <fmt/format.h>

#include "sum_tables.hpp"
#include "summary.hpp"

namespace detreduce::readme {
namespace {

using namespace report;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

// What stands behind the first word of the line that begins with it; empty: there is none.
std::string value_of(const std::string& provenance, const std::string& word) {
    const std::regex wanted(word + R"(\s+(.*))");
    std::smatch part;
    for (const std::string& line : lines_of(provenance))
        if (std::regex_match(line, part, wanted)) return part[1];
    return "";
}

// "NVIDIA H200, driver 580.159.04" of "NVIDIA H200, 580.159.04, 143771 MiB, 9.0"
std::string gpu_of(const std::string& value) {
    static const std::regex wanted(R"(([^,]+), ([^,]+),.*)");
    std::smatch part;
    return std::regex_match(value, part, wanted) ? fmt::format("{}, driver {}", part[1].str(), part[2].str()) : value;
}

// A command whose line may end before each of its options.
std::string option_by_option(const std::string& command) {
    static const std::regex option(" --");
    return code(std::regex_replace(command, option, "` `--"));
}

} // namespace

Table runs_table(const std::string& provenance, const std::string& summary, const std::string& commit) {
    std::string machine = gpu_of(value_of(provenance, "gpu")) + "; " + value_of(provenance, "cpu");
    if (const std::string nvcc = value_of(provenance, "nvcc"); !nvcc.empty()) machine += "; nvcc " + nvcc;
    Table table{"verified", machine, {{"what ran", false}, {"how it ended", false}, {"commit", false}}, {}};
    static const std::regex verdict(R"((PASS|FAIL) (.*?\S)(?:\s{2,}(.*))?)"), why(R"([^(]*\((.*)\))"),
        of_another_commit(R"((?:(.*); )?at ([0-9a-f]{7,40}))");
    std::smatch part, reason, other;
    for (const std::string& line : lines_of(summary)) {
        if (!std::regex_match(line, part, verdict)) continue;
        const std::string rest = part[3];
        std::string ended = part[1] == "PASS" ? "passed" : "FAILED", its_commit = commit;
        if (std::regex_match(rest, reason, why)) {
            std::string words = reason[1];
            if (std::regex_match(reason[1].first, reason[1].second, other, of_another_commit)) {
                words = other[1];
                its_commit = other[2].str().substr(0, 9);
            }
            if (!words.empty()) ended += ": " + words;
        }
        table.rows.push_back({{part[2]}, {ended}, {its_commit}});
    }
    return table;
}

Table reports_table(const std::vector<Results>& list) {
    Table table{"reports",
                "What reports found",
                {{"GPU", false},
                 {"CPU", false},
                 {"compiler, toolkit", false},
                 {"what ran", false},
                 {"how it ended", false},
                 {"commit", false}},
                {}};
    for (const Results& results : list) {
        const Provenance& p = results.provenance;
        table.rows.push_back({{p.gpu ? p.gpu->name : "none"},
                              {fmt::format("{}, {}", p.cpu, p.isa)},
                              {p.compiler},
                              {option_by_option(p.command)},
                              {words_of(proof_of(results))},
                              {p.commit.substr(0, 9)}});
    }
    return table;
}

std::string notes_of(const std::string& summary) {
    static const std::string note = "note: ";
    std::string text;
    for (const std::string& line : lines_of(summary))
        if (line.starts_with(note)) text += "\n- " + line.substr(note.size());
    return text.empty() ? "" : text + "\n";
}

} // namespace detreduce::readme
