// What a study refuses, leaves out, and says when a reduction fails.
#include <algorithm>
#include <stdexcept>

#include "own.hpp"
#include "study_run.hpp"

using namespace report_test;
using namespace detreduce::report;
using detreduce::accuracy::ErrorBound;
using detreduce::accuracy::StreamArgument;
using detreduce::accuracy::Study;

namespace {

// Of a reduction that fails: one line, which names it.
void check_failure(const Study& study, const std::string& says) {
    const Run run(study);
    INFO(run.errors);
    CHECK(run.status == 1);
    CHECK(run.errors.starts_with("mine: 'broken' of "));
    CHECK(run.errors.find(says) != std::string::npos);
    CHECK(run.errors.find('\n') == run.errors.size() - 1);
    const Results left = load_results(run.file("out") / "results.json"); // what was measured until then
    CHECK(!left.provenance.incomplete.empty());
}

} // namespace

TEST_CASE("a reduction that fails is named", "[study]") {
    Study study;
    SECTION("by an exception") {
        study.add<float>("broken", [](const float*, std::uint64_t n) -> float {
            if (n > 16) throw std::runtime_error("no more\nthan 16");
            return 0;
        });
        check_failure(study, "'broken' of 256 f32 elements on the CPU: it threw an exception: no more\\nthan 16");
    }
    SECTION("by what is no exception") {
        study.add<double>("broken", [](const double*, std::uint64_t) -> double { throw 1; });
        check_failure(study, "'broken' of 16 f64 elements on the CPU: it threw something that is not a std::exception");
    }
    SECTION("by its bound") {
        study.add<double>("broken", loop<double>, {.bound = [](std::uint64_t) -> ErrorBound { throw 1; }});
        check_failure(study,
                      "'broken' of 16 f64 elements on the CPU: its bound threw something that is not a std::exception");
    }
    SECTION("by its workspace_bytes") {
        study.add_device<float>(
            "broken", [](std::uint64_t) -> std::size_t { throw 1; },
            [](const float*, std::uint64_t, float*, void*, StreamArgument) {});
        CHECK_THROWS_WITH(workspace_of(study.reductions().front(), 9),
                          "'broken' of 9 f32 elements on a GPU: its workspace_bytes threw something that is not a "
                          "std::exception");
    }
}

TEST_CASE("launchers are left out without a GPU, and the report says so", "[study]") {
    Study study;
    study.add<float>("my loop", loop<float>);
    study.add_device<float>("my kernel", [](const float*, std::uint64_t, float*, StreamArgument) {});
    study.add_device<float>(
        "my other kernel", [](std::uint64_t) { return 8; },
        [](const float*, std::uint64_t, float*, void*, StreamArgument) { return 1; });
    const Results results = measured(study);
    const auto& notes = results.provenance.notes;
    CHECK(
        std::find(notes.begin(), notes.end(),
                  "SKIPPED, because they need a GPU and this run has none: my kernel (f32), my other kernel (f32).") !=
        notes.end());
    CHECK(std::none_of(results.error.begin(), results.error.end(),
                       [](const ErrorRow& r) { return r.subject.method == "my kernel"; }));
}

TEST_CASE("each note is said once", "[study]") {
    Study study;
    study.add<float>("my loop", loop<float>);
    const Run run(study);
    INFO(run.output);
    REQUIRE(run.status == 0);
    const Results results = load_results(run.file("out") / "results.json");
    REQUIRE(!results.provenance.notes.empty());
    for (const std::string& note : results.provenance.notes) {
        const std::size_t at = run.output.find("note: " + note + "\n");
        CHECK(at != std::string::npos);
        CHECK(run.output.find(note, at + 7) == std::string::npos);
    }
}

TEST_CASE("names and options that cannot be are refused", "[study]") {
    Study study;
    study.add<float>("my loop", loop<float>);
    for (const char* name :
         {"", "exact", "serial", "read", "cub::DeviceReduce::Sum", "numpy.sum", "two\nlines", "my loop"}) {
        INFO(name);
        CHECK_THROWS_AS(study.add<float>(name, loop<float>), std::invalid_argument);
    }
    CHECK(study.reductions().size() == 1);
    study.add<double>("my loop", loop<double>);
    study.add_device<float>("my loop", [](const float*, std::uint64_t, float*, StreamArgument) {});
    for (const char* wrong : {"15", "-1", "1e3"}) {
        const Run run(study, {"--max-n", wrong});
        CHECK(run.status == 2);
        CHECK(run.errors.find("; allowed are 16 to ") != std::string::npos);
    }
    CHECK(Run(study, {"--bogus"}).status == 2);
    CHECK(Run(Study{}).status == 1);
}
