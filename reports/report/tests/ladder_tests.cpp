// The ladder without a GPU: its rows in files, its tables beside what was published, and what the
// command says here.
#include <support/catch.hpp>

#include <algorithm>
#include <set>

#include "failure.hpp"
#include "files.hpp"
#include "json.hpp"
#include "ladder_tables.hpp"
#include "read_csv.hpp"
#include "render.hpp"
#include "sample.hpp"
#include "schema.hpp"

using namespace report_test;
using namespace detreduce::report;
using detreduce::program::Failure;
using nlohmann::json;

namespace {

LadderRow row(const char* table, const char* rung, const char* family, std::int64_t per_thread, double gb_per_s,
              std::uint64_t n = 1 << 20) {
    LadderRow r;
    r.table = table;
    r.rung = rung;
    r.family = family;
    r.title = "what changed";
    r.n = n;
    r.rows = 1;
    r.threads = 128;
    r.per_thread = per_thread;
    r.repeats = 20;
    r.gb_per_s = gb_per_s;
    r.median_s = static_cast<double>(n) * 4 / gb_per_s / 1e9;
    r.deviation = 0.01;
    r.ratio_to_read = gb_per_s / 4000;
    return r;
}

/// A ladder alone, as the command writes it.
Results ladder() {
    Results r;
    r.provenance = sample().provenance;
    r.provenance.gpu->peak_gb_per_s = 4800;
    r.ladder = {row(rungs_table, "read", yardstick_family, 0, 4000),
                row(rungs_table, "K3", "batched", 1, 1000),
                row(rungs_table, "K4", "batched", 32, 3800),
                row(rungs_table, "segmented", "flat", 2, 900),
                row(rungs_table, "tree", library_family, 0, 3900),
                row(rungs_table, "cub::DeviceReduce::Sum", library_family, 0, 3950)};
    r.ladder[3].runs = 1000;
    r.ladder[3].distinct = 37;
    r.ladder[3].error_ulp = 12.5;
    r.ladder[3].guarantee = "none";
    r.ladder[3].launches = 2;
    r.ladder[3].note = nasty;
    r.ladder[5].median_s = r.ladder[5].deviation = {};
    for (const std::int64_t per_thread : {1, 2})
        r.ladder.push_back(
            row(per_thread_table, "K4", "batched", per_thread, 1900.0 * static_cast<double>(per_thread)));
    r.ladder.push_back(row(coalesced_table, "K4", "batched", 32, 3000));
    r.ladder.back().coalesced = false;
    for (const std::uint64_t n : {1u << 10, 1u << 20})
        for (const char* rung : {"atomic", "last block"})
            r.ladder.push_back(row(sizes_table, rung, "three-level", 0, 100, n));
    r.ladder.push_back(row(softmax_table, "fused two-pass", "softmax", 0, 3000));
    r.ladder.back().rows = 256;
    r.ladder.push_back(row(nasty, nasty, nasty, 3, 1));
    return r;
}

const Table& table_of(const Section& section, const std::string& id) {
    for (const Table& t : section.tables)
        if (t.id == id) return t;
    throw Failure("no table " + id);
}

std::vector<std::string> line_of(const Table& table, const std::string& first, std::size_t which = 0) {
    for (const auto& cells : table.rows) {
        if (cells.front().text != first || which-- > 0) continue;
        std::vector<std::string> texts;
        for (const Cell& c : cells)
            texts.push_back(c.mood == Mood::absent ? "absent" : c.text);
        return texts;
    }
    throw Failure("no line " + first);
}

using Texts = std::vector<std::string>;

std::string quoted(const std::filesystem::path& path) {
    return "'" + path.string() + "'";
}

} // namespace

TEST_CASE("ladder rows are read back from JSON as they were written, and files without them are as before",
          "[report]") {
    const Results results = ladder();
    CHECK(from_json(to_json(results), "test") == results);
    CHECK(to_json(sample()).find("ladder") == std::string::npos);
    const auto wrong = violations(results_schema(), json::parse(to_json(results)));
    INFO((wrong.empty() ? std::string() : wrong.front()));
    CHECK(wrong.empty());
}

TEST_CASE("every key of a ladder row is required and checked, by the schema and by the reader", "[report]") {
    const json schema = results_schema(), good = json::parse(to_json(ladder()));
    const auto both_refuse = [&](const json& bad) {
        CHECK_FALSE(violations(schema, bad).empty());
        CHECK_THROWS_AS(from_json(bad.dump(), "test"), Failure);
    };
    for (const auto& [key, unused] : good["ladder"][0].items()) {
        INFO(key);
        json bad = good;
        bad["ladder"][0].erase(key);
        both_refuse(bad);
        bad = good;
        bad["ladder"][0][key] = json::array();
        both_refuse(bad);
    }
    json bad = good;
    bad["ladder"] = 1;
    both_refuse(bad);
}

TEST_CASE("published figures name their source, and each is found by the rung and parameters it was taken with",
          "[report]") {
    std::set<std::string> seen;
    for (const PublishedRow& p : published()) {
        CHECK(p.source.starts_with("https://"));
        CHECK(p.gpu == "RTX 5070 Ti");
        CHECK(*p.peak_gb_per_s == 896);
        CHECK((*p.gb_per_s > 200 && *p.gb_per_s < 896));
        LadderRow r = row(p.table.c_str(), p.rung.c_str(), "batched", p.per_thread, 1);
        r.threads = p.threads;
        r.coalesced = p.coalesced;
        REQUIRE(published_for(r) == &p);
        r.threads += 1;
        CHECK(published_for(r) == nullptr);
        seen.insert(p.table);
    }
    CHECK(published().size() == 25);
    CHECK(seen == std::set<std::string>{rungs_table, threads_table, per_thread_table, coalesced_table});
    CHECK(published_from_csv(published_csv(published()), "test") == published());
    CHECK_THROWS_AS(published_from_csv(published_csv({}) + "a,b,896,rungs,K0,128,1,maybe,431.03\n", "test"), Failure);
}

TEST_CASE("the ladder's tables have ours, the peaks and what was published side by side", "[report]") {
    const Section section = ladder_section(ladder());
    const Table& rungs = table_of(section, "ladder-rungs");
    CHECK(rungs.columns[5].title == "published, GB/s");
    CHECK(line_of(rungs, "K4") == Texts{"K4", "what changed", "3 800", "79 %", "0.950", "842.07", "94 %", "absent",
                                        "absent", "absent", "absent", "absent"});
    CHECK(line_of(rungs, "segmented") == Texts{"segmented", "what changed", "900", "19 %", "0.225", "absent", "absent",
                                               "37", "12.5", "none", "absent", "2"});
    const Table& per_thread = table_of(section, "ladder-per-thread");
    CHECK(line_of(per_thread, "K4", 1) == Texts{"K4", "128", "2", "yes", "3 800", "79 %", "0.950", "834.00", "93 %"});
    CHECK(line_of(table_of(section, "ladder-coalesced"), "K4")[7] == "769.54");
    const Table& endings = table_of(section, "ladder-endings");
    CHECK(endings.rows.size() == 2);
    CHECK(endings.columns.size() == 3);
    CHECK(table_of(section, "ladder-softmax").rows.size() == 1);
    CHECK(line_of(table_of(section, "ladder-softmax"), "fused two-pass")[2] == "2¹²"); // elements of a row
    CHECK_THROWS_AS(table_of(section, "ladder-threads"), Failure);                     // nothing was measured
}

TEST_CASE("the ladder's findings are made of its figures", "[report]") {
    const auto has = [](const Results& results, const std::string& words) {
        const Section section = ladder_section(results);
        return std::any_of(section.findings.begin(), section.findings.end(),
                           [&](const std::string& f) { return f.find(words) != std::string::npos; });
    };
    Results results = ladder();
    CHECK(has(results, "K4 has 3.80 times the bandwidth of K3"));
    CHECK(has(results, "tree has 1.03 times the bandwidth of the fastest rung, K4"));
    CHECK(has(results, "tree has 0.99 times that of cub::DeviceReduce::Sum"));
    CHECK(has(results, "segmented (37 of 1 000)"));
    const auto mood = [&] {
        const Section section = ladder_section(results);
        return table_of(section, "ladder-rungs").rows.at(3).at(7).mood; // of its bit patterns
    };
    // By the one meaning that colours have: promised or not, so or not.
    const auto mood_with = [&](const char* guarantee, std::int64_t distinct) {
        results.ladder[3].guarantee = guarantee;
        results.ladder[3].distinct = distinct;
        return mood();
    };
    for (const char* nothing : {"", "none"}) {
        CHECK(mood_with(nothing, 2) == Mood::notable);
        CHECK(mood_with(nothing, 1) == Mood::plain);
    }
    CHECK(mood_with("run_to_run", 2) == Mood::bad);
    CHECK(mood_with("run_to_run", 1) == Mood::good);
    CHECK_FALSE(has(results, "segmented"));
    results.ladder.erase(results.ladder.begin() + 1);
    CHECK_FALSE(has(results, "of K3"));
}

TEST_CASE("a ladder renders to a page of its own, or as a section of the report that it lies beside", "[report]") {
    REQUIRE(can_draw());
    const TemporaryDirectory dir;
    write_file(dir.path() / "ladder.json", to_json(ladder()));
    const auto render_to = [&](const std::string& from, const std::string& to) {
        const Outcome o = run_program("render " + quoted(dir.path() / from) + " --out " + quoted(dir.path() / to));
        INFO(o.err);
        REQUIRE(o.status == 0);
        return contents(dir.path() / to / "index.html");
    };
    const std::string alone = render_to("ladder.json", "alone");
    CHECK(alone.find("<h1>detreduce ladder</h1>") != std::string::npos);
    CHECK(alone.find("842.07") != std::string::npos);
    CHECK(alone.find("id=\"error\"") == std::string::npos);
    CHECK(alone.find("<script>") == alone.rfind("<script>")); // the page's own
    CHECK(contents(dir.path() / "alone" / "ladder.csv") == ladder_csv(ladder()));
    CHECK_FALSE(std::filesystem::exists(dir.path() / "alone" / "error.csv"));
    CHECK(contents(dir.path() / "alone" / "ladder-endings.svg").find("last block") != std::string::npos);
    write_file(dir.path() / "results.json", to_json(sample()));
    const std::string both = render_to("results.json", "both");
    CHECK(both.find("<h1>detreduce report</h1>") != std::string::npos);
    CHECK(both.find("id=\"ladder\"") != std::string::npos);
    CHECK(both.find("id=\"error\"") != std::string::npos);
}

TEST_CASE("the ladder's command says what is wrong before it measures anything", "[report]") {
    const TemporaryDirectory dir;
    const std::string out = " --measure-only --out " + quoted(dir.path() / "out");
    for (const char* wrong : {"--device cpu", "--device gpu", "--n 0", "--n x", "--n 68719476737", "--runs 0",
                              "--runs 1000001", "--seed -1"}) {
        const Outcome o = run_program(std::string("ladder ") + wrong + out);
        INFO(o.err);
        CHECK(o.status == 2);
        CHECK(o.err.find("allowed are ") != std::string::npos);
    }
    CHECK(run_program("ladder").status == 2);
    const Outcome none = run_program("ladder --device cuda:99" + out);
    CHECK(none.status == 1);
    CHECK(none.err.starts_with("detreduce: --device cuda:99: "));
    const Outcome hidden = run_program("ladder" + out, "CUDA_VISIBLE_DEVICES="); // a machine without a GPU
    INFO(hidden.err);
    CHECK(hidden.status == 1);
    CHECK(hidden.err.find("no usable GPU") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(dir.path() / "out"));
}
