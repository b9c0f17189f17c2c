// The summary: which figures of the other sections it takes.
#include <support/catch.hpp>

#include <algorithm>

#include "sample.hpp"
#include "render.hpp"
#include "summary.hpp"
#include "text.hpp"
#include "undrawn.hpp"

using namespace report_test;
using namespace detreduce::report;

namespace {

Subject of_f32(std::string method) {
    return {"sum", "flat", "f32", "f32", std::move(method), "cuda:0"};
}

const Answer& answer_to(const Section& section, const std::string& question) {
    const auto at = std::find_if(section.answers.begin(), section.answers.end(),
                                 [&](const Answer& a) { return a.question == question; });
    REQUIRE(at != section.answers.end());
    return *at;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

ErrorRow error(std::string method, Metric ulp, Metric condition, std::int64_t right) {
    ErrorRow r;
    r.subject = of_f32(std::move(method));
    r.trials = 3;
    r.correctly_rounded = right;
    r.error_ulp = ulp;
    r.condition = condition;
    return r;
}

CostRow cost(std::string candidate, std::uint64_t n, double seconds, double gb_per_s, double ratio) {
    return {"f32", std::move(candidate), "", "cuda:0", "normal", n, 4 * n, 9, seconds, 0.01, gb_per_s, ratio};
}

Results results() {
    Results r;
    r.provenance.device = "cuda:0";
    r.error = {error("tree", 9000.0, 1e6, 0), error("tree", 5.0, 100.0, 0), error("tree", 2.0, 1.0, 1),
               error("exact", 0.5, 1e6, 3)};
    ErrorRow other = error("tree", 7e7, 1.0, 0);
    other.subject.op = "dot"; // not a sum
    r.error.push_back(other);
    r.determinism = {{of_f32("tree"), "grids", "", "normal", 9, true, 100, 1, 0.0},
                     {of_f32("tree"), "streams", "", "normal", 9, true, 50, 1, 0.0},
                     {of_f32("tree"), "permutations", "", "normal", 9, false, 50, 40, 3.0},
                     {of_f32("exact"), "permutations", "", "normal", 9, true, 50, 2, 1.0}};
    r.cost = {cost("cub::DeviceReduce::Sum", 1024, 3.0, 3, 0.5), cost("tree", 1024, 2.0, 4, 0.9),
              cost("tree", 1024, 1.5, 5, 0.95), cost("tree", 64, 1.0, 900, 0.99)};
    r.cost[2].variant = "last_block";
    return r;
}

} // namespace

TEST_CASE("the summary takes the worst of ordinary data, and of all", "[report]") {
    const Results r = results();
    const std::vector<Choice> list = choices_of(r);
    REQUIRE(list.size() == 2);
    const Choice& tree = list.front();
    CHECK(tree.method == "tree");
    CHECK(tree.worst == 9000.0);
    CHECK(tree.worst_ordinary == 5.0);
    CHECK(tree.median == 5.0);
    CHECK(tree.right == 1);
    CHECK(tree.trials == 9);
    CHECK_FALSE(list.back().worst_ordinary.has_value());
}

TEST_CASE("the summary's figures are of sums of one array, up to the condition number that it names", "[report]") {
    Results r = results();
    r.error.push_back(error("tree", 6.0, ordinary_condition, 0));
    CHECK(choices_of(r).front().worst_ordinary == 6.0);
    CHECK(choices_of(r).front().median == 6.0); // of 2, 5, 6, 9000 the upper
    r.error.push_back(error("tree", 1e9, 1.0, 0));
    r.error.back().subject.shape = "rows";
    CHECK(choices_of(r).front().worst == 9000.0);
    const Table table = summary_table(choices_of(r), true);
    REQUIRE(table.columns[4].title == "worst of all");
    CHECK(table.rows[0][4].detail == "1 of 12 right");
    CHECK(table.rows[0][4].mood == Mood::plain);
    CHECK(table.rows[1][4].mood == Mood::good); // 3 of 3
    r.determinism.push_back({of_f32("tree"), "splits", "", "normal", 9, false, 50, 2, 1.0});
    CHECK(choices_of(r).front().other_distinct == 40);
    r.cost.push_back(cost("tree", 4096, 9.0, 1, 0.2));
    r.cost.back().data = "worst";
    CHECK(choices_of(r).front().cost->n == 1024);
}

TEST_CASE("the summary counts bit patterns where the guarantee promises one", "[report]") {
    const Results r = results();
    const std::vector<Choice> list = choices_of(r);
    CHECK(list.front().runs == 150);
    CHECK(list.front().distinct == 1);
    CHECK(list.front().other_distinct == 40);
    const Table table = summary_table(list, true);
    REQUIRE(table.rows.size() == 2);
    const std::size_t bits = 5;
    REQUIRE(table.columns[bits].title == "bit patterns");
    CHECK(table.rows[0][bits].mood == Mood::good);
    CHECK(table.rows[1][bits].mood == Mood::bad); // two patterns, though one was promised
    CHECK(table.rows[1].back().mood == Mood::absent);
}

TEST_CASE("the summary's cost is that of the fastest variant at the largest size", "[report]") {
    const Results r = results();
    const Choice tree = choices_of(r).front();
    REQUIRE(tree.cost != nullptr);
    CHECK(tree.cost->n == 1024);
    CHECK(tree.cost->variant == "last_block");
    CHECK(tree.to_peer == 2.0);
}

TEST_CASE("the summary answers three questions before any figure", "[report]") {
    Results r = results();
    r.determinism.back().distinct = 1;
    r.cost.push_back(cost("exact", 1024, 1.53, 5, 0.93));
    r.cost.push_back(cost("exact", 64, 3.0, 300, 0.3));
    const Section section = summary_section(r);
    REQUIRE(section.answers.size() == 3);
    CHECK(has(answer_to(section, "Which method here?").text, "Take exact"));
    CHECK(answer_to(section, "What does it cost?").text ==
          "Of 2¹⁰ numbers of f32, exact takes 2.0 % more time than tree and 7.5 % more time than reading the numbers; "
          "of 2⁶ numbers it takes 3.0 times the time of tree.");
    CHECK(has(answer_to(section, "Is it proven on this machine?").text,
              "Yes: bits stayed equal wherever that is promised (3 promises, 200 runs); exact gave the nearest number "
              "in all of 3 results."));
    CHECK(section.findings.empty());
    const std::string page = html({"", "", r.provenance, {section}, {{}}});
    CHECK(page.find("Which method here?") < page.find("<table"));
    CHECK(page.find("Which method here?") < page.find("class=\"legend\""));
    CHECK(page.find("An ulp (unit in the last place) is") < page.find("worst, condition ≤ 100"));
    CHECK(page.find("The condition number Σ|x| / |Σx| says") < page.find("worst, condition ≤ 100"));
}

TEST_CASE("what is broken is not called proven, nor what was not measured", "[report]") {
    const auto proof = [](const Results& r) {
        return answer_to(summary_section(r), "Is it proven on this machine?").text;
    };
    Results r = results(); // of which exact has two patterns where one is promised
    CHECK(has(proof(r), "No: bits differed in 1 of 3 places where equality is promised."));
    r.determinism.clear();
    CHECK(proof(r).starts_with("Yes: "));
    r.provenance.incomplete = "interrupted";
    CHECK(proof(r).starts_with("As far as it was measured, yes: "));
    r.error.back().correctly_rounded = 3;
    r.error[3].correctly_rounded = 2; // of exact
    CHECK(has(proof(r), "No: exact did not give the nearest number in 1 of 3 results."));
    r.error[3].correctly_rounded = 3;
    r.error[0].error_over_bound = 1.25;
    CHECK(has(proof(r), "No: 1 of 1 errors were above their bounds."));
    CHECK(proof({}) == "Not measured.");
    CHECK(answer_to(summary_section({}), "What does it cost?").text == "Not measured.");
}

TEST_CASE("what it costs is not known where other programs ran, or a sum was faster than reading", "[report]") {
    Results r = results();
    r.cost.push_back(cost("exact", 1024, 1.53, 5, 0.93));
    const auto answer = [&] { return answer_to(summary_section(r), "What does it cost?").text; };
    const auto has_price = [&] { return summary_section(r).tables.back().id == "price"; };
    r.cost[2].ratio_to_read = 1.04;
    CHECK(answer().starts_with("Of 2¹⁰ numbers"));
    CHECK(has_price());
    r.cost[2].ratio_to_read = 1.25; // of tree
    CHECK(answer().starts_with("Not known: tree of f32 took 20.0 % less time than reading the numbers, which"));
    CHECK_FALSE(has_price());
    r.cost[2].ratio_to_read = 0.95;
    r.provenance.notes = {"something else", std::string(busy_note) + " when timing began: times say little."};
    CHECK(answer().starts_with("Of 2¹⁰ numbers")); // a GPU's times, which the host's load hardly changes
    r.provenance.device = "cpu";
    CHECK(answer().starts_with("Not known: other programs kept the machine busy."));
    CHECK_FALSE(has_price());
}

TEST_CASE("what exact costs is one table", "[report]") {
    Results r = results();
    const auto has_price = [&] { return summary_section(r).tables.back().id == "price"; };
    CHECK_FALSE(has_price()); // exact was not timed
    r.cost.push_back(cost("exact", 1024, 1.53, 5, 0.93));
    REQUIRE(has_price());
    Table price = summary_section(r).tables.back();
    REQUIRE(price.rows.size() == 1);
    const auto texts = [&] {
        std::vector<std::string> list;
        for (const Cell& cell : price.rows.front())
            list.push_back(cell.text);
        return list;
    };
    CHECK(texts() == std::vector<std::string>{"f32", "2¹⁰", "1.020", "1.075", dash, dash});
    r.cost.push_back(cost("exact", 64, 3.0, 300, 0.3));
    price = summary_section(r).tables.back();
    CHECK(texts() == std::vector<std::string>{"f32", "2¹⁰", "1.020", "1.075", "2⁶", "3.000"});
}

TEST_CASE("the legend stands once on a page, with and without answers", "[report]") {
    const Results r = results();
    const auto legends = [](const std::string& page) { return count(page, "class=\"legend\""); };
    CHECK(legends(html({"", "", r.provenance, {summary_section(r)}, {{}}})) == 1);
    CHECK(legends(html({"", "", r.provenance, {methods_section()}, {{}}})) == 1);
    for (const LegendEntry& e : legend)
        CHECK(count(html(undrawn(sample())), e.meaning) == 1);
    CHECK(mood_of(true, true) == Mood::good);
    CHECK(mood_of(true, false) == Mood::bad);
    CHECK(mood_of(false, true) == Mood::plain);
    CHECK(mood_of(false, false) == Mood::notable);
    CHECK(legend[0].mood == Mood::good);
    CHECK(legend[1].mood == Mood::bad);
    CHECK(legend[2].mood == Mood::notable);
}
