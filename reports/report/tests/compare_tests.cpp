// Two runs side by side.
#include <support/catch.hpp>

#include <algorithm>

#include "compare.hpp"
#include "files.hpp"
#include "json.hpp"
#include "render.hpp"
#include "sample.hpp"

using namespace report_test;
using namespace detreduce::report;

namespace {

Results sums_alone() {
    Results results = sample();
    results.op_cost.clear();
    return results;
}

Comparison compared(const Results& here, const Results& there) {
    const std::vector<OtherRun> others{{"there.json", there}};
    Comparison c = compare(here, others).front();
    c.provenance = nullptr; // it goes away with `others`
    return c;
}

const ComparedBits& bits_of(const Comparison& c, const std::string& kind, const std::string& candidate) {
    for (const ComparedBits& r : c.bits.rows)
        if (r.kind == kind && r.candidate == candidate) return r;
    throw std::out_of_range(kind + ", " + candidate);
}

const ComparedSpeed& speed_of(const Comparison& c, const std::string& candidate, std::uint64_t n) {
    for (const ComparedSpeed& r : c.speed.rows)
        if (r.candidate == candidate && r.n == n) return r;
    throw std::out_of_range(candidate);
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

const Table& table(const Section& section, const std::string& id) {
    for (const Table& t : section.tables)
        if (t.id == id) return t;
    throw std::out_of_range(id);
}

Section section_of(const Results& here, const Results& there) {
    return comparison_section(here, {{"there.json", there}});
}

} // namespace

TEST_CASE("a run compared with itself has no difference", "[report]") {
    const Results run = sample();
    const Comparison c = compared(run, run);
    // two reference results, three edge cases (one more is a published figure), three sums of files
    CHECK(c.bits.rows.size() == 8);
    CHECK(std::all_of(c.bits.rows.begin(), c.bits.rows.end(), [](const ComparedBits& r) { return r.equal(); }));
    CHECK((c.bits.only_here == 0 && c.bits.only_there == 0));
    CHECK(c.speed.rows.size() ==
          run.cost.size() - 1 + run.op_cost.size() - 5); // two have no figure, four are yardsticks
    CHECK(std::all_of(c.speed.rows.begin(), c.speed.rows.end(), [](const ComparedSpeed& r) { return r.ratio == 1; }));
    CHECK((c.speed.only_here == 0 && c.speed.only_there == 0));
}

TEST_CASE("bits are compared between devices, and equality is promised by the method and one spec_version",
          "[report]") {
    const Results here = sample();
    Results there = sample();
    there.reference[0].subject.device = "cpu"; // exact
    there.reference[1].bits = "0xc19f63e5";    // atomic
    const Comparison c = compared(here, there);
    const ComparedBits &exact = bits_of(c, "reference", "exact"), &atomic = bits_of(c, "reference", "atomic");
    CHECK((exact.equal() && exact.promised));
    CHECK((exact.device == "cuda:0" && exact.other_device == "cpu"));
    CHECK_FALSE((atomic.equal() || atomic.promised));
    CHECK(bits_of(c, "edge case", "serial").promised);
    there.provenance.spec_version = 2;
    CHECK_FALSE(bits_of(compared(here, there), "reference", "exact").promised);
}

TEST_CASE("only what is of the same data is compared, and the rest is counted", "[report]") {
    const Results here = sample();
    Results there = sample();
    there.reference[0].seed = 2;
    there.reference[1].n = 1001;
    there.edges.clear();
    there.data[0].file = there.data_sums[0].file = there.data_sums[1].file = "moved.npy"; // the same elements
    there.data[1].fingerprint = "0000000000000000";                                       // others
    const Comparison c = compared(here, there);
    CHECK(c.bits.rows.size() == 2);
    CHECK(bits_of(c, "your data", "exact").data == "a.npy");
    CHECK(c.bits.only_here == 2 + 3 + 1);
    CHECK(c.bits.only_there == 2 + 1);
}

TEST_CASE("of several devices each has its own partner", "[report]") {
    Results here = sample(), there = sample();
    here.reference = {here.reference[0], here.reference[0]};
    here.reference[0].subject.device = "cpu";
    there.reference = here.reference;
    std::swap(there.reference[0], there.reference[1]);
    there.reference[0].bits = "0x00000000"; // cuda:0
    const Comparison c = compared(here, there);
    for (const ComparedBits& r : c.bits.rows)
        if (r.kind == "reference") {
            CHECK(r.device == r.other_device);
            CHECK(r.equal() == (r.device == "cpu"));
        }
    Results far = there; // a GPU's partner is a GPU, before any other
    far.reference[0].subject.device = "cpu";
    far.reference[1].subject.device = "cuda:3";
    Results gpu = here;
    gpu.reference.erase(gpu.reference.begin());
    CHECK(bits_of(compared(gpu, far), "reference", "exact").other_device == "cuda:3");
    there.reference.pop_back(); // leaves cuda:0, which is not for the CPU's row
    CHECK(bits_of(compared(here, there), "reference", "exact").device == "cuda:0");
}

TEST_CASE("speed is compared where everything but the figure is the same", "[report]") {
    const Results here = sums_alone();
    Results there = here;
    there.cost[1].gb_per_s = 2 * *here.cost[1].gb_per_s;
    there.cost[0].device = "cuda:3"; // a GPU like the other
    there.cost[2].device = "cpu";
    there.cost[4].variant = "1 thread";
    const Comparison c = compared(here, there);
    CHECK(speed_of(c, "tree", 32768).ratio == 0.5);
    CHECK(speed_of(c, "read", 32768).other_device == "cuda:3");
    CHECK_THROWS_AS(speed_of(c, "read", 65536), std::out_of_range);
    CHECK(c.speed.rows.size() == here.cost.size() - 3);
    CHECK((c.speed.only_here == 2 && c.speed.only_there == 2));
    there.cost.push_back(there.cost[1]);
    CHECK((compared(here, there).speed.only_here == 2 && compared(here, there).speed.only_there == 3));
}

TEST_CASE("the page says which bits differ, and by colour what was promised", "[report]") {
    const Results here = sample();
    Results there = sample();
    const Section same = section_of(here, there);
    CHECK(has(same.findings.at(0), "run 2: all 6 results whose equality is promised are equal. Of 2 without such a "
                                   "promise 2 are equal. Only this run has 0 more, only the other 0."));
    CHECK(table(same, "comparison-bits-2").rows.at(0).at(1).mood == Mood::good);
    CHECK_THROWS_AS(table(same, "comparison-differing-2"), std::out_of_range);
    there.reference[0].bits = "0x00000000";
    there.reference[1].bits = "0x00000001";
    const Section differing = section_of(here, there);
    CHECK(has(differing.findings.at(0), "1 of 6 results whose equality is promised DIFFER: a defect."));
    const Table& rows = table(differing, "comparison-differing-2");
    REQUIRE(rows.rows.size() == 2);
    CHECK(rows.rows[0].back().mood == Mood::bad);
    CHECK(has(rows.rows[0].back().detail, "equal bits are promised"));
    CHECK(rows.rows[1].back().mood == Mood::notable);
    CHECK(has(rows.rows[1].back().detail, "nothing is promised"));
    CHECK(table(differing, "comparison-bits-2").rows.at(0).at(1).text == "1 of 2");
    CHECK(table(differing, "comparison-bits-2").rows.at(0).at(1).mood == Mood::bad);
}

TEST_CASE("the largest gain and loss are named, and the read-only pass apart", "[report]") {
    const Results here = sums_alone();
    Results there = here;
    there.cost[0].gb_per_s = *here.cost[0].gb_per_s / 8; // read
    there.cost[1].gb_per_s = *here.cost[1].gb_per_s / 2;
    there.cost[4].gb_per_s = *here.cost[4].gb_per_s * 4;
    there.cost[4].deviation = 0.5;
    there.cost[5].gb_per_s = *here.cost[5].gb_per_s / 1.5; // smaller ones
    there.cost[6].gb_per_s = *here.cost[6].gb_per_s * 2;
    const std::string finding = section_of(here, there).findings.at(1);
    CHECK(
        has(finding, "Largest gain: 2.000 (f32 tree, last_block, normal, n = 2¹⁵; noise ± 2.0 % here, ± 2.0 % there)"));
    CHECK(has(finding, "largest loss: 0.250 (f32 exact, normal, n = 2¹⁶; noise ± 1.0 % here, ± 50 % there)"));
    CHECK(has(finding, "median 1.000 in 5 pairs, of the read-only pass 4.500"));
    Results empty = there;
    empty.cost.clear(), empty.reference.clear(), empty.edges.clear(), empty.data_sums.clear();
    const Section none = section_of(here, empty);
    CHECK(has(none.findings.at(0), "no result is in both. Only this run has 8 more"));
    CHECK(has(none.findings.at(1), "no time is of the same in both. Only this run has 7 more"));
    CHECK(none.tables.size() == 1);
}

TEST_CASE("render --compare puts runs side by side, twice the same", "[report]") {
    REQUIRE(can_draw());
    const TemporaryDirectory dir;
    Results there = sample();
    there.provenance.commit = "fedcba";
    there.reference[0].bits = "0x00000000";
    write_file(dir.path() / "here.json", to_json(sample()));
    write_file(dir.path() / "there.json", to_json(there));
    write_file(dir.path() / "newer.json", "{\"schema\": \"detreduce-results\", \"schema_version\": 3}");
    write_file(dir.path() / "other.json", "{}");
    const auto rendered = [&](const std::string& others, const std::string& out) {
        const std::string d = dir.path().string();
        return run_program("render " + d + "/here.json --out " + d + "/" + out + " --compare " + others,
                           "cd " + d + ";");
    };
    for (const char* out : {"a", "b"}) {
        const Outcome o = rendered("there.json --compare here.json", out);
        INFO(o.err);
        REQUIRE(o.status == 0);
    }
    const std::string page = contents(dir.path() / "a/index.html"), text = contents(dir.path() / "a/report.md");
    for (const char* file : {"index.html", "report.md", "comparison-bits.csv", "comparison-speed.csv"})
        CHECK(contents(dir.path() / "a" / file) == contents(dir.path() / "b" / file));
    for (const char* part : {"fedcba", "there.json", "run 3", "DIFFER", "0x00000000"}) {
        CHECK(has(page, part));
        CHECK(has(text, part));
    }
    CHECK(has(page, "class=\"bad f\">0x00000000"));
    CHECK(has(contents(dir.path() / "a/comparison-bits.csv"),
              "run 2,reference,normal,1000,f32,exact,cuda:0,cuda:0,0xc19f63e2,0x00000000,false,true\n"));
    CHECK(has(contents(dir.path() / "a/comparison-speed.csv"),
              "run 2,f32,tree,last_block,normal,32768,cuda:0,cuda:0,19.065,19.065,1,0.02,0.02\n"));
    const auto refused = [&](const std::string& file, const std::string& says) {
        const Outcome o = rendered(file, "c");
        INFO(o.err);
        CHECK(o.status == 1);
        CHECK(o.err.starts_with("detreduce: --compare: " + file));
        CHECK(has(o.err, says));
    };
    refused("newer.json", "use a newer one");
    refused("other.json", "not a results file of detreduce");
    refused("none.json", "cannot be opened");
    CHECK_FALSE(std::filesystem::exists(dir.path() / "c"));
    const Outcome o = run_program("report --quick --device cpu --measure-only --out c --compare here.json");
    CHECK(o.status == 2);
    CHECK(has(o.err, "--compare: --measure-only makes no page"));
}
