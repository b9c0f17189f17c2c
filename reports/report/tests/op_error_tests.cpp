// Errors of ops other than the sum: measured, judged and shown.
#include <support/catch.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <detreduce/accuracy/loss_oracle.hpp>

#include "op_error.hpp"
#include "sample.hpp"
#include "sum_error.hpp"
#include "table.hpp"

using namespace report_test;
using namespace detreduce::report;
using detreduce::DType;

namespace {

ErrorRow row_of(std::string op, std::string method) {
    ErrorRow row{{}, "normal", 256, 3, 3, 0.5, 3e-8, 6e-8, 0.5, 1.0};
    row.subject = {std::move(op), "flat", "f32", "f32", std::move(method), "cuda:0"};
    return row;
}

Results with_ops(std::vector<ErrorRow> rows) {
    Results results = sample();
    results.error.insert(results.error.end(), rows.begin(), rows.end());
    return results;
}

const Table& op_table(const Section& section) {
    for (const Table& t : section.tables)
        if (t.id == "error-ops") return t;
    throw std::out_of_range("error-ops");
}

Mood mood_of(const Results& results) {
    const Section section = error_section(results);
    return op_table(section).rows.back().back().mood;
}

std::vector<ErrorRow> measured(DType dtype) {
    Options options;
    options.quick = true;
    options.device = detreduce::cpu;
    Progress progress(Progress::Shown::nothing);
    const DType list[] = {dtype};
    Results results;
    measure_term_error(options, list, progress, results);
    measure_loss_error(options, list, progress, results);
    return results.error;
}

} // namespace

TEST_CASE("what is said of sums is not changed by other ops", "[report]") {
    const Section without = error_section(sample()),
                  with = error_section(with_ops({row_of("dot", "tree"), row_of("dot", "exact")}));
    REQUIRE(with.tables.size() == without.tables.size() + 1);
    REQUIRE(with.line_charts.size() == without.line_charts.size());
    for (std::size_t i = 0; i < with.line_charts.size(); ++i) {
        REQUIRE(with.line_charts[i].series.size() == without.line_charts[i].series.size());
        for (std::size_t s = 0; s < with.line_charts[i].series.size(); ++s)
            CHECK(with.line_charts[i].series[s].points == without.line_charts[i].series[s].points);
    }
    for (const Table& t : without.tables) {
        const auto same =
            std::find_if(with.tables.begin(), with.tables.end(), [&](const Table& w) { return w.id == t.id; });
        REQUIRE(same != with.tables.end());
        CHECK(same->rows.size() == t.rows.size());
    }
    REQUIRE(with.findings.size() == without.findings.size() + 1);
    for (std::size_t i = 0; i < without.findings.size(); ++i)
        CHECK(with.findings[i] == without.findings[i]);
}

TEST_CASE("other ops have a row for each op, dtype and kind of data", "[report]") {
    ErrorRow large = row_of("dot", "exact");
    large.n = 1024;
    large.error_ulp = 0.25;
    const Section section =
        error_section(with_ops({row_of("dot", "tree"), row_of("dot", "exact"), large, row_of("mean", "tree")}));
    const Table& table = op_table(section);
    REQUIRE(table.rows.size() == 2);
    REQUIRE(table.columns.size() == 5);
    CHECK(table.rows[0][0].text == "dot");
    CHECK(table.rows[0][4].text == "0.50");
    CHECK(table.rows[0][4].detail == "50 % of bound\n6 of 6 right");
    CHECK(table.rows[0][4].mood == Mood::good);
    CHECK(table.rows[1][4].mood == Mood::absent); // nobody measured it
}

TEST_CASE("an op above its bound, or an exact one that is not the nearest number, is a defect", "[report]") {
    ErrorRow row = row_of("nrm2", "tree");
    CHECK(mood_of(with_ops({row})) == Mood::plain);
    row.error_over_bound = 1.0; // within it
    CHECK(mood_of(with_ops({row})) == Mood::plain);
    row.error_over_bound = 1.001;
    CHECK(mood_of(with_ops({row})) == Mood::bad);
    CHECK(error_section(with_ops({row})).findings.back().find("1 of 1 points lie ABOVE") != std::string::npos);
    row = row_of("nrm2", "exact");
    row.correctly_rounded = 2;
    CHECK(mood_of(with_ops({row})) == Mood::bad);
    CHECK(error_section(with_ops({row})).findings.back().find("NOT correctly rounded in 1 of 3") != std::string::npos);
    row.subject.op = "huber"; // its terms are rounded
    CHECK(mood_of(with_ops({row})) == Mood::plain);
}

TEST_CASE("a result is judged by its own error, limit and format", "[report]") {
    ErrorRow row;
    take_judged(row, DType::f32, {1, 1, 0x1p-24, 0x1p-23, false, 7.0});
    take_judged(row, DType::f32, {1, 1, 0, 0x1p-23, true, 9.0});
    CHECK(row.trials == 2);
    CHECK(row.correctly_rounded == 1);
    CHECK(*row.error_ulp == 0.5);
    CHECK(*row.error_over_bound == 0.5);
    CHECK(*row.relative_error == 0x1p-24);
    CHECK(*row.bound == 0x1p-23);
    CHECK(*row.condition == 7.0);
    take_judged(row, DType::f32, {INFINITY, 1, 0, 0x1p-23, false});
    CHECK(*row.error_over_bound == INFINITY);
    ErrorRow zero; // where all of it is nothing, and nothing is allowed
    take_judged(zero, DType::f32, {0, 0, 0, 0.0, true});
    CHECK(zero.error_over_bound == 0.0);
    CHECK(zero.relative_error == 0.0);
    CHECK(zero.bound == 0.0);
    CHECK(limit_of_mean(DType::f32, 0, 0, 5) == 0x1p-149 * rounded_up); // a quotient may be subnormal
    CHECK(last_place(DType::f64, 1) == 0x1p-52);
    CHECK(last_place(DType::f32, 0x1p-140) == 0x1p-149);
}

TEST_CASE("a sum whose parts may overflow has no bound, and one that cannot has", "[report]") {
    const auto judged = [](const std::vector<float>& x, detreduce::Method method) {
        const auto exact = detreduce::accuracy::exact_sum(std::span<const float>(x));
        ErrorRow row;
        take_error(row, 1.0f, exact, limit_of({method, {}}, detreduce::DType::f32, detreduce::DType::f32, exact));
        return row;
    };
    using detreduce::Method;
    const std::vector<float> near{3e38f, 3e38f, -3e38f, -3e38f, 1.0f}, far{1e37f, 1e37f, -1e37f, -1e37f, 1.0f};
    for (const Method method : {Method::tree, Method::serial, Method::kahan, Method::compensated}) {
        INFO(detreduce::name(method));
        const ErrorRow none = judged(near, method), some = judged(far, method);
        CHECK_FALSE(none.bound);
        CHECK_FALSE(none.error_over_bound);
        CHECK(none.relative_error.value() == 0);
        CHECK(some.bound.value() > 0);
        CHECK(some.error_over_bound.value() == 0);
    }
    CHECK(judged(near, Method::exact).bound); // which adds in integers: only its result could
}

TEST_CASE("the worst of several sums is kept, with its condition and bound", "[report]") {
    using detreduce::Method;
    const std::vector<float> x{3, -1}, y{1e8f, -1e8f, 1};
    const auto sum_of = [](const std::vector<float>& v) {
        return detreduce::accuracy::exact_sum(std::span<const float>(v));
    };
    const auto worse = sum_of(y), better = sum_of(x);
    const auto limit = [](const auto& exact) { return limit_of({Method::tree, {}}, DType::f32, DType::f32, exact); };
    ErrorRow row;
    take_error(row, 2.0f, better, limit(better));
    take_error(row, 1.5f, worse, limit(worse));
    const ErrorRow worst = row;
    CHECK(worst.relative_error == 0.5);
    CHECK(worst.condition == 200000001.0);
    take_error(row, 2.0f, better, limit(better));
    CHECK(row.correctly_rounded == 2);
    CHECK(row.error_ulp == 0x1p22);
    row.correctly_rounded = worst.correctly_rounded;
    CHECK(row == worst);
}

TEST_CASE("true losses have twice the digits of a double", "[report]") {
    const auto log2 = detreduce::accuracy::true_loss<double>({detreduce::Loss::bce_with_logits, 1, 0, 0.5});
    CHECK(log2.high == 0x1.62e42fefa39efp-1);
    CHECK(log2.low == 0x1.abc9e3b39803fp-56);
    CHECK(log2.size == log2.high);
}

TEST_CASE("each op is within its bound, by every method that it has", "[report]") {
    std::map<std::string, std::set<std::string>> methods;
    std::map<std::string, double> most;
    for (const ErrorRow& r : measured(DType::f16)) {
        INFO(r.subject.op << ' ' << r.subject.method << ' ' << r.family << ' ' << r.n);
        methods[r.subject.op].insert(r.subject.method);
        REQUIRE(r.error_over_bound);
        CHECK(*r.error_over_bound <= 1);
        most[r.subject.op] = std::max(most[r.subject.op], *r.error_ulp);
        CHECK(r.subject.output == "f32");
        if (r.subject.method == "exact" && r.subject.op != "cross_entropy") CHECK(r.correctly_rounded == r.trials);
    }
    for (const auto& [op, error] : most)
        CHECK(error > 0.25); // or nothing was rounded
    const std::set<std::string> all{"exact", "compensated", "kahan", "tree", "serial", "atomic"},
        four{"exact", "compensated", "kahan", "tree"};
    CHECK(methods.size() == 10);
    for (const char* op : {"dot", "nrm2", "mean", "mse", "mae"})
        CHECK(methods[op] == all);
    for (const char* op : {"huber", "bce_with_logits", "cross_entropy"})
        CHECK(methods[op] == four);
    CHECK(methods["variance"] == std::set<std::string>{"exact", "serial", "tree"});
    CHECK(methods["logsumexp"] == std::set<std::string>{"tree"});
}

TEST_CASE("sums of f64 are measured up to condition numbers of 1e45", "[report]") {
    Options options;
    options.quick = true;
    options.device = detreduce::cpu;
    options.largest_n = 4096; // that of the sweep
    Progress progress(Progress::Shown::nothing);
    Results results;
    measure_error(options, progress, results);
    results.provenance.device = "cpu";
    const auto chart_of = [&](const std::string& type) {
        for (const LineChart& chart : error_section(results).line_charts)
            if (chart.id == "condition-" + type) return chart;
        throw std::out_of_range(type);
    };
    for (const auto& [type, minimum, half_ulp] :
         {std::tuple("f64", 1e45, 0x1p-53), std::tuple("f32", 1e21, 0x1p-24), std::tuple("f16", 1e10, 0x1p-11)}) {
        const LineChart chart = chart_of(type);
        CHECK(chart.y_ceiling == 1);
        CHECK(chart.y_floor < half_ulp);
        for (const Series& series : chart.series) {
            INFO(type << ' ' << series.label);
            CHECK(series.points.front().first == Approx(1));
            CHECK(series.points.back().first > minimum / 4);
            for (const auto& [condition, error] : series.points)
                CHECK(error >= half_ulp);
            if (series.label == "exact") CHECK(series.points.back().second == half_ulp);
            if (series.label == "tree") CHECK(series.points.back().second > 0.5);
        }
    }
}
