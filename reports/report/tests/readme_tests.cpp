// The tables of README.md and docs/: what stands between the comments, and what folders of results
// make of it.
#include <support/catch.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "block.hpp"
#include "failure.hpp"
#include "files.hpp"
#include "json.hpp"
#include "performance.hpp"
#include "render.hpp"
#include "sample.hpp"

using namespace report_test;
using namespace detreduce::readme;
using detreduce::program::Failure;
using detreduce::report::DeterminismRow;
using detreduce::report::Results;

namespace {

const std::string begin = "<!-- tables: begin one; by whom -->\n", end = "<!-- tables: end -->\n";

std::string written(const std::string& text) {
    return with_blocks(
        text, [](const std::string& name) { return "new " + name + "\n"; }, "README.md");
}

Results timed(const char* candidate) {
    Results results = sample();
    results.cost = {{"f32", candidate, "", "cuda:0", "normal", 32768, 131072, 50, 5.25e-6, 0.01, 24.966, 0.75}};
    return results;
}

} // namespace

TEST_CASE("the tables replace what stands between the comments and nothing else", "[readme]") {
    const std::string text = "a\n" + begin + "old\n" + end + "b\n";
    CHECK(written(text) == "a\n" + begin + "\nnew one\n\n" + end + "b\n");
    CHECK(written(written(text)) == written(text));
    CHECK(written(begin + end) == begin + "\nnew one\n\n" + end);
    const std::string other = "<!-- tables: begin two -->\n";
    CHECK(written(text + other + "x\n" + end) == written(text) + other + "\nnew two\n\n" + end);
}

TEST_CASE("a document without whole blocks is refused", "[readme]") {
    for (const std::string& text :
         {std::string("a\n"), "a\n" + begin, "a\n" + end, "a\n" + end + begin, "a\n" + begin + end + begin,
          "a\n" + begin + end + end, "a\n" + begin + begin + end, "a\n in words: " + begin + end})
        CHECK_THROWS_AS(written(text), Failure);
}

TEST_CASE("the first line that differs is found", "[readme]") {
    CHECK_FALSE(first_difference("a\nb\n", "a\nb\n"));
    const auto at = first_difference("a\nb\nc\n", "a\nB\nc\n");
    REQUIRE(at);
    CHECK(at->line == 2);
    CHECK(at->is == "b");
    CHECK(at->should_be == "B");
    REQUIRE(first_difference("a\n", "a\nb\n"));
    CHECK(first_difference("a\n", "a\nb\n")->should_be == "b");
    CHECK(first_difference("a\nb\n", "a\n")->is == "b");
    CHECK(first_difference("a\n\n", "a\n")->line == 2);
}

TEST_CASE("every table says its file, GPU, commit and date", "[readme]") {
    const detreduce::report::TemporaryDirectory dir;
    const auto write = [&](const char* file, const std::string& text) {
        detreduce::report::write_file(dir.path() / file, text);
    };
    std::filesystem::create_directories(dir.path() / "gpu");
    std::filesystem::create_directories(dir.path() / "nvidia-h100-x2");
    for (const char* folder : {"xeon-cpu", "edge-cases", "build"})
        std::filesystem::create_directories(dir.path() / folder);
    write("gpu/launches.csv", cost_csv(timed("exact")));
    const auto text_of = [&](const std::string& name) { return table(name, dir.path() / "gpu", "results/gpu"); };
    CHECK_THROWS_AS(text_of("sums"), Failure); // no provenance
    CHECK_THROWS_AS(text_of("no such table"), Failure);
    write("gpu/ops.csv", cost_csv(timed("mean tree")));
    write("gpu/ops_small.csv", cost_csv(timed("mean tree")));
    write("gpu/shapes.csv", cost_csv(timed("sum tree rows of 32")));
    Results of_rows = timed("logsumexp tree rows of 4096");
    const Results of_means = timed("huber exact mean");
    of_rows.cost.insert(of_rows.cost.end(), of_means.cost.begin(), of_means.cost.end());
    write("gpu/row_ops.csv", cost_csv(of_rows));
    write("gpu/results.json", to_json(sample()));
    write("gpu/ladder.json", to_json(sample()));
    write("gpu/summary.txt", "PASS all of it\nFAIL some_tests   3s  (one was slow)\nnote: of five cases\nFAIL\n");
    write("gpu/provenance.txt", "date 2026-11-21T23:35:42Z\ncommit 4b011889a530\ngpu Some GPU, 580, 143771 MiB, 9.0\n"
                                "shapes.csv: commit 2ac5fa689, 2026-11-22\n");
    write("nvidia-h100-x2/summary.txt", "PASS two_gpus\nPASS later  7s  (1 rank; all of it; at 6c0ffee1234)\n"
                                        "FAIL alone  (at 7c0ffee12)\nPASS early  (at 3 sizes)\nnote: of a rank each\n");
    write("nvidia-h100-x2/provenance.txt",
          "date 2026-11-25T23:14:30Z\ncommit 5b011889a530\ngpu Two GPUs, 580, 143771 MiB, 9.0\ncpu 9 processors\n"
          "nvcc 13\n");
    Results on_cpu = timed("exact");
    on_cpu.cost[0].variant = "1 thread";
    on_cpu.cost[0].median_s = 32768e-9; // 1 ns an element
    on_cpu.provenance.cpu = "Some CPU";
    on_cpu.provenance.gpu.reset();
    write("xeon-cpu/results.json", to_json(on_cpu));

    write("edge-cases/python.txt", "Some processor\n\n| sum of | dtype | numpy |\n|---|---|---:|\n| two | f32 | 7 |\n");
    write("edge-cases/cub.txt", "A GPU, CUB 9\n\n| sum of | dtype | default | gpu_to_gpu |\n|---|---|---:|---:|\n"
                                "| 1e300 + 1e300 | f64 | 2e+300 | 3.25e+260 |\n");

    for (const char* name : {"ranks", "gpus", "processes"}) // which nobody measured here
        CHECK(text_of(name).find("not ") != std::string::npos);
    Results by_ranks = sample();
    const DeterminismRow over_ranks{
        {"sum", "flat", "f32", "f32", "exact", "cpu"}, "MPI ranks", "n", "normal", 1, true, 5, 1, 0.0};
    by_ranks.determinism = {over_ranks, over_ranks, over_ranks};
    by_ranks.determinism[1].axis = "NCCL ranks";
    by_ranks.determinism[1].subject.method = "tree";
    by_ranks.determinism[1].distinct = 3;
    by_ranks.determinism[2].runs = by_ranks.determinism[2].distinct = std::nullopt; // where there was no MPI
    by_ranks.provenance.cpu = "Processes' CPU";
    write("nvidia-h100-x2/results.json", to_json(by_ranks));
    const auto timed_by = [](int ranks, int log_n, int speed) {
        return fmt::format(
            "ranks {}, f32 exact sum of 2^{} each: alone 5.25 us, bare all-reduce of 74 words 19.00 us, by "
            "all 30.50 us, that is -6.25 us more; all read {} GB/s\n",
            ranks, log_n, speed);
    };
    write("nvidia-h100-x2/nccl.txt", "1 ranks have the bits of one\n" + timed_by(1, 10, 1) + timed_by(1, 20, 2) +
                                         timed_by(1, 32, 4000) + timed_by(2, 10, 2) + timed_by(2, 20, 4) +
                                         timed_by(2, 32, 7800) + "note: they were busy\n");
    write("xeon-cpu/mpi.txt",
          "Some processor\n\n| by | called as | elapsed, s |\n|---|---|---:|\n| 2 ranks | x | 7.25 |\n");
    CHECK(text_of("ops-beside") == "Ops were measured on no other GPU.\n");
    CHECK(text_of("small-ops-beside") == "Ops on little data were measured on no other GPU.\n");
    CHECK(text_of("shapes-beside") == "Rows, columns, segments and lists were measured on no other GPU.\n");
    write("nvidia-h100-x2/ops.csv", cost_csv(timed("mean exact")));
    CHECK(text_of("data").find("adversaries.csv") == std::string::npos);
    write("gpu/adversaries.csv", cost_csv(timed("dot exact")));

    struct Line {
        const char *table, *part;
    };
    for (const Line& line : {
             Line{"sums", "From [launches.csv](results/gpu/launches.csv): Some GPU, commit 4b011889a, 2026-11-21."},
             Line{"sums", "| f32 2¹⁵ | 5.25 | 0.750 |  |\n"},
             Line{"data", "| `exact`, 128 KiB, share of the read-only kernel | f32 |\n"},
             Line{"data", "| normal | 0.750 |\n"},
             Line{"data", "From [adversaries.csv](results/gpu/adversaries.csv)"},
             Line{"data", "| dot, f32 | `normal` |  | 0.750 |\n"},
             Line{"ops", "From [ops.csv](results/gpu/ops.csv): Some GPU, commit 4b011889a, 2026-11-21."},
             Line{"ops", "| `mean` | 0.750 |\n"},
             Line{"ops-beside",
                  "From [nvidia-h100-x2/ops.csv](results/nvidia-h100-x2/ops.csv): Two GPUs, commit 5b011889a"},
             Line{"ops-beside", "| `mean` | 0.750 |\n"},
             Line{"small-ops", "From [ops_small.csv](results/gpu/ops_small.csv)"},
             Line{"small-ops", "| `mean` |  |\n"},
             Line{"shapes", "From [shapes.csv](results/gpu/shapes.csv): Some GPU, commit 2ac5fa689, 2026-11-22."},
             Line{"shapes", "| `sum`, rows of 32 | 0.750 |\n"},
             Line{"row-ops", "From [row_ops.csv](results/gpu/row_ops.csv)"},
             Line{"row-ops", "f32 `tree` |\n"}, // of losses there is `exact`, in a table of their own
             Line{"row-ops", "| `logsumexp`, rows of 4096 | 0.750 |\n"},
             Line{"row-ops", "f32 `exact` |\n"},
             Line{"row-ops", "| `huber` | 0.750 |\n"},
             Line{"choices", "From [results.json](results/gpu/results.json)"},
             Line{"choices", "| tree | f32 |"},
             Line{"choices", "Speed is that on 128 KiB; “× read” is relative"},
             Line{"choices-f32", "| tree | f32 |"},
             Line{"chooser", "| `sum(x)` |"},
             Line{"chooser", " | 1.00 |\n"},
             Line{"chooser", "| `order`: any order, any split; correctly rounded | 0.957 |"},
             Line{"choices-f32", "one ulp is the distance between neighbouring numbers"},
             Line{"choices-f32", "The condition number Σ|x| / |Σx| is"},
             Line{"choices-f32", "([adversaries.csv](results/gpu/adversaries.csv)), × read: sums ; `dot` f32 0.75.\n"},
             Line{"chooser", "Some CPU"},
             Line{"cpu-sums", "| `exact` | 1.00 |"},
             Line{"cpu-ops", "Some CPU"},
             Line{"edges", "| sum of | dtype | true sum | `exact` |"},
             Line{"edges", " | CUB `gpu_to_gpu` |\n"},
             Line{"edges", " | 3.25e+260 |\n"},
             Line{"edges", "; of CUB from [cub.txt](results/edge-cases/cub.txt): A GPU, CUB 9."},
             Line{"cpu-edges", "From [python.txt](results/edge-cases/python.txt): Some processor."},
             Line{"cpu-edges", "| two | f32 | 7 |"},
             Line{"ranks", "From [nvidia-h100-x2/results.json](results/nvidia-h100-x2/results.json): "},
             Line{"ranks", "| `mpi::all_reduce` | `exact` | Processes' CPU | 5 | 1 |\n"},
             Line{"ranks", "| `ncclSum` of floats | `tree` | "},
             Line{"ranks", " | 5 | 3 |\n"},
             Line{"gpus",
                  "From [nvidia-h100-x2/nccl.txt](results/nvidia-h100-x2/nccl.txt): Two GPUs, commit 5b011889a"},
             Line{"gpus", "| 2¹⁰ each, Two GPUs | 2 | 5.25 | 19.00 | 30.50 | -6.25 |  |  |\n"},
             Line{"gpus", "| 2³² each, Two GPUs | 2 | 5.25 | 19.00 | 30.50 | -6.25 | 7800 | 0.975 |\n"},
             Line{"gpus", "\n- they were busy\n"},
             Line{"processes", "From [xeon-cpu/mpi.txt](results/xeon-cpu/mpi.txt): Some processor."},
             Line{"processes", "| 2 ranks | x | 7.25 |"},
             Line{"verified", "[nvidia-h100-x2/summary.txt](results/nvidia-h100-x2/summary.txt)"},
             Line{"verified", "**Two GPUs, driver 580; 9 processors; nvcc 13** ([nvidia-h100-x2/provenance.txt]"},
             Line{"verified", "| two_gpus | passed | 5b011889a |\n"},
             Line{"verified", "| later | passed: 1 rank; all of it | 6c0ffee12 |\n"}, // a commit of its own
             Line{"verified", "| alone | FAILED | 7c0ffee12 |\n"},
             Line{"verified", "| early | passed: at 3 sizes | 5b011889a |\n"},
             Line{"verified", "- of a rank each"},
             Line{"verified", "| all of it | passed | 4b011889a |\n"},
             Line{"verified", "| some_tests | FAILED: one was slow | 4b011889a |\n"},
             Line{"verified", "`detreduce report` `--out out`"},
             Line{"verified", "| none | Some CPU"},
             Line{"verified", "\n- of five cases\n"},
             Line{"ladder", "From [ladder.json](results/gpu/ladder.json)"},
         }) {
        INFO(line.table << ": " << line.part);
        CHECK(text_of(line.table).find(line.part) != std::string::npos);
    }
    CHECK(text_of("gpus").find("2²⁰") == std::string::npos); // the smallest and the largest are shown
    write("nvidia-h100-x2/nccl.txt", "nothing\n");
    CHECK_THROWS_AS(text_of("gpus"), Failure);
    std::filesystem::remove(dir.path() / "nvidia-h100-x2" / "nccl.txt");
    CHECK(text_of("edges").find("NCCL") == std::string::npos);
    write("edge-cases/nccl.txt", "2 GPUs\n\n| sum of | dtype | ncclAllReduce |\n|---|---|---:|\n| two | f64 | 1 |\n");
    CHECK(text_of("edges").find(" | 3.25e+260 |  |\n") != std::string::npos); // not tried
    for (const char* wrong : {"", "A GPU\n", "| a | b | c |\n| 1 | 2 | 3 |\n", "A GPU\n| a | b |\n| 1 | 2 |\n",
                              "A GPU\n| a | b | c |\n| 1 | 2 |\n", "A GPU\n| a | b | c |\n| 1 | 2 | 3 |\nerror\n"}) {
        INFO(wrong);
        write("edge-cases/nccl.txt", wrong);
        CHECK_THROWS_AS(text_of("edges"), Failure);
    }
    std::filesystem::remove(dir.path() / "edge-cases" / "nccl.txt");
    CHECK(text_of("build").find("there are no figures") != std::string::npos);
    write("build/cpu.json",
          R"({"schema": "detreduce-build", "schema_version": 1, "architectures": "", "commit": "0123456789ab",
        "date": "2026-11-26", "compiler": "g++ 12", "nvcc": "", "cpu": "Some CPU", "bytes": 4321000, "processor_seconds": 119})");
    write("build/90.json",
          R"({"schema": "detreduce-build", "schema_version": 1, "architectures": "80-real;90", "commit":
        "0123456789ab", "date": "2026-11-26", "compiler": "g++ 12", "nvcc": "13.0", "cpu": "Some CPU", "bytes": 54321000,
        "processor_seconds": 9000})");
    CHECK(text_of("build").find(
              "4.3 MB, 119 s for the CPU alone; 54 MB, 2.5 h for GPUs of architecture 80, 90 and PTX of 90. From "
              "[build](results/build): g++ 12, nvcc 13.0, Some CPU, commit 012345678, 2026-11-26.") !=
          std::string::npos);
    write("build/80.json",
          R"({"schema": "detreduce-build", "schema_version": 1, "architectures": "80", "commit": "0123456789ab",
              "date": "2026-11-27", "compiler": "g++ 13", "nvcc": "12.8", "cpu": "Another", "processor_seconds": 100,
              "bytes": 40000000})");
    CHECK(text_of("build").find("(g++ 13, nvcc 12.8, Another, commit 012345678, 2026-11-27)") != std::string::npos);
    CHECK(text_of("build").find("for the CPU alone (g++ 12, Some CPU, commit 012345678, 2026-11-26); ") !=
          std::string::npos);
    std::filesystem::remove(dir.path() / "build" / "80.json");
    write("build/wrong.json", R"({"schema": "detreduce-build", "schema_version": 1})");
    CHECK_THROWS_AS(text_of("build"), Failure);
    std::filesystem::remove(dir.path() / "build" / "wrong.json");
    on_cpu.provenance.notes = {"The machine was busy when the run began.", "numpy.sum was not timed: no reason"};
    write("xeon-cpu/results.json", to_json(on_cpu));
    CHECK(text_of("cpu-sums").find("The machine was busy") != std::string::npos);
    CHECK(text_of("cpu-sums").find("numpy") == std::string::npos); // which is in no table
    CHECK(text_of("choices-f32").find("| f64 |") == std::string::npos);
    CHECK_THROWS(text_of("python-calls")); // no python.json
    write("gpu/python.json",
          R"({"provenance": {"commit": "0123456789ab", "date": "2026-11-26", "python": "3.12", "numpy": "2",
        "cpu": "Some CPU", "gpu": "Some GPU"}, "rows": [{"part": "overhead", "case": "sum of 16", "dtype": "float32", "elements": 16,
        "device": "cpu", "library": "detreduce", "microseconds": 4.5}, {"part": "overhead", "case": "sum of 16", "dtype": "float32",
        "elements": 16, "device": "cpu", "library": "torch", "microseconds": 2.5}]})");
    CHECK(text_of("python-calls").find("4.5") != std::string::npos);
    CHECK_THROWS(text_of("python-shapes")); // no python.json of a CPU
    write("xeon-cpu/python.json",
          R"({"provenance": {"commit": "0123456789ab", "date": "2026-11-26", "python": "3.11", "numpy": "2",
        "cpu": "Other CPU"}, "rows": [{"part": "shapes", "case": "sum, rows of 32", "dtype": "float32", "elements": 1000, "device": "cpu", "threads": 1,
        "library": "exact", "microseconds": 3}, {"part": "shapes", "case": "sum, rows of 32", "dtype": "float32", "elements": 1000,
        "device": "cpu", "threads": 1, "library": "torch", "microseconds": 2}]})");
    CHECK(text_of("python-shapes").find("| sum, rows of 32 | float32 | 3.00 |  | 2.00 |  |  | 1.50 |  |") !=
          std::string::npos);
    CHECK_THROWS_AS(text_of("shapes-cub"), Failure); // CUB was not timed
    Results of_shapes = timed("sum tree rows of 32");
    of_shapes.cost.push_back(of_shapes.cost.front());
    of_shapes.cost.back().candidate = "cub::DeviceSegmentedReduce::Sum";
    of_shapes.cost.back().variant = "sum rows of 32";
    of_shapes.cost.back().median_s = *of_shapes.cost.front().median_s * 4;
    write("gpu/shapes.csv", cost_csv(of_shapes));
    CHECK(text_of("shapes-cub").find("| `sum`, rows of 32 | 4.000 |") != std::string::npos);
    CHECK_THROWS(text_of("shapes-torch")); // no peers.json
    const auto of_peer = [](const char* part, const char* name, const char* dtype, const char* library, double us) {
        return nlohmann::json{{"part", part},       {"case", name},     {"dtype", dtype},
                              {"library", library}, {"device", "cuda"}, {"microseconds", us}};
    };
    nlohmann::json peers = nlohmann::json::parse(read_file(dir.path() / "gpu" / "python.json"));
    peers["rows"] = {of_peer("reductions", "sum, rows of 32", "f32", "exact", 4),
                     of_peer("reductions", "sum, rows of 32", "f32", "tree", 2),
                     of_peer("reductions", "sum, rows of 32", "f32", "torch", 6),
                     of_peer("reductions", "argmax, rows of 32", "f64", "exact", 5),
                     of_peer("row_ops", "softmax with gradients, rows of 9", "bf16", "detreduce", 8),
                     of_peer("row_ops", "softmax with gradients, rows of 9", "bf16", "liger", 2)};
    write("gpu/peers.json", peers.dump());
    CHECK(text_of("shapes-torch").find("| `sum`, rows of 32 | 3.00 |  | 1.50 |  |\n| `argmax`, rows of 32 |") !=
          std::string::npos);
    CHECK(text_of("row-ops-peers").find("| `softmax` with gradients, rows of 9 |  |  | 0.25 |") != std::string::npos);
    CHECK_THROWS(text_of("eight-bits")); // no f8.csv
    write("nvidia-h100-x2/f8.csv", cost_csv(timed("mean exact")));
    write("nvidia-h100-x2/f8_shapes.csv", cost_csv(timed("sum exact rows of 32")));
    CHECK(text_of("eight-bits").find("| `mean` | 0.750 |\n") != std::string::npos);
    CHECK(text_of("eight-bits").find("From [f8_shapes.csv](results/nvidia-h100-x2/f8_shapes.csv): Two GPUs") !=
          std::string::npos);
    CHECK(text_of("eight-bits").find("| `sum`, rows of 32 | 0.750 |\n") != std::string::npos);
    for (const std::string& name : table_names())
        CHECK_FALSE(text_of(name).empty());
}
