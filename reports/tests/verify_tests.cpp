// `detreduce verify`: the program, and what it says of results that differ.
#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <detreduce/detreduce.hpp>

#include "failure.hpp"
#include "golden/compute.hpp"
#include "program.hpp"
#include "verify_text.hpp"

using namespace program_test;
namespace golden = detreduce::golden;
namespace program = detreduce::program;

namespace {

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

const golden::Table& table() {
    static const golden::Table small = golden::parse_table("# spec_version 1, from a test\n"
                                                           "exact\tf16\tf32\tnormal\t3\t4\t0x3f800000\n"
                                                           "tree\tf16\tf16\tnormal\t3\t4\t0x3c00\n"
                                                           "exact\tf64\tf64\twide\t5\t6\t0x3ff0000000000000\n");
    return small;
}

program::Verified verified(const std::vector<std::uint64_t>& got) {
    return {"cuda:0", table().source, golden::compare(table(), got)};
}

} // namespace

TEST_CASE("verify: the CPU gives the bits of the table that the program carries") {
    const Outcome o = run_program({"verify"});
    INFO(o.out << o.err);
    CHECK(o.code == 0);
    CHECK(o.err.empty());
    const golden::Table inside = golden::parse_table(golden::embedded_table());
    CHECK(o.out.starts_with("device cpu; table of " + inside.source + "\nexact "));
    for (const char* method : {"exact", "compensated", "kahan", "tree", "all"})
        CHECK(contains(o.out, std::string("\n") + method + " "));
    CHECK_FALSE(contains(o.out, "serial"));
    CHECK_FALSE(contains(o.out, "DIFFERENT"));
    CHECK(contains(o.out, "\nspec_version " + std::to_string(detreduce::spec_version) + "\n"));
}

TEST_CASE("verify --json says the same") {
    const Outcome o = run_program({"verify", "--json"});
    REQUIRE(o.code == 0);
    const auto json = nlohmann::json::parse(o.out);
    CHECK(json["device"] == "cpu");
    CHECK(json["all"]["ok"] == true);
    CHECK(json["all"]["different"] == 0);
    CHECK(json["all"]["results"] == golden::all_cases().size());
    CHECK(json["first_different"].empty());
    CHECK(json["spec_version"] == detreduce::spec_version);
    std::uint64_t sum = 0;
    for (const auto& method : json["methods"])
        sum += method["results"].get<std::uint64_t>();
    CHECK(json["methods"].size() == 4);
    CHECK(sum == json["all"]["results"]);
}

TEST_CASE("verify: a device that is not there") {
    if (!detreduce::cuda::devices().empty()) return;
    const Outcome o = run_program({"verify", "--device", "cuda"});
    INFO(o.err);
    CHECK(is_clean_failure(o));
    CHECK(contains(o.err, "--device cuda: no usable GPU ("));
}

TEST_CASE("verify: on a GPU, if there is one") {
    if (detreduce::cuda::devices().empty()) return;
    const auto cpu = nlohmann::json::parse(run_program({"verify", "--json"}).out);
    const Outcome o = run_program({"verify", "--json", "--device", "cuda"});
    INFO(o.err);
    CHECK(o.code == 0);
    CHECK(nlohmann::json::parse(o.out)["methods"] == cpu["methods"]);
}

TEST_CASE("verify: fingerprints are FNV-1a over the bytes of the results") {
    const auto v = verified({0x3f800000, 0x3c00, 0x3ff0000000000000});
    // Computed apart, by hand: exact is 00 00 80 3f 00 00 00 00 00 00 f0 3f, tree 00 3c, all of them in the table's order.
    REQUIRE(v.verdict.methods.size() == 2);
    CHECK(program::verify_lines(v) == "device cuda:0; table of spec_version 1, from a test\n"
                                      "exact            2 results     0 differ   fingerprint 0xeefb31ea2a8f9325   ok\n"
                                      "tree             1 results     0 differ   fingerprint 0x08328c07b4eb76b9   ok\n"
                                      "all              3 results     0 differ   fingerprint 0x5258892f085dc561   ok\n"
                                      "spec_version 1\n");
}

TEST_CASE("verify: results that differ are counted, shown, and a failure") {
    const auto v = verified({0x3f800001, 0x3c00, 0x3ff0000000000001});
    const std::string lines = program::verify_lines(v);
    CHECK(contains(lines, "exact            2 results     2 differ   fingerprint 0x"));
    CHECK(contains(lines, "tree             1 results     0 differ   fingerprint 0x08328c07b4eb76b9   ok\n"));
    CHECK(contains(lines, "all              3 results     2 differ"));
    CHECK(contains(lines, "DIFFERENT\n"));
    CHECK(
        lines.ends_with("The first that differ:\n"
                        "  exact f16 to f32, normal n 3 seed 4: expected 0x3f800000, got 0x3f800001\n"
                        "  exact f64 to f64, wide n 5 seed 6: expected 0x3ff0000000000000, got 0x3ff0000000000001\n"));
    const auto json = nlohmann::json::parse(program::verify_json(v));
    CHECK(json["all"]["ok"] == false);
    CHECK(json["methods"][0]["different"] == 2);
    CHECK(json["methods"][1]["ok"] == true);
    CHECK(json["first_different"][1] == nlohmann::json({{"method", "exact"},
                                                        {"dtype", "f64"},
                                                        {"output", "f64"},
                                                        {"family", "wide"},
                                                        {"n", 5},
                                                        {"seed", 6},
                                                        {"expected", "0x3ff0000000000000"},
                                                        {"got", "0x3ff0000000000001"}}));
}

TEST_CASE("verify: is a failure after all was said, or says that all is well") {
    const golden::Table inside = golden::parse_table(golden::embedded_table());
    const golden::Table few{inside.source, {inside.entries.begin(), inside.entries.begin() + 40}};
    for (const bool json : {false, true}) {
        std::string said;
        const auto say = [&](const std::string& text) { said += text; };
        const auto right = [](const golden::Case& c, const void* x) { return golden::reduce_on_cpu(c, x); };
        const auto wrong = [&](const golden::Case& c, const void* x) { return right(c, x) ^ (c.n == 3); };
        CHECK_NOTHROW(program::verify(few, right, "cpu", json, say));
        CHECK_FALSE(said.empty());
        said.clear();
        CHECK_THROWS_WITH(program::verify(few, wrong, "cpu", json, say),
                          "4 of 40 results on cpu are not those of the table");
        CHECK(contains(said, json ? "\"different\":4" : "4 differ"));
    }
}
