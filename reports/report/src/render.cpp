#include "render.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "files.hpp"
#include "text.hpp"

namespace detreduce::report {

bool is_ladder_alone(const Results& results) {
    return !results.ladder.empty() && results.error.empty() && results.edges.empty() && results.determinism.empty() &&
           results.data.empty() && results.reference.empty() && results.cost.empty() && results.op_cost.empty();
}

namespace {

void write_comparison(const Results& results, const std::vector<OtherRun>& others, const std::filesystem::path& dir) {
    std::vector<ComparedBits> bits;
    std::vector<ComparedSpeed> speed;
    for (const Comparison& c : compare(results, others)) {
        bits.insert(bits.end(), c.bits.rows.begin(), c.bits.rows.end());
        speed.insert(speed.end(), c.speed.rows.begin(), c.speed.rows.end());
    }
    write_file(dir / "comparison-bits.csv", compared_bits_csv(bits));
    write_file(dir / "comparison-speed.csv", compared_speed_csv(speed));
}

// The bench's tables are of the same, and of another run.
bool times_ops_on_gpu(const Results& results) {
    if (results.provenance.mode != "full") return false; // fewer of them
    return std::any_of(results.op_cost.begin(), results.op_cost.end(),
                       [](const OpCostRow& r) { return r.device.starts_with("cuda"); });
}

} // namespace

Page make_page(const Results& results, const std::vector<BenchFile>& bench, const std::vector<OtherRun>& others) {
    const Provenance& p = results.provenance;
    const bool ladder_alone = is_ladder_alone(results);
    Page page{ladder_alone ? "detreduce ladder" : "detreduce report", "", p, {}, {}};
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

void render(const Results& results, const std::filesystem::path& dir, const std::vector<BenchFile>& bench,
            const std::vector<OtherRun>& others) {
    const Page page = make_page(results, bench, others);
    for (const auto& plots : page.plots)
        for (const Plot& plot : plots)
            write_file(dir / (plot.id + ".svg"), standalone_svg(plot));
    if (!is_ladder_alone(results)) {
        write_file(dir / "error.csv", error_csv(results));
        write_file(dir / "edges.csv", edges_csv(results));
        write_file(dir / "determinism.csv", determinism_csv(results));
        write_file(dir / "cost.csv", cost_csv(results));
    }
    if (!results.ladder.empty()) write_file(dir / "ladder.csv", ladder_csv(results));
    if (!results.data.empty()) {
        write_file(dir / "data.csv", data_csv(results));
        write_file(dir / "data-sums.csv", data_sums_csv(results));
    }
    if (!results.reference.empty()) write_file(dir / "reference.csv", reference_csv(results));
    if (!results.op_cost.empty()) write_file(dir / "op-cost.csv", op_cost_csv(results));
    if (!others.empty()) write_comparison(results, others, dir);
    for (const BenchFile& file : bench) {
        Results rows;
        rows.cost = file.rows;
        write_file(dir / file.name, cost_csv(rows));
    }
    write_file(dir / "report.md", markdown(page));
    write_file(dir / "index.html", html(page));
}

} // namespace detreduce::report
