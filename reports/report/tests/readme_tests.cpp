// README's tables: what stands between the comments, and what a folder of results makes of it.
#include <support/catch.hpp>

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
using detreduce::report::Results;

namespace {

const std::string begin = "<!-- tables: begin; by whom -->\n", end = "<!-- tables: end -->\n";

Results timed(const char* candidate) {
    Results results = sample();
    results.cost = {{"f32", candidate, "", "cuda:0", "normal", 32768, 131072, 50, 5.25e-6, 0.01, 24.966, 0.75}};
    return results;
}

} // namespace

TEST_CASE("the tables replace what stands between the comments and nothing else", "[readme]") {
    const std::string text = "a\n" + begin + "old\n" + end + "b\n";
    const std::string written = with_block(text, "new\n", "README.md");
    CHECK(written == "a\n" + begin + "\nnew\n\n" + end + "b\n");
    CHECK(with_block(written, "new\n", "README.md") == written);
    CHECK(with_block("a\n" + begin + end, "new\n", "README.md") == "a\n" + begin + "\nnew\n\n" + end);
}

TEST_CASE("a README without the two comments, once each and in order, is refused", "[readme]") {
    for (const std::string& text : {"a\n" + begin, "a\n" + end, "a\n" + end + begin, "a\n" + begin + end + begin,
                                    "a\n" + begin + end + end, "a\n in words: " + begin + end})
        CHECK_THROWS_AS(with_block(text, "new\n", "README.md"), Failure);
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
    write("launches.csv", cost_csv(timed("exact")));
    CHECK_THROWS_AS(performance(dir.path(), "results"), Failure);
    write("ops.csv", cost_csv(timed("mean tree")));
    write("ops_small.csv", cost_csv(timed("mean tree")));
    write("shapes.csv", cost_csv(timed("sum tree rows of 32")));
    write("row_ops.csv", cost_csv(timed("logsumexp tree rows of 4096")));
    write("results.json", to_json(sample()));
    write("ladder.json", to_json(sample()));
    write("provenance.txt", "date 2026-11-21T23:35:42Z\ncommit 4b011889a530\ngpu Some GPU, 580, 143771 MiB, 9.0\n"
                            "shapes.csv: commit 2ac5fa689, 2026-11-22\n");
    const std::string text = performance(dir.path(), "results");
    for (const char* part :
         {"From [launches.csv](results/launches.csv): Some GPU, commit 4b011889a, 2026-11-21.",
          "| f32 2¹⁵ | 5.25 | 0.750 |  |\n", "| `exact`, 128 KiB, share of the read-only kernel | f32 |\n",
          "| normal | 0.750 |\n", "From [ops.csv](results/ops.csv): Some GPU, commit 4b011889a, 2026-11-21.",
          "| `mean` | 0.750 |\n", "From [ops_small.csv](results/ops_small.csv)", "| `mean` |  |\n",
          "From [shapes.csv](results/shapes.csv): Some GPU, commit 2ac5fa689, 2026-11-22.",
          "| `sum`, rows of 32 | 0.750 |\n", "From [row_ops.csv](results/row_ops.csv)",
          "| `logsumexp`, rows of 4096 | 0.750 |\n", "From [results.json](results/results.json)", "| tree | f32 |",
          " and speed on 128 KiB, relative", "](results/summary-f32.svg)", "From [ladder.json](results/ladder.json)"}) {
        INFO(part);
        CHECK(text.find(part) != std::string::npos);
    }
}
