// The summary: which figures of the other sections it takes.
#include <support/catch.hpp>

#include "sample.hpp"
#include "summary.hpp"

using namespace report_test;
using namespace detreduce::report;

namespace {

Subject of_f32(std::string method) {
    return {"sum", "flat", "f32", "f32", std::move(method), "cuda:0"};
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
