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

} // namespace

Table runs_table(const std::string& provenance, const std::string& summary, const std::string& commit) {
    Table table{"verified",
                "Where it was verified",
                {{"GPU", false},
                 {"CPU", false},
                 {"compiler, toolkit", false},
                 {"what ran", false},
                 {"how it ended", false},
                 {"commit", false}},
                {}};
    const std::string gpu = gpu_of(value_of(provenance, "gpu")), cpu = value_of(provenance, "cpu"),
                      nvcc = value_of(provenance, "nvcc");
    static const std::regex verdict(R"((PASS|FAIL) (.*?\S)(?:\s{2,}(.*))?)"), why(R"([^(]*\((.*)\))");
    std::smatch part, reason;
    for (const std::string& line : lines_of(summary)) {
        if (!std::regex_match(line, part, verdict)) continue;
        const std::string rest = part[3];
        std::string ended = part[1] == "PASS" ? "passed" : "FAILED";
        if (std::regex_match(rest, reason, why)) ended += ": " + reason[1].str();
        // The machine, once for all of its lines.
        const std::vector<Cell> machine = table.rows.empty()
                                              ? std::vector<Cell>{{gpu}, {cpu}, {nvcc.empty() ? "" : "nvcc " + nvcc}}
                                              : std::vector<Cell>(3);
        std::vector<Cell>& row = table.rows.emplace_back(machine);
        row.insert(row.end(), {{part[2]}, {ended}, {commit}});
    }
    return table;
}

void add_report(Table& table, const Results& results) {
    const Provenance& p = results.provenance;
    table.rows.push_back({{p.gpu ? p.gpu->name : "none"},
                          {fmt::format("{}, {}", p.cpu, p.isa)},
                          {p.compiler},
                          {code(p.command)},
                          {words_of(proof_of(results))},
                          {p.commit.substr(0, 9)}});
}

std::string notes_of(const std::string& summary) {
    static const std::string note = "note: ";
    std::string text;
    for (const std::string& line : lines_of(summary))
        if (line.starts_with(note)) text += "\n- " + line.substr(note.size());
    return text.empty() ? "" : text + "\n";
}

} // namespace detreduce::readme
