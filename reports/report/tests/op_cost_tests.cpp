// The cost of ops and shapes: measured on the CPU, and shown.
#include <support/catch.hpp>

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compare.hpp"
#include "files.hpp"
#include "json.hpp"
#include "measure.hpp"
#include "op_names.hpp"
#include "render.hpp"
#include "sample.hpp"
#include "text.hpp"

using namespace report_test;
using namespace detreduce::report;

namespace {

Results measured(std::uint64_t largest_n, bool quick) {
    Options options{.quick = quick, .device = {}, .device_choice = {}, .command = {}};
    options.largest_n = largest_n;
    options.sections = {"op_cost"};
    Progress progress(Progress::Shown::nothing);
    Results results;
    measure(options, progress, results);
    return results;
}

/// "dot flat exact", "sum rows of 4096 std::reduce": of f32 on one thread.
std::set<std::string> names_of(const Results& results) {
    std::set<std::string> names;
    for (const OpCostRow& r : results.op_cost)
        if (r.dtype == "f32" && r.variant == "1 thread") names.insert(r.op + " " + r.shape + " " + r.candidate);
    return names;
}

/// Without the row of nasty names.
Results of_one_device() {
    Results results = sample();
    results.op_cost.pop_back();
    return results;
}

const Table& table(const Section& section, const std::string& id) {
    for (const Table& t : section.tables)
        if (t.id == id) return t;
    throw std::out_of_range(id);
}

std::vector<std::string> texts(const std::vector<Cell>& cells) {
    std::vector<std::string> list;
    for (const Cell& cell : cells)
        list.push_back(cell.mood == Mood::absent ? "absent" : cell.text);
    return list;
}
using Texts = std::vector<std::string>;

} // namespace

TEST_CASE("ops and shapes are timed on the CPU, beside the standard library", "[report]") {
    const Results results = measured(8192, true);
    const std::set<std::string> names = names_of(results);
    for (const detreduce::OpInfo& op : detreduce::ops()) { // each op, by a method and by another library
        INFO(op.name);
        const std::string begin = std::string(op.name) + " flat ";
        const bool product = op.kind == detreduce::Kind::product;
        CHECK(names.count(begin + (product ? "tree" : "exact")) == 1);
        const bool peer = std::any_of(names.begin(), names.end(),
                                      [&](const std::string& name) { return name.starts_with(begin + "std::"); });
        CHECK(peer == (op.op != detreduce::Op::count_unique));
    }
    for (const char* name : {"read flat read", "dot flat tree", "dot flat std::inner_product",
                             "moments flat std::transform_reduce", "argmax flat std::max_element",
                             "sum rows of 4096 exact", "sum rows of 4096 std::reduce", "argmax rows of 4096 exact"})
        CHECK(names.count(name) == 1);
    std::set<std::string> dtypes;
    for (const OpCostRow& r : results.op_cost) {
        INFO(r.op << " " << r.shape << " " << r.candidate);
        dtypes.insert(r.dtype);
        CHECK((r.n == 8192 && r.bytes == r.n * (r.dtype == "f32" ? 4u : 8u) && r.device == "cpu" && r.repeats >= 3));
        REQUIRE((r.median_s && r.gb_per_s && r.ratio_to_read && r.deviation));
        CHECK((*r.median_s > 0 && *r.ratio_to_read > 0));
        CHECK(std::abs(*r.gb_per_s * *r.median_s * 1e9 / static_cast<double>(r.bytes) - 1) < 1e-12);
    }
    CHECK(dtypes == std::set<std::string>{"f32", "f64"});
    CHECK(names.count("sum columns of 4096 exact") == 0); // in the full run
    CHECK((results.cost.empty() && results.error.empty()));
}

TEST_CASE("the ratio to reading is that of the times of the same bytes and threads", "[report]") {
    const Results results = measured(4096, true);
    std::map<std::string, double> reads;
    const auto key_of = [](const OpCostRow& r) {
        return fmt::format("{} {} {} {}", r.dtype, r.device, r.variant, r.n);
    };
    for (const OpCostRow& r : results.op_cost)
        if (r.op == "read" && r.shape == flat_shape) reads[key_of(r)] = r.median_s.value();
    CHECK(reads.size() == 2);
    std::size_t others = 0;
    for (const OpCostRow& r : results.op_cost) {
        INFO(r.op << " " << r.candidate << " " << key_of(r));
        const std::string variant = r.variant.substr(0, r.variant.find(','));
        OpCostRow read = r;
        read.variant = variant;
        REQUIRE(reads.contains(key_of(read)));
        CHECK(r.ratio_to_read.value() == Approx(reads[key_of(read)] / r.median_s.value()));
        CHECK(r.gb_per_s.value() == Approx(static_cast<double>(r.bytes) / r.median_s.value() / 1e9));
        others += r.op != "read";
    }
    CHECK(others > 20);
}

TEST_CASE("a full run times every method, every dtype and columns", "[report]") {
    const Results results = measured(5000, false); // one whole row
    const std::set<std::string> names = names_of(results);
    for (const char* name : {"dot flat kahan", "dot flat serial", "prod flat compensated", "count_unique flat exact",
                             "sum columns of 4096 exact", "variance rows of 4096 tree"})
        CHECK(names.count(name) == 1);
    std::set<std::string> dtypes;
    for (const OpCostRow& r : results.op_cost)
        dtypes.insert(r.dtype);
    CHECK(dtypes == std::set<std::string>{"f16", "bf16", "f32", "f64"});
    CHECK(names_of(measured(100, true)).count("sum rows of 4096 exact") == 0); // there is no row
}

TEST_CASE("ops stand beside the libraries that have them, the largest n first", "[report]") {
    const Section section = op_cost_section(of_one_device());
    const Table& ops = table(section, "op-cost-f32");
    Texts titles;
    for (const Column& column : ops.columns)
        titles.push_back(column.title);
    CHECK(titles == Texts{"op", "exact", "tree", "CUB", "cuBLAS"});
    CHECK(ops.caption.find("n = 2¹⁶ (256 KiB)") != std::string::npos);
    REQUIRE(ops.rows.size() == 2);
    CHECK(texts(ops.rows[0]) == Texts{"dot", "0.800", "0.625", "0.640", "0.500"});
    CHECK(ops.rows[0][3].detail == "41.9 GB/s ± 1.5 %\ncub::DeviceReduce::TransformReduce");
    CHECK(texts(ops.rows[1]) == Texts{"max", "0.250", "absent", "0.500", "absent"});
    const Table& shapes = table(section, "op-cost-shapes-f32");
    REQUIRE(shapes.rows.size() == 1);
    CHECK(texts(shapes.rows[0]) == Texts{"softmax, rows of 4096 (c)", "0.800"}); // of the copy's speed
    const Table& all = table(section, "op-cost-n-f32");
    REQUIRE(all.rows.size() == 9);
    CHECK(all.columns.size() == 4);
    CHECK(all.rows[1][3].detail == "0.800 × read ± 1.5 %");
    CHECK(all.folded);
    REQUIRE(section.findings.size() == 2);
    CHECK(section.findings[0] ==
          "f32, n = 2¹⁶, exact: from 0.250 (max) to 0.800 (dot) of the speed of reading; faster than "
          "the fastest other library in 1 of 2 ops.");
    CHECK(section.findings[1].ends_with("in 0 of 1 ops."));
}

TEST_CASE("ops: the fastest copy and the fastest peer count, and one thread alone in findings", "[report]") {
    Results results = of_one_device();
    const auto again = [&](const char* candidate, double times) {
        const Results before = sample();
        for (const OpCostRow& r : before.op_cost)
            if (r.candidate == candidate) {
                results.op_cost.push_back(r);
                *results.op_cost.back().median_s *= times;
            }
    };
    again("copy", 2);
    const auto share = [&] { return table(op_cost_section(results), "op-cost-shapes-f32").rows.at(0).at(1).text; };
    CHECK(share() == "0.800");
    again("copy", 0.5);
    CHECK(share() == "0.400");
    OpCostRow threads = results.op_cost.at(1);
    REQUIRE(threads.candidate == "exact");
    threads.n = 65536;
    threads.variant = "2 threads";
    threads.ratio_to_read = 7;
    results.op_cost.push_back(threads);
    CHECK(op_cost_section(results).findings.at(0).find("to 0.800 (dot) of the speed of reading") != std::string::npos);
}

TEST_CASE("cost of ops against n: peers are dashed, one size makes no plot", "[report]") {
    Results results = of_one_device();
    const auto charts = op_cost_section(results).line_charts;
    REQUIRE(charts.size() == 4); // dot and softmax
    CHECK(charts[0].id == "op-cost-dot-flat-f32");
    CHECK(charts[1].id == "op-cost-ratio-dot-flat-f32");
    CHECK(charts[1].series.size() == 4); // without read
    CHECK(charts[2].series.size() == 3);
    REQUIRE(charts[3].series.size() == 1);
    CHECK(charts[3].y_label == "time to copy / time");
    CHECK(charts[3].series[0].points.back().second == 0.8);
    std::string lines;
    for (const Series& s : charts[0].series)
        lines += fmt::format("{} {} {};", s.label, s.style, s.points.size());
    CHECK(lines == "read 0 2;exact 0 2;tree 0 2;CUB TransformReduce 1 2;cublasSdot 1 2;");
    std::erase_if(results.op_cost, [](const OpCostRow& r) { return r.n == 4096; });
    CHECK(op_cost_section(results).line_charts.empty());
    std::erase_if(results.op_cost, [](const OpCostRow& r) { return r.candidate.find("ub") != std::string::npos; });
    for (const std::string& finding : op_cost_section(results).findings)
        CHECK(finding.ends_with("of the speed of reading.")); // there is nothing to be faster than
}

TEST_CASE("a full run's own ops and shapes stand in the place of the bench's", "[report]") {
    Results results = sample();
    results.error.clear(); // nothing to draw
    results.determinism.clear();
    results.cost.clear();
    const std::vector<BenchFile> bench{{ops_file, "somewhere", {sample().cost[1]}}};
    const auto has = [&](const char* id) {
        const Page page = make_page(results, bench);
        return std::any_of(page.sections.begin(), page.sections.end(), [&](const Section& s) { return s.id == id; });
    };
    std::erase_if(results.op_cost, [](const OpCostRow& r) { return r.n == 4096; });
    CHECK((has("op-cost") && has("ops"))); // a quick run has fewer
    results.provenance.mode = "full";
    CHECK((has("op-cost") && !has("ops")));
    for (OpCostRow& r : results.op_cost)
        r.device = "cpu"; // the bench is of a GPU
    CHECK((has("op-cost") && has("ops")));
    results.op_cost.clear();
    CHECK((!has("op-cost") && has("ops")));
}

TEST_CASE("costs of ops are compared between runs", "[report]") {
    const Results here = sample();
    Results there = sample();
    for (OpCostRow& r : there.op_cost)
        if (r.op == "max" && r.candidate == "exact") *r.gb_per_s /= 2;
    const std::vector<OtherRun> others{{"there.json", there}};
    const Comparison c = compare(here, others).front();
    std::size_t found = 0;
    for (const ComparedSpeed& r : c.speed.rows) {
        const bool slower = r.candidate == "max by exact";
        if (!slower && r.candidate != "softmax of rows of 4096 by tree") continue;
        ++found;
        CHECK(r.ratio == (slower ? 2 : 1));
    }
    CHECK(found == 4); // two sizes
}
