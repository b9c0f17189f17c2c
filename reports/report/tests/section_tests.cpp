// Sections of a page from a fixed set of results: what their colours, tables and findings say.
#include <support/catch.hpp>

#include <algorithm>
#include <stdexcept>

#include <detreduce/accuracy/bounds.hpp>

#include "sample.hpp"
#include "undrawn.hpp"

using namespace report_test;
using namespace detreduce::report;

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
    // promised, but nobody looked: the table of axes says so
    CHECK(std::none_of(table.columns.begin(), table.columns.end(), [](const Column& c) { return c.title == "grids"; }));
    CHECK(mood("f32 tree", "permutations") == Mood::absent);
    CHECK(mood("f32 atomic", "repeated runs") == Mood::notable);
    CHECK(mood("f32 serial (cpu)", "repeated runs") == Mood::bad);
    CHECK(mood(std::string("f32 ") + nasty + "", "permutations") == Mood::plain); // one pattern by luck
    // one here, one correctly rounded sum, one edge case
    CHECK(count(html(undrawn(results)), "class=\"good f\"") == 3);
    CHECK(count(markdown(undrawn(results)), "✓") == 1 + 3); // the legend, and these
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
    REQUIRE(chart->series.size() == 1);
    CHECK(chart->series.front().label == "exact, cpu"); // the title says that it is one thread
}

TEST_CASE("cost: the largest size relative to reading, and one thread in cache", "[report]") {
    Results results;
    results.provenance.device = "cpu";
    const auto add = [&](const char* candidate, const char* variant, std::uint64_t n, double seconds, double ratio,
                         const char* data = plain_data) {
        results.cost.push_back({"f32", candidate, variant, "cpu", data, n, 4 * n, 9, seconds, 0.01,
                                4e-9 * static_cast<double>(n) / seconds, ratio});
    };
    add("read", "1 thread", 1024, 1e-7, 1);
    add("std::accumulate", "1 thread", 1024, 8e-7, 0.125);
    add("exact", "1 thread, avx2", 1024, 2e-7, 0.5);
    add("exact", "2 threads, avx2", 1024, 4e-7, 0.25);
    add("read", "1 thread", 4096, 4e-7, 1);
    add("exact", "1 thread, avx2", 4096, 8e-7, 0.5);
    add("exact", "1 thread, avx2", 4096, 1e-6, 0.4, "worst");
    add("tree", "1 thread", 4096, 5e-7, 0.8);
    const Section section = cost_section(results);
    CHECK(section.findings ==
          std::vector<std::string>{"f32, in cache (n = 2¹⁰), time of exact on 1 thread relative to std::accumulate: "
                                   "0.25 with avx2."});
    const Table& largest = section.tables.at(0);
    REQUIRE(largest.id == "cost-largest");
    REQUIRE(largest.columns.size() == 2);
    CHECK(largest.columns[1].title == "f32, n = 2¹²");
    REQUIRE(largest.rows.size() == 2);
    CHECK(largest.rows[0][0].text == "exact, 1 thread, avx2");
    CHECK(largest.rows[0][1].text == "0.500");
    CHECK(largest.rows[1][0].text == "tree, 1 thread");
    CHECK(largest.rows[1][1].text == "0.800");
    const Table& data = section.tables.at(1); // of what was timed on several kinds
    REQUIRE(data.id == "cost-data");
    REQUIRE(data.rows.size() == 1);
    CHECK(data.rows[0][0].text == "f32, n = 2¹², exact, 1 thread, avx2");
    CHECK(data.rows[0][1].text == "0.500");
    CHECK(data.rows[0][2].text == "0.400");
    const auto chart_of = [&](const std::string& id) {
        for (const LineChart& chart : section.line_charts)
            if (chart.id == id) return chart;
        throw std::out_of_range(id);
    };
    const LineChart speed = chart_of("cost-f32-1-thread"), ratio = chart_of("cost-ratio-f32-1-thread");
    REQUIRE(speed.series.size() == 4);
    CHECK(speed.series[0].label == "read");
    REQUIRE(ratio.series.size() == 3); // reading relative to itself says nothing
    CHECK(ratio.series[0].label == "std::accumulate");
    CHECK(ratio.series[1].points == std::vector<std::pair<double, double>>{{1024, 0.5}, {4096, 0.5}}); // plain data
}

TEST_CASE("all promised cells count, and each axis has its place in the plot", "[report]") {
    Results results = sample();
    const auto row = [&](const char* axis, std::uint64_t n, bool promised, std::int64_t distinct) {
        DeterminismRow r = results.determinism.front();
        r.axis = axis;
        r.n = n;
        r.promised = promised;
        r.runs = 100;
        r.distinct = distinct;
        r.patterns = {{"0x40000000", 100}};
        return r;
    };
    results.determinism = {row("repeated runs", 9, true, 1), row("grids", 9, true, 1), row("blocks", 8, true, 1),
                           row("permutations", 9, false, 1), row("splits", 9, false, 3)};
    const Section section = determinism_section(results);
    CHECK(section.findings.front() ==
          "All 3 cells in which a method promises one bit pattern showed one (500 runs in all).");
    CHECK(section.dot_charts.at(0).series.at(0).points ==
          std::vector<std::pair<double, double>>{{1, 0}, {1, 1}, {1, 2}, {1, 3}, {3, 4}});
    const Table& patterns = section.tables.at(2);
    REQUIRE(patterns.rows.size() == 3); // the same bits of other data are another line
    CHECK(patterns.rows[0][2].text == "repeated runs (100), grids (100), permutations (100)");
    CHECK(patterns.rows[1][2].text == "blocks (100)");
}

TEST_CASE("the error plots have lines for what is expected, of the family with most sizes", "[report]") {
    namespace accuracy = detreduce::accuracy;
    using detreduce::DType, detreduce::Method;
    Results results = sample();
    const ErrorRow tree = results.error.front();
    results.error.clear();
    const auto add = [&](const char* family, std::uint64_t n, double condition, double of_expected) {
        ErrorRow r = tree;
        r.family = family;
        r.n = n;
        const accuracy::ErrorBound e = accuracy::probabilistic_bound(Method::tree, DType::f32, DType::f32, n);
        r.condition = condition;
        r.bound = (e.of_sum + e.of_abs * condition) * of_expected;
        results.error.push_back(r);
        return *r.bound / of_expected;
    };
    for (int i = 0; i < 3; ++i)
        (void)add("normal", 1024, 1e6, 100); // many rows of one size
    const double expected = add("lognormal", 1 << 20, 1000, 10);
    (void)add("lognormal", 1 << 10, 1, 1); // where it says no more than the bound
    CHECK(error_section(results).line_charts.front().title == "Relative error of a sum of f32 (lognormal data)");
    bool drawn = false;
    const Section section = error_section(results);
    for (const Series& s : section.line_charts.front().series)
        if (s.label == "expected: tree") {
            drawn = true;
            CHECK(s.points == std::vector<std::pair<double, double>>{{1 << 20, expected}});
        }
    CHECK(drawn);
    const Table matrix = error_section(results).tables.front();
    REQUIRE(matrix.rows.size() == 2);
    CHECK(matrix.rows[1][1].text == "≤ 1.00e+03"); // the largest condition number
}

TEST_CASE("the closest to its bound is looked for among those that round", "[report]") {
    Results results = sample();
    for (ErrorRow& r : results.error)
        if (r.error_over_bound) r.error_over_bound = r.subject.method == "exact" ? 0.99 : 0.25;
    results.error.front().error_over_bound = 0.5;
    CHECK(error_section(results).findings.front().find(
              "the closest reaches 50 % of it (f32, tree, lognormal, n = 2⁴)") != std::string::npos);
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

TEST_CASE("an edge case is green only where it is right and was promised to be", "[report]") {
    Results results = sample();
    results.edges[1].right = true; // of serial, which promises nothing
    CHECK(edges_section(results).tables.front().rows.front()[3].mood == Mood::plain);
    results.edges[0].right = false; // of exact
    CHECK(edges_section(results).tables.front().rows.front()[2].mood == Mood::bad);

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
