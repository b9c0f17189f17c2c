// The model to JSON and back, and files that are not ours.
#include <support/catch.hpp>

#include "failure.hpp"
#include "files.hpp"
#include "json.hpp"
#include "sample.hpp"

using namespace report_test;
using namespace detreduce::report;
using detreduce::program::Failure;

namespace {

/// The message with which `text` is refused; empty when it is accepted.
std::string refusal(const std::string& text) {
    try {
        (void)from_json(text, "file.json");
        return "";
    } catch (const Failure& failure) {
        return failure.what();
    }
}

bool mentions(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("results survive the way to JSON and back", "[report]") {
    const Results results = sample();
    const std::string text = to_json(results);
    CHECK(from_json(text, "test") == results);
    CHECK(to_json(from_json(text, "test")) == text);
    CHECK(from_json(to_json(Results{}), "test") == Results{});
}

TEST_CASE("doubles keep their bits", "[report]") {
    Results results;
    for (const double value : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, 0.0, 123456789012345678.0})
        results.cost.push_back({"f64", "read", "", "cpu", "normal", 1, 8, 1, value, value, value, value});
    CHECK(from_json(to_json(results), "test") == results);
}

TEST_CASE("files that are not results are refused with a reason", "[report]") {
    const std::string good = to_json(sample());
    CHECK(mentions(refusal(""), "not JSON"));
    CHECK(mentions(refusal(good.substr(0, good.size() / 2)), "not JSON"));
    CHECK(mentions(refusal("[1, 2]"), "not a results file of detreduce"));
    CHECK(mentions(refusal("{\"schema\": \"nvbench\", \"schema_version\": 1}"), "not a results file of detreduce"));
    CHECK(mentions(refusal("{\"schema\": \"detreduce-results\"}"), "schema_version"));
    CHECK(mentions(refusal("{\"schema\": \"detreduce-results\", \"schema_version\": 3}"), "use a newer one"));
    CHECK(mentions(refusal("{\"schema\": \"detreduce-results\", \"schema_version\": 1}"),
                   "reads version 2; measure again"));
    CHECK(mentions(refusal("{\"schema\": \"detreduce-results\", \"schema_version\": 2}"), "'provenance' is missing"));
    std::string many = "["; // small, and many times larger in memory
    for (int i = 0; i < 5'000'001; ++i)
        many += "0,";
    CHECK(mentions(refusal(many), "has more than 5000000 values"));
    for (const char* text : {"", "[1, 2]", "{}"})
        CHECK(mentions(refusal(text), "file.json"));
}

TEST_CASE("the offending key is named", "[report]") {
    std::string text = to_json(sample());
    const std::string from = "\"trials\":3", to = "\"trials\":\"three\"";
    text.replace(text.find(from), from.size(), to);
    CHECK(mentions(refusal(text), "'error[0].trials'"));
}

TEST_CASE("lists that files of before do not have are left out when they are empty", "[report]") {
    Results results = sample();
    results.data.clear(), results.data_sums.clear(), results.reference.clear();
    const std::string text = to_json(results);
    for (const char* key : {"\"ladder\"", "\"data\": [", "\"data_sums\"", "\"reference\""})
        CHECK_FALSE(mentions(text, key));
    CHECK(from_json(text, "test") == results);
}

TEST_CASE("what files may lack is there when it says something", "[report]") {
    Results results = sample();
    CHECK_FALSE(mentions(to_json(results), "incomplete"));
    results.provenance.incomplete = "interrupted at: error";
    CHECK(from_json(to_json(results), "test") == results);
    results.determinism[2].patterns.clear();
    CHECK_FALSE(mentions(to_json(results), "patterns"));
    CHECK(from_json(to_json(results), "test") == results);
}

TEST_CASE("keys that a later writer may add are ignored", "[report]") {
    std::string text = to_json(sample());
    text.insert(text.find("\"provenance\""), "\"later\": [1, 2, {}], ");
    CHECK(refusal(text).empty());
}

TEST_CASE("load_results says what is wrong with a path", "[report]") {
    const TemporaryDirectory dir;
    CHECK_THROWS_AS(load_results(dir.path() / "missing.json"), Failure);
    CHECK_THROWS_AS(load_results(dir.path()), Failure);
    write_file(dir.path() / "results.json", to_json(sample()));
    CHECK(load_results(dir.path() / "results.json") == sample());
}
