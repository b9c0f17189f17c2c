// numpy.sum among what is timed on the CPU: with a python3 that does as it is told, and with the
// real one where it has NumPy.
#include <support/catch.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>

#include "failure.hpp"
#include "fake_program.hpp"
#include "files.hpp"
#include "interrupt.hpp"
#include "json.hpp"
#include "numpy_peer.hpp"
#include "peers.hpp"
#include "sample.hpp"

using namespace report_test;
using namespace detreduce::report;
using detreduce::DType;

namespace {

struct FakePython : FakeProgram {
    explicit FakePython(const std::string& script) : FakeProgram("python3", script) {}
};

struct Peer {
    Progress progress{Progress::Shown::nothing};
    std::vector<std::string> notes;
    NumpyPeer numpy{progress, notes, std::chrono::milliseconds(500)};
};

const std::string answers = "echo A warning; echo '= 9.8.7'; echo another\n"
                            "while read -r what times; do\n"
                            "  case $what in data) echo '= ready';; *) echo \"= ${times}e-5\";; esac\n"
                            "done\n";
constexpr const char* advice = "“pip install numpy” installs it.";

std::string note_of(const std::string& script) {
    const FakePython python(script);
    Peer peer;
    if (peer.numpy.prepare(DType::f32, 16)) CHECK_FALSE(peer.numpy.seconds(1));
    CHECK_FALSE(peer.numpy.prepare(DType::f64, 16)); // and never again
    CHECK_FALSE(peer.numpy.seconds(1));
    REQUIRE(peer.notes.size() == 1);
    CHECK(peer.notes.front().starts_with("numpy.sum was not timed: "));
    return peer.notes.front();
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

Results costs(const std::string& script, const std::string& options = "") {
    const FakePython python(script);
    const TemporaryDirectory dir;
    const Outcome o = run_program("report --quick --device cpu --sections cost --max-n 256 --measure-only --out '" +
                                  dir.path().string() + "'" + options);
    INFO(o.err);
    REQUIRE(o.status == 0);
    return load_results(dir.path() / "results.json");
}

} // namespace

TEST_CASE("numpy.sum is timed in turns with the others", "[report]") {
    const Results results = costs(answers);
    std::string dtypes;
    for (const CostRow& r : results.cost) {
        if (r.candidate != numpy_name) continue;
        dtypes += r.dtype + " ";
        CHECK(r.variant == "1 thread, NumPy 9.8.7");
        CHECK(r.data == plain_data);
        CHECK(r.n == 256);
        CHECK(r.median_s.value() == Approx(1e-5)); // of one of the ten that are timed at once
        CHECK(r.gb_per_s.value() == Approx(static_cast<double>(r.bytes) / 1e-5 / 1e9));
        for (const CostRow& other : results.cost) {
            if (other.dtype != r.dtype || other.data != r.data) continue;
            CHECK(r.repeats == other.repeats);
            if (other.candidate == read_name && other.variant == "1 thread")
                CHECK(r.ratio_to_read.value() == Approx(*other.median_s / 1e-5));
        }
    }
    CHECK(dtypes == "f16 f32 f64 ");
}

TEST_CASE("a python3 without NumPy, or none, is a note with advice", "[report]") {
    const std::string none = note_of("");
    CHECK(has(none, "python3 was not found in PATH."));
    CHECK(has(none, advice));
    const std::string module = note_of("echo Traceback; echo \"ModuleNotFoundError: No module named 'numpy'\"; exit 1");
    CHECK(has(module, "(exit 1): 'ModuleNotFoundError: No module named 'numpy''"));
    CHECK(has(module, advice));
}

TEST_CASE("a python3 that fails later is a note", "[report]") {
    const std::string memory = note_of("echo = 1.0; read -r x; echo MemoryError; exit 3");
    CHECK(memory == "numpy.sum was not timed: python3 ended (exit 3): 'MemoryError'.");
    CHECK(has(note_of("echo = 1.0; read -r x; kill -9 $$"), "ended (by a signal)"));
    CHECK(has(note_of("echo = 1.0; while read -r x; do echo = ready; done"), "said 'ready', which is no time"));
    CHECK(has(note_of("echo = 1.0; while read -r x; do echo = 1.5; done"), "said '1.5'."));
    for (const char* time : {"nan", "inf", "-1", "0", "1s"})
        CHECK(
            has(note_of("echo = 1.0; read -r x; echo = ready; read -r x; echo = " + std::string(time) + "; read -r x"),
                "is no time"));
    const auto start = std::chrono::steady_clock::now();
    CHECK(has(note_of("echo = 1.0; while read -r x; do :; done"), "said nothing for 0.5 s"));
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

TEST_CASE("a python3 that fails does not end the report, and leaves no row", "[report]") {
    // It ends after some times of f16.
    const Results results = costs("echo = 1.0; i=0; while read -r x y; do i=$((i+1)); [ $i -lt 6 ] || exit 1; "
                                  "case $x in data) echo = ready;; *) echo = 0.001;; esac; done");
    CHECK(std::none_of(results.cost.begin(), results.cost.end(),
                       [](const CostRow& r) { return r.candidate == numpy_name; }));
    CHECK(std::any_of(results.cost.begin(), results.cost.end(),
                      [](const CostRow& r) { return r.dtype == "f64" && r.candidate == accumulate_name; }));
    CHECK(std::count_if(results.provenance.notes.begin(), results.provenance.notes.end(),
                        [](const std::string& n) { return has(n, "numpy.sum was not timed: python3 ended"); }) == 1);
}

TEST_CASE("NumPy has no bf16, and is not started for it", "[report]") {
    const FakePython python("exit 1");
    Peer peer;
    CHECK_FALSE(peer.numpy.prepare(DType::bf16, 16));
    CHECK(peer.notes.empty());
}

TEST_CASE("Ctrl-C ends waiting for python3", "[report]") {
    const FakePython python("while read -r x; do :; done");
    const NoteInterrupt noting;
    Peer peer;
    std::raise(SIGINT);
    CHECK_THROWS_AS(peer.numpy.prepare(DType::f32, 16), detreduce::program::Interrupted);
    CHECK(peer.notes.empty());
}

TEST_CASE("the NumPy that is here is timed", "[report]") {
    if (std::system(
            "python3 -I -c 'import site; site.addsitedir(site.getusersitepackages()); import numpy' >/dev/null 2>&1") !=
        0) {
        return detreduce::proptests::skipped("python3 here has no numpy, so that its real times are not tested");
    }
    Progress progress(Progress::Shown::nothing);
    std::vector<std::string> notes;
    NumpyPeer numpy(progress, notes);
    for (const DType dtype : {DType::f16, DType::f32, DType::f64}) {
        REQUIRE(numpy.prepare(dtype, 3 << 18)); // not a multiple of its pattern
        REQUIRE(numpy.seconds(1));
        const double few = numpy.seconds(2).value_or(0), many = numpy.seconds(100).value_or(0);
        CHECK(few > 0);
        CHECK(many > 5 * few);
    }
    CHECK(!numpy.version().empty());
    CHECK(notes.empty());
}
