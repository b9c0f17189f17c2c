// The commands as a user starts them: output directories, foreign files, a missing gnuplot, a
// machine without a GPU.
#include <support/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/detreduce.hpp>

#include "determinism_axes.hpp"
#include "failure.hpp"
#include "files.hpp"
#include "fresh_sums.hpp"
#include "json.hpp"
#include "out_of_memory.hpp"
#include "render.hpp"
#include "report_run.hpp"
#include "sample.hpp"

using namespace report_test;
using namespace detreduce::report;
namespace program = detreduce::program;
using detreduce::DType;

namespace {

std::string quoted(const std::filesystem::path& path) {
    return "'" + path.string() + "'";
}

void check_failure(const Outcome& o, const std::string& says) {
    INFO(o.err);
    CHECK(o.status == 1);
    CHECK(o.err.starts_with("detreduce: "));
    CHECK(o.err.find('\n') == o.err.size() - 1); // one line
    CHECK(o.err.find(says) != std::string::npos);
}

struct Fixture {
    TemporaryDirectory dir;
    std::filesystem::path results = dir.path() / "results.json";
    Fixture() { write_file(results, to_json(sample())); }
};

} // namespace

TEST_CASE("report says a line a part where standard error is no terminal", "[report]") {
    const TemporaryDirectory dir;
    const Outcome o =
        run_program("report --quick --device cpu --max-n 256 --sections reference,edges --measure-only --out " +
                    quoted(dir.path() / "out"));
    INFO(o.out);
    CHECK(o.status == 0);
    CHECK(o.err.empty());
    const std::size_t first = o.out.find("\n1 of 2: reference"), second = o.out.find("\n2 of 2: edge cases");
    CHECK(first < second);
    CHECK(second < o.out.find("\nwrote "));
}

TEST_CASE("render makes the page, twice the same", "[report]") {
    REQUIRE(can_draw());
    const Fixture f;
    for (const char* out : {"a", "deep/b"}) {
        const Outcome o = run_program("render " + quoted(f.results) + " --out " + quoted(f.dir.path() / out));
        INFO(o.err);
        CHECK(o.status == 0);
        CHECK(o.err.empty());
    }
    CHECK(contents(f.dir.path() / "a" / "index.html") == contents(f.dir.path() / "deep/b" / "index.html"));
    CHECK(contents(f.dir.path() / "a" / "index.html").size() > 10000);
}

TEST_CASE("render shows ops and shapes that lie beside the results", "[report]") {
    REQUIRE(can_draw());
    const Fixture f;
    const auto rendered = [&](const std::string& out) {
        const Outcome o = run_program("render " + quoted(f.results) + " --out " + quoted(f.dir.path() / out));
        INFO(o.err);
        CHECK(o.status == 0);
        return contents(f.dir.path() / out / "index.html");
    };
    const std::string heading = "<h2>Cost of ops and shapes, by detreduce_gpu_bench</h2>";
    CHECK(rendered("without").find(heading) == std::string::npos);
    Results shapes;
    shapes.cost = {{"f32", "argmax exact rows of 32", "", "cuda:0", "normal", 1024, 4096, 50, 1e-5, 0.01, 1.5, 0.375}};
    write_file(f.dir.path() / "shapes.csv", cost_csv(shapes));
    const std::string page = rendered("with");
    for (const std::string& part : {heading, std::string("argmax, rows of 32"), std::string(">0.375<"),
                                    std::string("no provenance.txt"), std::string("f32 exact")})
        CHECK(page.find(part) != std::string::npos);
    CHECK(contents(f.dir.path() / "with" / "shapes.csv") == cost_csv(shapes));
    write_file(f.dir.path() / "provenance.txt", "date 2026-11-21T1\ncommit 4b011889a530\ngpu Some GPU, 580\n");
    CHECK(rendered("known").find("(shapes.csv: Some GPU, commit 4b011889a, 2026-11-21)") != std::string::npos);
    write_file(f.dir.path() / "shapes.csv", "by hand\n");
    check_failure(run_program("render " + quoted(f.results) + " --out " + quoted(f.dir.path() / "bad")),
                  "shapes.csv: not a CSV file of detreduce_gpu_bench");
}

TEST_CASE("output directories that cannot be used are refused", "[report]") {
    REQUIRE(can_draw());
    const Fixture f;
    check_failure(run_program("render " + quoted(f.results) + " --out " + quoted(f.results)),
                  "exists and is not a directory");
    check_failure(run_program("report --quick --device cpu --out " + quoted(f.results)),
                  "exists and is not a directory");
    check_failure(run_program("render " + quoted(f.results) + " --out " + quoted(f.results / "below")),
                  "cannot be created");
    if (::geteuid() == 0) return; // root may write anywhere
    const auto locked = f.dir.path() / "locked";
    std::filesystem::create_directory(locked);
    std::filesystem::permissions(locked, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    check_failure(run_program("render " + quoted(f.results) + " --out " + quoted(locked)), "cannot be written to");
}

TEST_CASE("files that are not results are refused", "[report]") {
    const Fixture f;
    const auto refused = [&](const std::string& text, const std::string& says) {
        write_file(f.dir.path() / "other.json", text);
        check_failure(
            run_program("render " + quoted(f.dir.path() / "other.json") + " --out " + quoted(f.dir.path() / "out")),
            says);
    };
    refused("", "not JSON");
    refused("{\"a\": 1}", "not a results file of detreduce");
    refused("{\"schema\": \"detreduce-results\", \"schema_version\": 9}", "use a newer one");
    check_failure(
        run_program("render " + quoted(f.dir.path() / "none.json") + " --out " + quoted(f.dir.path() / "out")),
        "cannot be opened");
    check_failure(run_program("render " + quoted(f.dir.path()) + " --out " + quoted(f.dir.path() / "out")),
                  "is a directory");
}

TEST_CASE("without gnuplot the way out is named", "[report]") {
    const Fixture f;
    const std::string no_gnuplot = "PATH=" + quoted(f.dir.path());
    check_failure(run_program("render " + quoted(f.results) + " --out " + quoted(f.dir.path() / "out"), no_gnuplot),
                  "install it");
    check_failure(run_program("report --quick --device cpu --out " + quoted(f.dir.path() / "out"), no_gnuplot),
                  "--measure-only");
}

TEST_CASE("devices that are not there are refused", "[report]") {
    const Fixture f;
    const std::string out = " --measure-only --out " + quoted(f.dir.path() / "out");
    for (const char* wrong : {"--device gpu", "--device cuda:x", "--sections error,bits", "--sections ''", "--seed -1",
                              "--seed 18446744073709551616", "--seed 1x"}) {
        const Outcome o = run_program(std::string("report ") + wrong + out);
        INFO(o.err);
        CHECK(o.status == 2);
        CHECK(o.err.find("; allowed are ") != std::string::npos);
    }
    check_failure(run_program("report --device cuda:99" + out), "--device cuda:99");
    CHECK(run_program("report --device gpu" + out).err.find("allowed are all, cpu, cuda") != std::string::npos);
    CHECK(run_program("report --sections bits" + out)
              .err.find("allowed are reference, error, ops, edges, determinism, cost, op_cost, ladder\n") !=
          std::string::npos);
    CHECK(run_program("report --sections ladder --device cpu" + out).err.find("leave it out") != std::string::npos);
    CHECK(run_program("report --quick --full" + out).status == 2);
    CHECK(run_program("report").status == 2);
    CHECK(run_program("render").status == 2);
}

TEST_CASE("only the sections that are asked for are measured", "[report]") {
    const TemporaryDirectory dir;
    const Outcome o = run_program("report --quick --device all --sections edges --out " + quoted(dir.path()),
                                  "CUDA_VISIBLE_DEVICES=''"); // `all` is the CPU, then
    INFO(o.err);
    REQUIRE(o.status == 0);
    const Results results = load_results(dir.path() / "results.json");
    CHECK(results.edges.size() > 20);
    CHECK(results.provenance.incomplete.empty());
    CHECK(results.provenance.device == "cpu");
    CHECK((results.error.empty() && results.determinism.empty() && results.cost.empty()));
    const std::string page = contents(dir.path() / "index.html"), no = "Not measured.";
    CHECK(page.find(no) != std::string::npos);
    CHECK(page.find("--sections edges") != std::string::npos); // the command
}

TEST_CASE("a fresh process says what each method gives", "[report]") {
    const Outcome first = run_program("fresh-sums --quick --devices cpu --seed 7");
    INFO(first.err);
    REQUIRE(first.status == 0);
    using namespace detreduce;
    const std::string second = run_program("fresh-sums --quick --devices cpu --seed 7").out,
                      other = run_program("fresh-sums --quick --devices cpu --seed 8").out;
    const auto bits = [](const std::string& text) { return fresh_bits(text, DType::f32, Method::tree, "cpu"); };
    CHECK(bits(second) == bits(first.out));
    CHECK(bits(other) != bits(first.out));
    const auto data = accuracy::generate<double>(accuracy::Family::normal, determinism_elements(true), 7);
    CHECK(fresh_bits(first.out, DType::f64, Method::exact, "cpu") == fp::to_bits(sum(std::span<const double>(data))));
    CHECK_THROWS_AS(fresh_bits(first.out, DType::f64, Method::exact, "cuda:0"), program::Failure);
    CHECK_THROWS_AS(fresh_bits("f64 exact cpu 0x3ffg", DType::f64, Method::exact, "cpu"), program::Failure);
    CHECK(run_program("--help").out.find("fresh-sums") == std::string::npos);
}

TEST_CASE("fresh processes that fail are not measured, and the report says why", "[report]") {
    const TemporaryDirectory dir;
    const std::filesystem::path out = dir.path() / "out", copy = dir.path() / "detreduce";
    std::filesystem::copy_file(DETREDUCE_PROGRAM, copy);
    // A program whose file is gone cannot be started again for a fresh process.
    const std::string gone = "exec 3<" + quoted(copy) + "; rm " + quoted(copy) + "; exec /proc/self/fd/3 ";
    const std::string arguments =
        "report --quick --device cpu --max-n 1000 --measure-only --sections determinism --out ";
    const auto said = dir.path() / "said";
    const int status = std::system((gone + arguments + quoted(out) + " >" + quoted(said) + " 2>&1").c_str());
    INFO(contents(said));
    CHECK(WEXITSTATUS(status) == 0);
    const Results results = load_results(out / "results.json");
    CHECK(results.provenance.incomplete.empty());
    std::size_t fresh = 0, others = 0;
    for (const DeterminismRow& r : results.determinism) {
        if (r.axis == "fresh processes") {
            ++fresh;
            CHECK_FALSE(r.runs);
        } else {
            others += r.runs.has_value();
        }
    }
    CHECK(fresh > 10);
    CHECK(others > 10);
    const auto& notes = results.provenance.notes;
    const auto why = std::find_if(notes.begin(), notes.end(), [](const std::string& n) {
        return n.starts_with("Fresh processes were not measured: ");
    });
    REQUIRE(why != notes.end());
    CHECK(why->ends_with("cannot be started: No such file or directory."));
    CHECK(contents(said).find("note: " + *why) != std::string::npos);
}

TEST_CASE("the command has every option, as a shell takes it", "[report]") {
    program::ReportArguments a;
    a.out = "a b";
    CHECK(program::command_line(a) == "detreduce report --out 'a b' --seed 1");
    a.quick = a.full = a.measure_only = true;
    a.sections = {"error", "cost"};
    a.device = "cuda:1";
    a.seed = 7;
    a.max_n = 100;
    a.data = {"x.npy", "$y.npy"};
    a.compare = {"other run/results.json"};
    CHECK(program::command_line(a) ==
          "detreduce report --out 'a b' --quick --full --sections error,cost --device cuda:1 --seed 7 --max-n 100 "
          "--measure-only --data x.npy --data '$y.npy' --compare 'other run/results.json'");
    a = {};
    a.out = "out";
    a.program = "my study";
    a.own = {{"a loop", DType::f32, {}}};
    CHECK(program::command_line(a) == "'my study' --out out --seed 1");
}

TEST_CASE("what needs more memory than there is becomes a note", "[report]") {
    Results results;
    bool after = false;
    unless_out_of_memory(results, "The error of f32", [&] { after = true; });
    CHECK(after);
    CHECK(results.provenance.notes.empty());
    unless_out_of_memory(results, "The error of f32",
                         [] { throw program::OutOfMemory("no 9 bytes of device memory are free"); });
    CHECK(results.provenance.notes ==
          std::vector<std::string>{"The error of f32 was left out: no 9 bytes of device memory are free."});
    CHECK_THROWS_AS(unless_out_of_memory(results, "", [] { throw program::Failure("another"); }), program::Failure);
    CHECK(results.provenance.notes.size() == 1);
}
