// Cost rows from CSV, where they come from, and the tables of ops and shapes.
#include <support/catch.hpp>

#include "failure.hpp"
#include "op_names.hpp"
#include "op_tables.hpp"
#include "origin.hpp"
#include "read_csv.hpp"
#include "render.hpp"
#include "sample.hpp"
#include "text.hpp"

using namespace report_test;
using namespace detreduce::report;
using detreduce::program::Failure;

namespace {

CostRow row(const char* dtype, const char* candidate, double seconds, double ratio, const char* variant = "") {
    return {dtype, candidate, variant, "cuda:0", "normal", 1024, 4096, 20, seconds, 0.01, 1.0, ratio};
}

std::vector<std::string> texts(const std::vector<Cell>& cells) {
    std::vector<std::string> list;
    for (const Cell& cell : cells)
        list.push_back(cell.mood == Mood::absent ? "absent" : cell.text);
    return list;
}

std::vector<std::string> titles(const Table& table) {
    std::vector<std::string> list;
    for (const Column& column : table.columns)
        list.push_back(column.title);
    return list;
}

using Texts = std::vector<std::string>;

const char* const provenance_text = "date      2026-11-21T23:35:42Z\n"
                                    "prebuilt  commit 4b011889a530441055d0af2fc4c2f16f6970c9cd\n"
                                    "prebuilt  built  2026-11-20T23:35:08Z\n"
                                    "gpu       Some GPU, 580.159.04, 143771 MiB, 9.0\n"
                                    "tests: commit 6926c6da83; in words\n"
                                    "ops.csv, ops_small.csv: commit 2ac5fa689 (with changes), 2026-11-22, as above\n";

} // namespace

TEST_CASE("cost rows are read back from CSV as they were written", "[report]") {
    Results results = sample();
    results.cost.push_back(row("f32", "a,\"b\" \"\"", 1e-5, 0.5));
    CHECK(cost_from_csv(cost_csv(results), "test") == results.cost);
    CHECK(cost_from_csv(cost_csv({}), "test").empty());
}

TEST_CASE("CSV files that the bench did not write are refused", "[report]") {
    const std::string header = cost_csv({});
    const auto refused = [](const std::string& text, const std::string& says) {
        INFO(text);
        try {
            (void)cost_from_csv(text, "a.csv");
            FAIL("not refused");
        } catch (const Failure& failure) {
            CHECK(std::string(failure.what()).find(says) != std::string::npos);
        }
    };
    refused("", "a.csv: not a CSV file of detreduce_gpu_bench");
    refused("# by hand\n" + header, "a.csv: not a CSV file of detreduce_gpu_bench");
    refused(header + "f32,read,,cuda:0,normal,1,4,50,1e-6,0,1\n", "a.csv:2: 'ratio_to_read' is missing");
    refused(header + "f32,read,,cuda:0,normal,1,4,50,1e-6,0,1,1,1\n", "a.csv:2: more fields");
    refused(header + "f32,read,,cuda:0,normal,1,4,50,fast,0,1,1\n", "a.csv:2: 'median_s' is not a number but 'fast'");
    refused(header + "f32,read,,cuda:0,normal,-1,4,50,1e-6,0,1,1\n", "a.csv:2: 'n' is not a number but '-1'");
    refused(header + "f32,read,,cuda:0,normal,1,4,50,1e-6,0,1,1x\n", "'ratio_to_read' is not a number but '1x'");
    refused(header + "f32,read,,cuda:0,normal,1,4,,1e-6,0,1,1\n", "a.csv:2: 'repeats' is not a number but ''");
}

TEST_CASE("a file comes from the line that names it, or else from where its folder does", "[report]") {
    CHECK(origin_of("shapes.csv", provenance_text, "p") == Origin{"Some GPU", "4b011889a", "2026-11-21"});
    CHECK(origin_of("small.csv", provenance_text, "p") == Origin{"Some GPU", "4b011889a", "2026-11-21"});
    const Origin own = origin_of("ops_small.csv", provenance_text, "p");
    CHECK(words_of(own) == "Some GPU, commit 2ac5fa689 (with changes), 2026-11-22");
    CHECK(origin_of("ops.csv", provenance_text, "p") == own);
    const std::string twice = std::string(provenance_text) + "ops.csv: commit 1234567, 2026-11-23\n";
    CHECK_THROWS_AS(origin_of("ops.csv", twice, "p"), Failure);
    CHECK_THROWS_AS(origin_of("ops.csv", "commit unknown\ndate 2026-11-21\n", "p"), Failure);
}

TEST_CASE("a table of ops has a line an op and a column a dtype and method, empty where nothing was measured",
          "[report]") {
    std::vector<CostRow> rows{row("f16", "read", 1e-6, 1),         row("f16", "cub::DeviceReduce::Sum", 2e-6, 0.5),
                              row("f16", "mean tree", 3e-6, 0.25), row("f16", "mean exact", 4e-6, 0.125),
                              row("f16", "max exact", 5e-6, 0.75), row("f32", "read", 1e-6, 1),
                              row("f32", "mean tree", 3e-6, 0.5),  row("f32", "kahan", 8e-6, 0.0625)};
    const Table table = ops_table(rows, plain_name);
    CHECK(titles(table) ==
          Texts{"4 KiB, share of the read-only kernel", "f16 tree", "f32 tree", "f16 exact", "f32 kahan"});
    REQUIRE(table.rows.size() == 3);
    CHECK(texts(table.rows[0]) == Texts{"mean", "0.250", "0.500", "0.125", "absent"});
    CHECK(texts(table.rows[1]) == Texts{"max", "absent", "absent", "0.750", "absent"});
    CHECK(texts(table.rows[2]) == Texts{"sum", "absent", "absent", "absent", "0.062"});
    const Table small = ops_and_cub_table(rows, plain_name); // f32 has no CUB to compare with
    CHECK(small.columns[0].title == "2¹⁰ elements, time / time of CUB Sum");
    CHECK(texts(small.rows[0]) == Texts{"mean", "1.500", "absent", "2.000", "absent"});
    rows.push_back(row("f16", "cub::DeviceReduce::Max", 4e-6, 0.25, "max"));
    rows.push_back(row("f32", "cub::DeviceReduce::Sum", 2e-6, 0.25, "mean"));
    CHECK(ops_table(rows, plain_name).rows.size() == 3); // which has no peers
    const Table own = ops_and_cub_table(rows, plain_name);
    CHECK(own.columns[0].title == "2¹⁰ elements, time / time of the nearest CUB algorithm");
    CHECK(own.caption.ends_with("nearest algorithm"));
    CHECK(texts(own.rows[0]) == Texts{"mean", "absent", "1.500", "absent", "absent"}); // f16 has none for the mean
    CHECK(texts(own.rows[1]) == Texts{"max", "absent", "absent", "1.250", "absent"});
    CHECK(texts(own.rows[2]) == Texts{"sum", "absent", "absent", "absent", "absent"}); // nor f32 for the sum itself
    rows.push_back(row("f32", "mean exact", 1e-6, 0.5));
    rows.back().bytes = 8192;
    CHECK_THROWS_AS(ops_table(rows, plain_name), Failure);
    CHECK_THROWS_AS(ops_table({}, plain_name), Failure);
}

TEST_CASE("columns stand in the order of the file's dtypes, and a table is of one kind of data", "[report]") {
    std::vector<CostRow> rows{row("f32", "mean tree", 3e-6, 0.5), row("bf16", "mean exact", 3e-6, 0.5),
                              row("f32", "mean exact", 3e-6, 0.5)};
    CHECK(titles(ops_table(rows, plain_name)) ==
          Texts{"4 KiB, share of the read-only kernel", "f32 tree", "f32 exact", "bf16 exact"});
    rows.back().data = "worst";
    CHECK_THROWS_AS(ops_table(rows, plain_name), Failure);
    const Table softmax = row_ops_table(
        {row("f32", "copy", 1e-6, 1), row("f32", "copy", 8e-6, 1), row("f32", "softmax tree rows of 32", 2e-6, 0.25)},
        plain_name);
    CHECK(texts(softmax.rows.at(0)) == Texts{"softmax, rows of 32 (c)", "0.500"}); // of the copy that stands first
}

TEST_CASE("what is timed is known by its name and variant", "[report]") {
    CHECK(timed_name("kahan", "") == TimedName{"sum", "flat", "kahan"});
    CHECK(timed_name("tree", "automatic") == TimedName{"sum", "flat", "tree"});
    CHECK(timed_name("mean tree", "") == TimedName{"mean", "flat", "tree"});
    CHECK(timed_name("sum tree rows of 32", "") == TimedName{"sum", "rows of 32", "tree"});
    CHECK(timed_name("sum", "exact rows of 32") == TimedName{"sum", "rows of 32", "exact"});
    CHECK(timed_name("cub::DeviceReduce::Sum", "") == TimedName{"sum", "flat", "cub::DeviceReduce::Sum"});
    CHECK(timed_name("cub::DeviceReduce::ArgMax", "argmax") ==
          TimedName{"argmax", "flat", "cub::DeviceReduce::ArgMax"});
    CHECK(timed_name("cub::DeviceSegmentedReduce::Sum", "sum rows of 32") ==
          TimedName{"sum", "rows of 32", "cub::DeviceSegmentedReduce::Sum"});
    CHECK(timed_name("cublasSdot", "dot") == TimedName{"dot", "flat", "cublasSdot"});
    CHECK((is_peer("thrust::reduce") && is_peer("std::reduce") && !is_peer("tree") && !is_peer("copy")));
}

TEST_CASE("a table of shapes beside CUB has what CUB has", "[report]") {
    const std::vector<CostRow> rows{row("f32", "sum tree rows of 32", 3e-6, 0.5),
                                    row("f32", "sum exact rows of 32", 6e-6, 0.25),
                                    row("f32", "sum exact columns of 32", 3e-6, 0.5),
                                    row("f32", "cub::DeviceSegmentedReduce::Sum", 9e-6, 0.1, "sum rows of 32"),
                                    row("f64", "sum exact rows of 32", 3e-6, 0.5)};
    const Table table = shapes_and_cub_table(rows, plain_name);
    CHECK(titles(table) == Texts{"4 KiB, CUB's time / ours", "f32 tree", "f32 exact"});
    REQUIRE(table.rows.size() == 1);
    CHECK(texts(table.rows[0]) == Texts{"sum, rows of 32", "3.000", "1.500"});
}

TEST_CASE("a table of shapes gives the time of what reads only a part", "[report]") {
    const std::vector<CostRow> rows{
        row("f16", "sum tree rows of 32", 3e-6, 0.25), row("f16", "sum", 3e-6, 0.5, "exact rows of 32"),
        row("f16", "nrm2 exact 1000 tensors of 1 KiB", 2.125e-5, 40), row("f16", "nrm2 exact rows of 32", 3e-6, 0.75)};
    const Table table = shapes_table(rows, plain_name);
    REQUIRE(table.rows.size() == 3);
    CHECK(texts(table.rows[2]) == Texts{"nrm2, rows of 32", "absent", "0.750"});
    CHECK(texts(table.rows[0]) == Texts{"sum, rows of 32", "0.250", "0.500"});
    CHECK(texts(table.rows[1]) == Texts{"nrm2, 1000 tensors of 1 KiB", "absent", "21.2 µs"});
}
