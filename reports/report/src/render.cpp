#include "render.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "text.hpp"

namespace detreduce::report {

bool is_ladder_alone(const Results& results) {
    return !results.ladder.empty() && results.error.empty() && results.edges.empty() && results.determinism.empty() &&
           results.data.empty() && results.reference.empty() && results.cost.empty() && results.op_cost.empty();
}

namespace {

// The rows of one list, as a file of their own where there are some.
struct CsvFile {
    const char* name;
    bool (*is_there)(const Results&);
    std::string (*text)(const Results&);
};

bool has_report(const Results& r) {
    return !is_ladder_alone(r);
}

constexpr CsvFile csv_files[] = {
    {"error.csv", has_report, error_csv},
    {"edges.csv", has_report, edges_csv},
    {"determinism.csv", has_report, determinism_csv},
    {"cost.csv", has_report, cost_csv},
    {"ladder.csv", [](const Results& r) { return !r.ladder.empty(); }, ladder_csv},
    {"data.csv", [](const Results& r) { return !r.data.empty(); }, data_csv},
    {"data-sums.csv", [](const Results& r) { return !r.data.empty(); }, data_sums_csv},
    {"reference.csv", [](const Results& r) { return !r.reference.empty(); }, reference_csv},
    {"op-cost.csv", [](const Results& r) { return !r.op_cost.empty(); }, op_cost_csv},
};
constexpr const char *bits_file = "comparison-bits.csv", *speed_file = "comparison-speed.csv";
constexpr const char *markdown_file = "report.md", *page_file = "index.html";

// What the ids of charts begin with, which are the names of their files.
constexpr const char* charts[] = {"summary-", "error-", "condition-", "determinism-", "cost-", "op-cost-", "ladder-"};

bool is_of_a_plot(const std::string& name) {
    return name.ends_with(".svg") && std::any_of(std::begin(charts), std::end(charts),
                                                 [&](const char* chart) { return name.starts_with(chart); });
}

struct File {
    std::string name, text;
};

void add_comparison(const Results& results, const std::vector<OtherRun>& others, std::vector<File>& files) {
    std::vector<ComparedBits> bits;
    std::vector<ComparedSpeed> speed;
    for (const Comparison& c : compare(results, others)) {
        bits.insert(bits.end(), c.bits.rows.begin(), c.bits.rows.end());
        speed.insert(speed.end(), c.speed.rows.begin(), c.speed.rows.end());
    }
    files.push_back({bits_file, compared_bits_csv(bits)});
    files.push_back({speed_file, compared_speed_csv(speed)});
}

// The bench's tables are of the same, and of another run.
bool times_ops_on_gpu(const Results& results) {
    if (results.provenance.mode != "full") return false; // fewer of them
    return std::any_of(results.op_cost.begin(), results.op_cost.end(),
                       [](const OpCostRow& r) { return r.device.starts_with("cuda"); });
}

// Of a study the reductions that it is about.
std::string title_of(const Results& results) {
    if (is_ladder_alone(results)) return "detreduce ladder";
    std::vector<std::string> names = own_names(results);
    if (names.empty()) return "detreduce report";
    constexpr std::size_t most = 4;
    const std::size_t more = names.size() > most ? names.size() - most : 0;
    names.resize(names.size() - more);
    return fmt::format("Report on {}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

} // namespace

Page make_page(const Results& results, const std::vector<BenchFile>& bench, const std::vector<OtherRun>& others) {
    const Provenance& p = results.provenance;
    const bool ladder_alone = is_ladder_alone(results);
    Page page{title_of(results), "", p, {}, {}};
    const std::string where = p.gpu ? fmt::format("{} ({}), host {}", p.gpu->name, p.device, p.cpu)
                                    : fmt::format("{} ({} threads), CPU backend", p.cpu, p.cpu_threads);
    page.summary = fmt::format("{}. {} run of {}, detreduce {}, spec_version {}, commit {}{}.", where,
                               p.mode == "quick" ? "Quick" : "Full", p.created, p.version, p.spec_version,
                               p.commit.substr(0, 12), p.dirty ? " (changed)" : "");
    if (!ladder_alone)
        page.sections = {summary_section(results),     methods_section(),
                         error_section(results),       edges_section(results),
                         determinism_section(results), cost_section(results)};
    if (!results.op_cost.empty()) page.sections.push_back(op_cost_section(results));
    if (!results.data.empty()) page.sections.push_back(data_section(results));
    if (!others.empty()) page.sections.push_back(comparison_section(results, others));
    if (!results.ladder.empty()) page.sections.push_back(ladder_section(results));
    if (!bench.empty() && !times_ops_on_gpu(results)) page.sections.push_back(bench_section(bench));
    for (const Section& section : page.sections) {
        std::vector<Plot>& plots = page.plots.emplace_back();
        for (const LineChart& chart : section.line_charts)
            plots.push_back(draw(chart));
        for (const DotChart& chart : section.dot_charts)
            plots.push_back(draw(chart));
        std::erase_if(plots, [](const Plot& plot) { return plot.svg.empty(); });
    }
    return page;
}

void render(const Results& results, const OutputDirectory& out, const std::vector<BenchFile>& bench,
            const std::vector<OtherRun>& others) {
    const Page page = make_page(results, bench, others);
    std::vector<File> files;
    for (const auto& plots : page.plots)
        for (const Plot& plot : plots)
            files.push_back({plot.id + ".svg", standalone_svg(plot)});
    for (const CsvFile& csv : csv_files)
        if (csv.is_there(results)) files.push_back({csv.name, csv.text(results)});
    if (!others.empty()) add_comparison(results, others, files);
    for (const BenchFile& file : bench) {
        Results rows;
        rows.cost = file.rows;
        files.push_back({file.name, cost_csv(rows)});
    }
    files.push_back({markdown_file, markdown(page)});
    files.push_back({page_file, html(page)});
    for (const File& file : files)
        out.require_writable(file.name);
    for (const File& file : files)
        out.write(file.name, file.text);
}

void require_renderable(const Results& expected, const OutputDirectory& out, bool compared) {
    for (const CsvFile& csv : csv_files)
        if (csv.is_there(expected)) out.require_writable(csv.name);
    if (compared)
        for (const char* name : {bits_file, speed_file})
            out.require_writable(name);
    for (const char* name : {markdown_file, page_file})
        out.require_writable(name);
    for (const std::string& name : out.names())
        if (is_of_a_plot(name)) out.require_writable(name);
}

} // namespace detreduce::report
