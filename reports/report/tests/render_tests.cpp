// Pages from a fixed set of results.
#include <support/catch.hpp>

#include <map>

#include "files.hpp"
#include "json.hpp"
#include "page_style.hpp"
#include "render.hpp"
#include "sample.hpp"
#include "sha256.hpp"
#include "undrawn.hpp"

using namespace report_test;
using namespace detreduce::report;
namespace fs = std::filesystem;

namespace {

std::map<std::string, std::string> files_in(const fs::path& dir) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(dir))
        files[entry.path().filename().string()] = contents(entry.path());
    return files;
}

std::map<std::string, std::string> rendered(const Results& results) {
    const TemporaryDirectory dir;
    render(results, OutputDirectory(dir.path()));
    return files_in(dir.path());
}

} // namespace

TEST_CASE("the same results give the same bytes", "[report]") {
    REQUIRE(can_draw());
    const auto first = rendered(sample());
    CHECK(first == rendered(from_json(to_json(sample()), "test")));
    for (const char* name :
         {"index.html", "report.md", "error.csv", "edges.csv", "determinism.csv", "cost.csv", "op-cost.csv",
          "error-f32.svg", "cost-f32.svg", "determinism-f32.svg", "condition-f32.svg", "error-bf16-to-f32.svg"})
        CHECK(first.count(name) == 1);
}

TEST_CASE("the page asks for nothing from elsewhere", "[report]") {
    REQUIRE(can_draw());
    const std::string page = rendered(sample())["index.html"];
    CHECK(count(page, "<svg ") == 13); // of ops: two of dot, two of softmax
    for (const char* outside : {"<link", "<img", "<iframe", "@import", "url(", "src="})
        CHECK(count(page, outside) == 0);
    CHECK(count(page, "<script") == 1);
    CHECK(count(page, page_script()) == 1);
    CHECK(count(page, "https:") == 0);
    CHECK(count(page, "http:") == count(page, "http://www.w3.org/")); // names of XML namespaces, which are not fetched
    CHECK(count(page, "prefers-color-scheme:dark") == 1);
    CHECK(count(page, "name=\"viewport\"") == 1);
}

TEST_CASE("a page may run what is in it, and nothing else", "[report]") {
    const std::string page = html(undrawn(sample()));
    const auto between = [&](const std::string& begin, const std::string& end) {
        const std::size_t from = page.find(begin) + begin.size();
        return page.substr(from, page.find(end, from) - from);
    };
    const std::string policy = between("<meta http-equiv=\"Content-Security-Policy\" content=\"", "\"");
    CHECK(policy == "default-src 'none'; style-src 'sha256-" + sha256_base64(between("<style>", "</style>")) +
                        "'; script-src 'sha256-" + sha256_base64(between("<script>", "</script>")) +
                        "'; base-uri 'none'; form-action 'none'");
    CHECK(page.find("Content-Security-Policy") < page.find("<style>"));
    CHECK(count(page, "<style") == 1); // what its policy would refuse
    for (const char* refused : {" style=", " onclick=", "javascript:"})
        CHECK(count(page, refused) == 0);
}

TEST_CASE("SHA-256 is that of FIPS 180-4", "[report]") { // whose examples these are
    CHECK(sha256_base64("") == "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    CHECK(sha256_base64("abc") == "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    CHECK(sha256_base64("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
          "JI1qYdIGOLjlwCaTDD5gOaM85Flk/yFn9uzt1BnbBsE=");
    CHECK(sha256_base64(std::string(1000000, 'a')) == "zcduXJkU+5KBocfihNc+Z/GAmkiklyAOBG05zMcRLNA=");
}

TEST_CASE("a page grows with the rows, not with their square", "[report]") {
    const auto size_of = [](std::int64_t rows) {
        Results results = sample();
        for (std::int64_t i = 0; i < rows; ++i) {
            const std::string own = std::to_string(i);
            ErrorRow error = results.error.front();
            error.family += own;
            error.subject.method += own;
            results.error.push_back(error);
            EdgeRow edge = results.edges.front();
            edge.data += own;
            edge.candidate += own;
            results.edges.push_back(edge);
            DeterminismRow determinism = results.determinism.front();
            determinism.axis += own;
            determinism.subject.method += own;
            results.determinism.push_back(determinism);
            CostRow cost = results.cost.front();
            cost.candidate += own;
            cost.n += static_cast<std::uint64_t>(i);
            results.cost.push_back(cost);
        }
        return html(undrawn(results)).size();
    };
    const std::size_t small = size_of(500), large = size_of(1000);
    CHECK(large < 2.1 * static_cast<double>(small));
    CHECK(large < 1000 * 4 * 64 * 60); // bytes of a cell
}

TEST_CASE("nothing in a results file gets out as code or as a path", "[report]") {
    REQUIRE(can_draw());
    const auto before = fs::current_path();
    const TemporaryDirectory dir;
    fs::current_path(dir.path());
    fs::create_directory("out");
    Results results = sample();
    results.error.back().subject.dtype = "../escaped";
    results.own = {{nasty, "f32", "cpu", nasty}};
    render(results, OutputDirectory("out"));
    const auto files = files_in(dir.path() / "out");
    fs::current_path(before);
    CHECK(count(files.at("index.html"), "<script") == 1); // the page's own
    CHECK(count(files.at("report.md"), "<script") == 0);
    CHECK_FALSE(fs::exists(dir.path() / "pwned"));
    CHECK_FALSE(fs::exists(dir.path() / "out" / "pwned"));
    for (const auto& entry : fs::directory_iterator(dir.path()))
        CHECK(entry.path().filename() == "out");
}

TEST_CASE("each table has its rows, in HTML and in Markdown", "[report]") {
    const Page page = undrawn(sample());
    for (const std::string& text : {html(page), markdown(page)}) {
        for (const char* part : {"lognormal",
                                 "alternating",
                                 "2¹⁶",
                                 "77 777",
                                 "f32 tree",
                                 "f32 atomic",
                                 "f32 serial (cpu)",
                                 "1 in 100",
                                 "37 in 100",
                                 "≤ 12 ulp apart",
                                 "0.764 × read",
                                 "6.88 µs ± 2.0 %",
                                 "128 KiB",
                                 "3 of 3 right",
                                 "2e+300",
                                 "serial (cpu)",
                                 "bf16 to f32",
                                 "Right answers: exact 1 of 1",
                                 "0.500",
                                 "23.8 GB/s",
                                 "Some GPU",
                                 "0123456789abcdef"}) {
            INFO(part);
            CHECK(count(text, part) >= 1);
        }
    }
}

TEST_CASE("a report that ended early says so at its top", "[report]") {
    Results results = sample();
    for (const std::string& text : {html(undrawn(results)), markdown(undrawn(results))})
        CHECK(count(text, "Incomplete") == 0);
    results.provenance.incomplete = "interrupted at: <error>";
    const std::string page = html(undrawn(results)), text = markdown(undrawn(results));
    CHECK(page.find("Incomplete: interrupted at: &lt;error&gt;") < page.find("<main>"));
    CHECK(text.find("**Incomplete:** interrupted at") < text.find("## "));
}

TEST_CASE("Markdown leaves long folded tables to the CSV files", "[report]") {
    Results results = sample();
    CHECK(count(markdown(undrawn(results)), "see the CSV files") == 0);
    results.error.insert(results.error.end(), 101, results.error.front());
    CHECK(count(markdown(undrawn(results)), "see the CSV files") == 1);
    CHECK(count(markdown(undrawn(results)), "\n| lognormal | 16 |") == 0);
    CHECK(count(html(undrawn(results)), ">lognormal</th>") > 101);
}

TEST_CASE("what is missing is a dash", "[report]") {
    const std::string page = html(undrawn(sample()));
    CHECK(count(page, "<td class=\"absent f\">—</td>") >= 3);
    CHECK(count(page, ">nan") == 0);
}

TEST_CASE("sections without rows say so", "[report]") {
    Results results;
    CHECK(count(html(undrawn(results)), "Not measured.") == 4);
    REQUIRE(can_draw());
    CHECK(count(rendered(results)["index.html"], "<svg ") == 0);
}
