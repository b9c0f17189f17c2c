#include "several_machines.hpp"

#include <vector>

#include "failure.hpp"
#include "json.hpp"
#include "markdown_table.hpp"
#include "rank_tables.hpp"
#include "verified.hpp"

namespace detreduce::readme {

using namespace report;

namespace {

/// Adds the rows of another machine's table.
void append(Table& table, const Table& more) {
    if (table.columns.empty()) {
        table = more;
    } else {
        table.rows.insert(table.rows.end(), more.rows.begin(), more.rows.end());
    }
}

} // namespace

std::string ranks(const Folder& folder) {
    Table table;
    std::string sources;
    for (const Folder& f : folder.all_beside()) {
        if (!f.has(results_file)) continue;
        const Results results = f.results();
        const Table more = rank_table(results);
        if (more.rows.empty()) continue;
        append(table, more);
        const Provenance& p = results.provenance;
        sources += fmt::format("{}{}: {}, commit {}, {}", sources.empty() ? "" : "; ", f.link_with_folder(results_file),
                               p.gpu ? p.gpu->name : p.cpu, p.commit.substr(0, 9), p.created.substr(0, 10));
    }
    if (sources.empty()) return "Sums by several ranks were not measured.\n";
    return fmt::format("Bit patterns of one sum of normal data, by so many different numbers of ranks.\nFrom {}.\n\n",
                       sources) +
           markdown(table);
}

std::string gpus(const Folder& folder) {
    const char* const file = "nccl.txt";
    Table table;
    std::string sources, notes;
    for (const Folder& f : folder.all_beside()) {
        const std::filesystem::path source = f.path / file;
        if (!f.has(file) || !f.has("provenance.txt")) continue; // that of edge-cases is another
        const std::string provenance = (f.path / "provenance.txt").string();
        append(table, gpu_scaling_table(read_file(source), source.string(),
                                        origin_of(file, read_file(provenance), provenance).gpu));
        sources += fmt::format("{}{}: {}", sources.empty() ? "" : "; ", f.link_with_folder(file), f.origin(file));
        notes += notes_of(read_file(source));
    }
    if (sources.empty()) return "Sums by several GPUs were not timed.\n";
    return fmt::format("`exact` over NCCL. More than both: what the sum of all costs above the sum of one and an "
                       "all-reduce of as many bytes.\nFrom {}.\n\n",
                       sources) +
           markdown(table) + notes;
}

std::string processes(const Folder& folder) {
    std::string text;
    for (const Folder& f : folder.all_beside()) {
        const char* const file = "mpi.txt";
        if (f.has(file)) text += printed_table(f.printed_in(file), f.link_with_folder(file));
    }
    return text.empty() ? "Processes beside threads were not timed.\n" : text;
}

std::string verified(const Folder& folder) {
    std::string text, sources;
    std::vector<Results> reports;
    for (const Folder& f : folder.all_beside()) {
        if (!f.has("summary.txt")) continue;
        const std::string summary = read_file(f.path / "summary.txt");
        const Table table = runs_table(read_file(f.path / "provenance.txt"), summary, f.origin_commit("summary.txt"));
        text += fmt::format("**{}** ({}, {}):\n\n{}{}\n", table.caption, f.link_with_folder("provenance.txt"),
                            f.link_with_folder("summary.txt"), markdown(table), notes_of(summary));
    }
    if (text.empty()) throw program::Failure("there is no folder of results with a summary.txt");
    for (const Folder& f : folder.all_beside()) {
        if (!f.has(results_file)) continue;
        reports.push_back(f.results());
        sources += (sources.empty() ? "" : ", ") + f.link_with_folder(results_file);
    }
    return text + fmt::format("What `detreduce report` found, from {}:\n\n", sources) +
           markdown(reports_table(reports));
}

} // namespace detreduce::readme
