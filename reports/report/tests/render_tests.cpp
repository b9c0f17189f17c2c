// Pages from a fixed set of results.
#include <support/catch.hpp>

#include <limits>
#include <map>

#include "failure.hpp"
#include "files.hpp"
#include "gnuplot.hpp"
#include "json.hpp"
#include "page_style.hpp"
#include "render.hpp"
#include "sample.hpp"
#include "text.hpp"

using namespace report_test;
using namespace detreduce::report;
namespace fs = std::filesystem;

namespace {

std::map<std::string, std::string> files_in(const fs::path& dir) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(dir))
        files[entry.path().filename().string()] = contents(entry.path());
    return files;
}

std::map<std::string, std::string> rendered(const Results& results) {
    const TemporaryDirectory dir;
    render(results, dir.path());
    return files_in(dir.path());
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
        ++found;
    return found;
}

/// The page without its plots: those tests need no gnuplot.
Page undrawn(const Results& results) {
    return {"detreduce report",
            "summary",
            results.provenance,
            {methods_section(), error_section(results), edges_section(results), determinism_section(results),
             cost_section(results)},
            std::vector<std::vector<Plot>>(5)};
}

} // namespace

TEST_CASE("the same results give the same bytes", "[report]") {
    REQUIRE(can_draw());
    const auto first = rendered(sample());
    CHECK(first == rendered(from_json(to_json(sample()), "test")));
    for (const char* name :
         {"index.html", "report.md", "error.csv", "edges.csv", "determinism.csv", "cost.csv", "op-cost.csv",
          "error-f32.svg", "cost-f32.svg", "determinism-f32.svg", "condition-f32.svg", "error-bf16-to-f32.svg"})
        CHECK(first.count(name) == 1);
}

TEST_CASE("the page asks for nothing from elsewhere", "[report]") {
    REQUIRE(can_draw());
    const std::string page = rendered(sample())["index.html"];
    CHECK(count(page, "<svg ") == 13); // of ops: two of dot, two of softmax
    for (const char* outside : {"<link", "<img", "<iframe", "@import", "url(", "src="})
        CHECK(count(page, outside) == 0);
    CHECK(count(page, "<script") == 1);
    CHECK(count(page, page_script()) == 1);
    CHECK(count(page, "http") == count(page, "http://www.w3.org/")); // names of XML namespaces, which are not fetched
    CHECK(count(page, "prefers-color-scheme:dark") == 1);
    CHECK(count(page, "name=\"viewport\"") == 1);
}

TEST_CASE("nothing in a results file gets out as code or as a path", "[report]") {
    REQUIRE(can_draw());
    const auto before = fs::current_path();
    const TemporaryDirectory dir;
    fs::current_path(dir.path());
    fs::create_directory("out");
    Results results = sample();
    results.error.back().subject.dtype = "../escaped";
    render(results, "out");
    const auto files = files_in(dir.path() / "out");
    fs::current_path(before);
    CHECK(count(files.at("index.html"), "<script") == 1); // the page's own
    CHECK(count(files.at("report.md"), "<script") == 0);
    CHECK_FALSE(fs::exists(dir.path() / "pwned"));
    CHECK_FALSE(fs::exists(dir.path() / "out" / "pwned"));
    for (const auto& entry : fs::directory_iterator(dir.path()))
        CHECK(entry.path().filename() == "out");
}

TEST_CASE("each table has its rows, in HTML and in Markdown", "[report]") {
    const Page page = undrawn(sample());
    for (const std::string& text : {html(page), markdown(page)}) {
        for (const char* part : {"lognormal",
                                 "alternating",
                                 "2¹⁶",
                                 "77 777",
                                 "f32 tree",
                                 "f32 atomic",
                                 "f32 serial (cpu)",
                                 "1 in 100",
                                 "37 in 100",
                                 "≤ 12 ulp apart",
                                 "0.764 × read",
                                 "6.88 µs ± 2.0 %",
                                 "128 KiB",
                                 "3 of 3 right",
                                 "2e+300",
                                 "serial (cpu)",
                                 "bf16 to f32",
                                 "Right answers: exact 1 of 1",
                                 "0.500",
                                 "23.8 GB/s",
                                 "Some GPU",
                                 "0123456789abcdef"}) {
            INFO(part);
            CHECK(count(text, part) >= 1);
        }
    }
}

TEST_CASE("green only where a promise was measured and kept", "[report]") {
    const Results results = sample();
    const Table table = determinism_section(results).tables.front();
    const auto mood = [&](const std::string& row, const std::string& column) {
        std::size_t at = 0;
        while (table.columns.at(at).title != column)
            ++at;
        for (const auto& cells : table.rows)
            if (cells.front().text == row) return cells.at(at).mood;
        throw std::out_of_range(row);
    };
    CHECK(mood("f32 tree", "repeated runs") == Mood::good);
    CHECK(mood("f32 tree", "grids") == Mood::absent); // promised, but nobody looked
    CHECK(mood("f32 tree", "permutations") == Mood::absent);
    CHECK(mood("f32 atomic", "repeated runs") == Mood::notable);
    CHECK(mood("f32 serial (cpu)", "repeated runs") == Mood::bad);
    CHECK(mood(std::string("f32 ") + nasty + "", "permutations") == Mood::plain); // one pattern by luck
    // one here, one correctly rounded sum, one edge case
    CHECK(count(html(undrawn(results)), "class=\"good f\"") == 3);
    CHECK(count(markdown(undrawn(results)), "✓") == 3);
    CHECK(determinism_section(results).findings.front().find("BROKEN") != std::string::npos);
}

TEST_CASE("the bits of a cell are shown, each with its count", "[report]") {
    Results results = sample();
    const auto lines = [&] { return determinism_section(results).tables.at(2).rows; };
    REQUIRE(lines().size() == 1); // the others have no patterns: a file of before they were kept
    CHECK(lines()[0][2].text == "repeated runs (100)");
    CHECK(lines()[0][3].text == "0x3f800001 × 60, 0x3f800000 × 5");
    CHECK(lines()[0][3].detail == "and 35 more");
    CHECK(count(html(undrawn(results)), "0x3f800001 × 60") == 1);
    for (DeterminismRow& r : results.determinism)
        if (r.subject.method == "tree") r.runs = 100, r.distinct = 1, r.patterns = {{"0x40000000", 100}};
    REQUIRE(lines().size() == 2);
    CHECK(lines()[0][2].text == "repeated runs (100), grids (100)"); // one pattern, one line
    CHECK(lines()[0][3].text == "0x40000000");
    results.determinism[1].patterns[0].bits = "0x40000001";
    CHECK(lines().size() == 3);
}

TEST_CASE("a report that ended early says so at its top", "[report]") {
    Results results = sample();
    for (const std::string& text : {html(undrawn(results)), markdown(undrawn(results))})
        CHECK(count(text, "Incomplete") == 0);
    results.provenance.incomplete = "interrupted at: <error>";
    const std::string page = html(undrawn(results)), text = markdown(undrawn(results));
    CHECK(page.find("Incomplete: interrupted at: &lt;error&gt;") < page.find("<main>"));
    CHECK(text.find("**Incomplete:** interrupted at") < text.find("## "));
}

TEST_CASE("costs of several devices are told apart", "[report]") {
    Results results = sample();
    CostRow cpu = results.cost[4]; // exact
    cpu.device = "cpu";
    cpu.variant = "1 thread";
    results.cost.push_back(cpu);
    const Section section = cost_section(results);
    const auto table =
        std::find_if(section.tables.begin(), section.tables.end(), [](const Table& t) { return t.id == "cost-f32"; });
    REQUIRE(table != section.tables.end());
    const auto column = [&](const std::string& title) {
        return std::count_if(table->columns.begin(), table->columns.end(),
                             [&](const Column& c) { return c.title == title; });
    };
    CHECK(column("exact") == 1);
    CHECK(column("exact, 1 thread, cpu") == 1);
    const auto chart = std::find_if(section.line_charts.begin(), section.line_charts.end(),
                                    [](const LineChart& c) { return c.id == "cost-f32-cpu-1-thread"; });
    REQUIRE(chart != section.line_charts.end());
    CHECK(chart->series.size() == 1);
}

TEST_CASE("error is drawn once a method, where it was under test", "[report]") {
    Results results = sample();
    const auto lines = [&] {
        std::string labels;
        const Section section = error_section(results);
        for (const Series& series : section.line_charts.front().series)
            labels += series.label + ";";
        return labels;
    };
    const std::string before = lines();
    CHECK(before.find("serial;") != std::string::npos);
    const Results again = sample();
    for (ErrorRow row : again.error) {
        row.subject.device = "cpu";
        results.error.push_back(row);
    }
    CHECK(lines() == before);
    std::erase_if(results.error,
                  [](const ErrorRow& r) { return r.subject.method == "serial" && r.subject.device != "cpu"; });
    CHECK(lines().find("serial (cpu);") != std::string::npos);
}

TEST_CASE("an error above its bound is called a defect", "[report]") {
    Results results = sample();
    CHECK(error_section(results).findings.front().find("within") != std::string::npos);
    results.error.front().error_over_bound = 1.5;
    CHECK(error_section(results).findings.front().find("ABOVE") != std::string::npos);
}

TEST_CASE("exact is praised only where it is the correctly rounded sum", "[report]") {
    Results results = sample();
    const auto praise = [&] { return error_section(results).findings.back(); };
    CHECK(praise() == "exact: correctly rounded? Yes, in all 3 sums; compared bit by bit with the oracle.");
    const auto row = std::find_if(results.error.begin(), results.error.end(),
                                  [](const ErrorRow& r) { return r.subject.method == "exact"; });
    row->correctly_rounded = 2;
    CHECK(praise() == "exact: NOT correctly rounded in 1 of 3 sums: a defect.");
    CHECK(count(html(undrawn(results)), "class=\"bad f\"") > count(html(undrawn(sample())), "class=\"bad f\""));
}

TEST_CASE("an edge case is green only where it is right", "[report]") {
    const Table table = edges_section(sample()).tables.front();
    REQUIRE(table.rows.size() == 2);
    REQUIRE(table.columns.size() == 6);
    const auto& row = table.rows.front();
    CHECK(row[1].text == "2e+300");
    CHECK(row[2].mood == Mood::good);
    CHECK(row[3].mood == Mood::notable);
    CHECK(row[4].text == "3.67e+260");
    CHECK(row[4].mood == Mood::notable);
    CHECK(row[5].mood == Mood::absent);
    CHECK(edges_section(sample()).findings.front().find("published") == std::string::npos); // not of this run
}

TEST_CASE("Markdown leaves long folded tables to the CSV files", "[report]") {
    Results results = sample();
    CHECK(count(markdown(undrawn(results)), "see the CSV files") == 0);
    results.error.insert(results.error.end(), 101, results.error.front());
    CHECK(count(markdown(undrawn(results)), "see the CSV files") == 1);
    CHECK(count(markdown(undrawn(results)), "\n| lognormal | 16 |") == 0);
    CHECK(count(html(undrawn(results)), ">lognormal</th>") > 101);
}

TEST_CASE("what is missing is a dash", "[report]") {
    const std::string page = html(undrawn(sample()));
    CHECK(count(page, "<td class=\"absent f\">—</td>") >= 3);
    CHECK(count(page, ">nan") == 0);
}

TEST_CASE("sections without rows say so", "[report]") {
    Results results;
    CHECK(count(html(undrawn(results)), "Not measured.") == 4);
    REQUIRE(can_draw());
    CHECK(count(rendered(results)["index.html"], "<svg ") == 0);
}

TEST_CASE("gnuplot's output is made fit for a page", "[report]") {
    const std::string svg =
        svg_for_page("a-b", "Title <1>",
                     "<?xml?>\n<svg \n viewBox=\"0 0 10 20\">\n<title>x</title>\n<g id=\"gnuplot_canvas\">\n"
                     "<filter id='textbox'>\n</filter>\n<g fill=\"none\">\n</g>\n<path id='gpPt0' stroke='rgb(  0, "
                     "114, 178)'/>\n</g>\n</svg>\n");
    CHECK(svg.starts_with("<svg viewBox=\"0 0 10 20\""));
    CHECK(count(svg, "Title &lt;1&gt;") == 1);
    CHECK(count(svg, "stroke='#0072b2'") == 1);
    CHECK(count(svg, "id='a-b-pt0'") == 1);
    CHECK(count(svg, "filter") == 0);
    CHECK(count(svg, "<g fill") == 0);
    CHECK_THROWS_AS(svg_for_page("x", "x", "no picture"), detreduce::program::Failure);
}

TEST_CASE("figures that no axis can show are left out of the plots", "[report]") {
    REQUIRE(can_draw());
    constexpr double inf = std::numeric_limits<double>::infinity();
    for (const double odd : {0.0, -1.0, 5e-324, 1e308, 1e200, 1e-300, inf, -inf}) {
        INFO(odd);
        Results results = sample();
        results.cost[0].n = 0;
        results.cost[1].gb_per_s = results.cost[1].ratio_to_read = odd;
        results.cost[2].gb_per_s = results.error[0].error_ulp = results.error[1].relative_error = odd;
        results.error[2].n = 0;
        results.determinism[0].distinct = 0;
        CHECK(count(rendered(results)["index.html"], "<svg ") >= 4);
    }
}
