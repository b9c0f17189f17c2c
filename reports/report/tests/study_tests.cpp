// Reductions of one's own in the report (detreduce/accuracy/study.hpp): what is measured, and what
// is wrong with one shows.
#include <support/catch.hpp>

#include <algorithm>

#include <fmt/format.h>
#include <omp.h>

#include <detreduce/accuracy/bounds.hpp>

#include "files.hpp"
#include "json.hpp"
#include "measure.hpp"
#include "render.hpp"
#include "study_run.hpp"

using namespace report_test;
using namespace detreduce::report;
using detreduce::bfloat16;
using detreduce::accuracy::error_bound;
using detreduce::accuracy::ErrorBound;
using detreduce::accuracy::StreamArgument;
using detreduce::accuracy::Study;

namespace {

float without_the_last(const float* x, std::uint64_t n) {
    return loop(x, n - 1);
}

template <class Rows, class Wanted>
Rows only(const Rows& rows, Wanted wanted) {
    Rows kept;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept), wanted);
    REQUIRE(!kept.empty());
    return kept;
}

std::vector<ErrorRow> errors_of(const Results& results, const std::string& method) {
    return only(results.error, [&](const ErrorRow& r) { return r.subject.method == method; });
}

DeterminismRow axis_of(const Results& results, const std::string& method, const std::string& axis) {
    const auto rows = only(results.determinism,
                           [&](const DeterminismRow& r) { return r.subject.method == method && r.axis == axis; });
    REQUIRE(rows.size() == 1);
    return rows.front();
}

} // namespace

TEST_CASE("a study measures what it is given, beside tree and exact", "[study]") {
    Study study;
    study.add<float>("my loop", loop<float>).add<double>("my loop", loop<double>);
    study.add<bfloat16>("my loop", [](const bfloat16* x, std::uint64_t n) {
        float sum = 0;
        for (std::uint64_t i = 0; i < n; ++i)
            sum += detreduce::fp::widen(x[i]);
        return sum;
    });
    const Results results = measured(study);
    // The data of the methods: every family, n and condition number; f32 as the result of bf16.
    const auto data = [&](const std::string& method) {
        std::vector<std::string> list;
        for (const ErrorRow& r : errors_of(results, method))
            if (r.subject.output != "bf16")
                list.push_back(
                    fmt::format("{} {} {} {} {}", r.subject.dtype, r.subject.output, r.family, r.n, r.trials));
        return list;
    };
    CHECK(data("my loop") == data("exact"));
    CHECK(data("my loop") == data("tree"));
    for (const ErrorRow& row : errors_of(results, "my loop")) {
        CHECK(row.n <= 256);
        CHECK(!row.bound); // nobody said
        CHECK(row.subject.output != "bf16");
    }
    const auto edges = [&](const std::string& candidate) {
        return only(results.edges, [&](const EdgeRow& r) { return r.candidate == candidate; }).size();
    };
    CHECK(edges("my loop") == edges("exact"));
    for (const CostRow& row : only(results.cost, [](const CostRow& r) { return r.candidate == "my loop"; })) {
        CHECK(row.n == 256);
        CHECK(row.variant == "1 thread");
        CHECK(row.gb_per_s.value_or(0) > 0);
        CHECK(row.ratio_to_read.value_or(0) > 0);
    }
    for (const ErrorRow& row : results.error)
        CHECK((row.subject.method == "my loop" || row.subject.method == "tree" || row.subject.method == "exact"));
}

TEST_CASE("a loop has the error of serial", "[study]") {
    Study study;
    study.add<float>("my loop", loop<float>, {.bound = [](std::uint64_t n) {
                         return error_bound(detreduce::Method::serial, detreduce::DType::f32, detreduce::DType::f32, n);
                     }});
    Progress quiet(Progress::Shown::nothing);
    Options options;
    options.quick = true;
    options.largest_n = 256;
    const Results results = measured(study);
    Results all;
    measure_error(options, quiet, all);
    const auto serial = only(all.error, [](const ErrorRow& r) {
        return r.subject.method == "serial" && r.subject.output == "f32" && r.subject.dtype == "f32";
    });
    std::vector<ErrorRow> own = errors_of(results, "my loop");
    for (ErrorRow& row : own)
        row.subject.method = "serial";
    CHECK(own == serial); // bits of every figure, through a file
    CHECK(std::any_of(own.begin(), own.end(), [](const ErrorRow& r) { return r.error_over_bound.value_or(0) > 0; }));
}

TEST_CASE("a sum that forgets its last element is seen to be wrong", "[study]") {
    Study study;
    study.add<float>("broken", without_the_last, {.bound = [](std::uint64_t) { return ErrorBound{0, 1e-4, 0}; }});
    const Results results = measured(study);
    // Of one number n times it loses the nth part; what it rounds away beside is less than a
    // hundredth of that.
    for (const ErrorRow& row : errors_of(results, "broken")) {
        if (row.family != "constant") continue;
        CHECK(row.correctly_rounded == 0);
        CHECK(row.relative_error.value() == Approx(1.0 / static_cast<double>(row.n)).epsilon(0.01));
        CHECK(row.error_over_bound.value() == Approx(1e4 / static_cast<double>(row.n)).epsilon(0.01));
    }
    const auto wrong =
        only(results.edges, [](const EdgeRow& r) { return r.candidate == "broken" && r.data == "1000 times 1e-37"; });
    CHECK(!wrong.front().right);
}

TEST_CASE("a sum that is not the same twice shows its bit patterns", "[study]") {
    Study study;
    study.add<float>(
        "broken",
        [calls = 0u](const float* x, std::uint64_t n) mutable { return loop(x, n) + static_cast<float>(calls++ % 3); },
        {.guarantee = detreduce::Guarantee::run_to_run});
    study.add<float>("my loop", loop<float>);
    const Results results = measured(study);
    const DeterminismRow broken = axis_of(results, "broken", "repeated runs"),
                         fine = axis_of(results, "my loop", "repeated runs");
    CHECK(broken.promised);
    CHECK(broken.distinct == 3);
    CHECK(broken.spread_ulp.value_or(0) > 0);
    REQUIRE(broken.patterns.size() == 3);                        // in 100 runs
    CHECK(broken.patterns[0].count == 34);                       // the most frequent first
    CHECK(!axis_of(results, "broken", "permutations").promised); // which takes more than run_to_run
    CHECK(!fine.promised);
    CHECK(fine.distinct == 1);
    CHECK(axis_of(results, "my loop", "alignment").distinct == 1);
    CHECK(axis_of(results, "my loop", "permutations").distinct.value_or(0) > 1);
    CHECK(!axis_of(results, "my loop", "instruction sets").runs);
    CHECK(!axis_of(results, "my loop", "CPU threads").runs);
}

TEST_CASE("the threads of what uses OpenMP are varied, and put back", "[study]") {
    const int before = omp_get_max_threads();
    Study study;
    study.add<float>("broken", [](const float*, std::uint64_t) { return static_cast<float>(omp_get_max_threads()); },
                     {.openmp = true});
    const Results results = measured(study);
    CHECK(axis_of(results, "broken", "CPU threads").distinct == 8);
    CHECK(axis_of(results, "broken", "repeated runs").distinct == 1);
    CHECK(omp_get_max_threads() == before);
}

TEST_CASE("data is aligned to its element, and to no more", "[study]") {
    Study study;
    study.add<float>("broken", [](const float* x, std::uint64_t) {
        return static_cast<float>(reinterpret_cast<std::uintptr_t>(x) % 64);
    });
    CHECK(axis_of(measured(study), "broken", "alignment").distinct == 16);
}

// What a launcher gets is what it was given, with the types back.
TEST_CASE("launchers are called with their types", "[study]") {
    struct Queue;
    int place = 0;
    Study study;
    study.add_device<double>(
        "my kernel", [](std::uint64_t n) { return 2 * n; },
        [&](const double* x, std::uint64_t n, double* out, void* workspace, Queue* stream) {
            *out = x[n - 1];
            place = workspace == &place && static_cast<void*>(stream) == &study;
            return 7L;
        });
    const auto& own = study.reductions().front();
    const double x[] = {1, 2, 3};
    double out = 0;
    CHECK(own.launch(x, 3, &out, &place, &study) == 7);
    CHECK(out == 3);
    CHECK(place == 1);
    CHECK(own.workspace_bytes(5) == 10);
    CHECK(!own.host);
}

TEST_CASE("what a reduction of one's own claims stands beside it", "[study]") {
    Study study;
    study.add<float>("my loop", loop<float>, {.guarantee = detreduce::Guarantee::device});
    study.add<double>("my loop", loop<double>);
    study.add_device<float>("my kernel", [](const float*, std::uint64_t, float*, StreamArgument) {});
    const Results results = measured(study);
    REQUIRE(results.own == std::vector<OwnRow>{{"my loop", "f32", "cpu", "device"}, {"my loop", "f64", "cpu", "none"}});
    CHECK(own_names(results) == std::vector<std::string>{"my loop"});
    const Section summary = summary_section(results);
    CHECK(summary.answers.front().text.starts_with(
        "Under test: my loop of f32 claims device; my loop of f64 claims none. Beside them, of detreduce: exact and "));
    const Table& table = summary.tables.front();
    REQUIRE(table.columns[2].title == "guarantee");
    std::vector<std::string> guarantees;
    for (const auto& row : table.rows)
        guarantees.push_back(row[0].text + " " + row[1].text + ": " + row[2].text);
    for (const char* line : {"my loop f32: device (claimed)", "my loop f64: none (claimed)", "exact f32: order"})
        CHECK(std::count(guarantees.begin(), guarantees.end(), line) == 1);
    const auto found = [&](const Section& section, const std::string& words) {
        return std::any_of(section.findings.begin(), section.findings.end(),
                           [&](const std::string& f) { return f.find(words) != std::string::npos; });
    };
    CHECK(found(determinism_section(results), "my loop of f32 claims device: kept along all "));
    CHECK(found(determinism_section(results), "my loop of f64 claims none: it covers no axis"));
    CHECK(found(error_section(results), "my loop of f32: at most "));
    CHECK(found(error_section(results), "; it claims no bound."));
    Results broken = results;
    for (DeterminismRow& r : broken.determinism)
        if (r.subject.method == "my loop" && r.subject.dtype == "f32" && r.axis == "repeated runs") r.distinct = 2;
    CHECK(found(determinism_section(broken), "my loop of f32 claims device: BROKEN along 1 of "));
    for (ErrorRow& r : broken.error)
        if (r.subject.method == "my loop") r.error_over_bound = 1.5;
    CHECK(found(error_section(broken), "; ABOVE the bound that it claims."));
}

TEST_CASE("the page of a study is that of the report, with the names of its reductions at the top", "[study]") {
    Results many;
    for (const char* name : {"a", "b", "b", "c", "d", "e"})
        many.own.push_back({name, "f32", "cpu", "none"});
    CHECK(make_page(many).title == "Report on a, b, c, d and 1 more");
    CHECK(make_page({}).title == "detreduce report");
    REQUIRE(can_draw());
    Study study;
    study.add<float>("my loop & <more>", loop<float>);
    const Results results = measured(study);
    CHECK(make_page(results).title == "Report on my loop & <more>");
    const TemporaryDirectory dir;
    write_file(dir.path() / "results.json", to_json(results));
    const Outcome o =
        run_program("render '" + (dir.path() / "results.json").string() + "' --out '" + dir.path().string() + "'");
    INFO(o.err);
    REQUIRE(o.status == 0);
    for (const char* file : {"index.html", "report.md", "error.csv", "determinism.csv", "edges.csv", "cost.csv"})
        CHECK(contents(dir.path() / file).find("my loop &") != std::string::npos);
}
