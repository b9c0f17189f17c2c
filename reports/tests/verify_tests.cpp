// `detreduce verify`: the program, and what it says of results that differ.
#include <set>

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
    static const golden::Table small =
        golden::parse_table("# spec_version 1, from a test\n"
                            "exact\tf16\tf32\tnormal\t3\t4\t0x3f800000\n"
                            "tree\tf16\tf16\tnormal\t3\t4\t0x3c00\n"
                            "exact\tf64\tf64\twide\t5\t6\t0x3ff0000000000000\n"
                            "tree\tdot\trows\tf16\tf32\tnormal\t3\t4\t5\t-\t6\t4\t0x0123456789abcdef\n"
                            "exact\targmax\tflat\tf16\tu64\tnormal\t3\t1\t0\tnan=ignore\t6\t1\t0x0000000000000002\n"
                            "# spec_version 2, from a test\n"
                            "row_op\tsoftmax\t-\tf16\t4\t0x00000000000000ff\n"
                            "# spec_version 2, from a test\n"
                            "loss\tmse\texact\tf16\t4\t0x0000000000000001\n");
    return small;
}

program::Verified verified(const std::vector<std::uint64_t>& got, std::uint64_t softmax, std::uint64_t mse) {
    const std::vector<golden::CallResult> calls{{table().calls[0].call, softmax}, {table().calls[1].call, mse}};
    return {"cuda:0", table().source, golden::compare(table(), got, calls)};
}

} // namespace

TEST_CASE("verify: the CPU gives the bits of the table that the program carries") {
    const Outcome o = run_program({"verify"});
    INFO(o.out << o.err);
    CHECK(o.code == 0);
    CHECK(o.err.empty());
    const golden::Table inside = golden::parse_table(golden::embedded_table());
    CHECK(o.out.starts_with("device cpu; table of " + inside.source + "\nsum exact "));
    for (const char* what : {"sum exact", "sum compensated", "sum kahan", "sum tree", "mean", "count_unique",
                             "sum rows", "argmin columns", "dot segments", "nrm2 tensors", "row_op softmax",
                             "row_op cross_entropy_target_gradient", "loss focal", "all"})
        CHECK(contains(o.out, std::string("\n") + what + " "));
    CHECK_FALSE(contains(o.out, "serial"));
    CHECK_FALSE(contains(o.out, "DIFFERENT"));
    CHECK(o.out.ends_with("\nspec_version 1, of row ops 3, of losses 2\n"));
}

TEST_CASE("verify --json says the same") {
    const Outcome o = run_program({"verify", "--json"});
    REQUIRE(o.code == 0);
    const auto json = nlohmann::json::parse(o.out);
    CHECK(json["device"] == "cpu");
    CHECK(json["all"]["ok"] == true);
    CHECK(json["all"]["different"] == 0);
    CHECK(json["all"]["results"] == golden::sum_cases().size() + golden::op_cases().size() +
                                        golden::parse_table(golden::embedded_table()).calls.size());
    CHECK(json["first_different"].empty());
    CHECK(json["spec_version"] == detreduce::spec_version);
    CHECK(json["spec_version_of_row_ops"] == detreduce::spec_version_of(detreduce::RowOp{}));
    CHECK(json["spec_version_of_losses"] == detreduce::spec_version_of(detreduce::Loss{}));
    std::uint64_t sum = 0;
    for (const auto& method : json["methods"])
        sum += method["results"].get<std::uint64_t>();
    CHECK(sum == golden::sum_cases().size());
    CHECK(json["methods"].size() == 4);
    std::set<std::string> ops;
    for (const auto& op : json["ops"]) {
        sum += op["results"].get<std::uint64_t>();
        CHECK(op["ok"] == true);
        ops.insert(op["op"].get<std::string>());
    }
    CHECK(ops.size() == detreduce::ops().size());
#define DETREDUCE_ONE(...) +1
    CHECK(json["calls"].size() == DETREDUCE_ROW_OPS(DETREDUCE_ONE) + detreduce::losses.size());
#undef DETREDUCE_ONE
    for (const auto& call : json["calls"]) {
        sum += call["results"].get<std::uint64_t>();
        CHECK(call["ok"] == true);
    }
    CHECK(sum == json["all"]["results"]);
}

TEST_CASE("verify: a device that is not there") {
    if (!detreduce::cuda::devices().empty()) return detreduce::proptests::skipped("this machine has a GPU");
    const Outcome o = run_program({"verify", "--device", "cuda"});
    INFO(o.err);
    CHECK(is_clean_failure(o));
    CHECK(contains(o.err, "--device cuda: no usable GPU ("));
}

TEST_CASE("verify: on a GPU, if there is one") {
    if (detreduce::cuda::devices().empty()) return detreduce::proptests::skipped("this machine has no GPU");
    const auto cpu = nlohmann::json::parse(run_program({"verify", "--json"}).out);
    const Outcome o = run_program({"verify", "--json", "--device", "cuda"});
    INFO(o.err);
    CHECK(o.code == 0);
    CHECK(nlohmann::json::parse(o.out)["methods"] == cpu["methods"]);
    CHECK(nlohmann::json::parse(o.out)["ops"] == cpu["ops"]);
    CHECK(nlohmann::json::parse(o.out)["calls"] == cpu["calls"]);
}

TEST_CASE("verify: fingerprints are FNV-1a over the bytes of the results") {
    const auto v = verified({0x3f800000, 0x3c00, 0x3ff0000000000000, 0x0123456789abcdef, 2}, 0xff, 1);
    // Computed apart, by hand: exact is 00 00 80 3f 00 00 00 00 00 00 f0 3f, tree 00 3c, argmax 02
    // and seven 00, softmax ff and seven 00, mse 01 and seven 00, all of them in the table's order.
    REQUIRE(v.verdict.methods.size() == 2);
    REQUIRE(v.verdict.ops.size() == 2);
    REQUIRE(v.verdict.calls.size() == 2);
    CHECK(program::verify_lines(v) ==
          "device cuda:0; table of spec_version 1, from a test; spec_version 2, from a test\n"
          "sum exact                                2 results     0 differ   fingerprint 0xeefb31ea2a8f9325   ok\n"
          "sum tree                                 1 results     0 differ   fingerprint 0x08328c07b4eb76b9   ok\n"
          "argmax                                   1 results     0 differ   fingerprint 0xe6bd86443df8ce07   ok\n"
          "dot rows                                 1 results     0 differ   fingerprint 0x37eb3f3347761c55   ok\n"
          "row_op softmax                           1 results     0 differ   fingerprint 0x9016b196e349a31a   ok\n"
          "loss mse                                 1 results     0 differ   fingerprint 0x89cd31291d2aefa4   ok\n"
          "all                                      7 results     0 differ   fingerprint 0xe86b00bf10a59b0d   ok\n"
          "spec_version 1, of row ops 3, of losses 2\n");
}

TEST_CASE("verify: results that differ are counted, shown, and a failure") {
    const auto v = verified({0x3f800001, 0x3c00, 0x3ff0000000000001, 0x1123456789abcdef, 3}, 0xff, 2);
    const std::string lines = program::verify_lines(v);
    CHECK(contains(lines, "sum exact                                2 results     2 differ   fingerprint 0x"));
    CHECK(contains(
        lines,
        "sum tree                                 1 results     0 differ   fingerprint 0x08328c07b4eb76b9   ok\n"));
    CHECK(contains(lines, "all                                      7 results     5 differ"));
    CHECK(contains(lines, "DIFFERENT\n"));
    CHECK(lines.ends_with("The first that differ:\n"
                          "  exact f16 to f32, normal n 3 seed 4: expected 0x3f800000, got 0x3f800001\n"
                          "  exact f64 to f64, wide n 5 seed 6: expected 0x3ff0000000000000, got 0x3ff0000000000001\n"
                          "  tree dot rows f16 to f32, normal n 3 groups 4 stride 5 seed 6: expected "
                          "0x0123456789abcdef, got 0x1123456789abcdef\n"
                          "  exact argmax flat nan=ignore f16 to u64, normal n 3 seed 6: expected 0x0000000000000002, "
                          "got 0x0000000000000003\n"
                          "  loss mse exact f16 4: expected 0x0000000000000001, got 0x0000000000000002\n"));
    const auto json = nlohmann::json::parse(program::verify_json(v));
    CHECK(json["all"]["ok"] == false);
    CHECK(json["methods"][0]["different"] == 2);
    CHECK(json["methods"][1]["ok"] == true);
    CHECK(json["ops"][1]["op"] == "dot");
    CHECK(json["ops"][1]["shape"] == "rows");
    CHECK(json["ops"][1]["ok"] == false);
    CHECK(json["calls"][0]["call"] == "row_op softmax");
    CHECK(json["calls"][0]["ok"] == true);
    CHECK(json["calls"][1]["different"] == 1);
    CHECK(json["first_different"][4] ==
          nlohmann::json(
              {{"call", "loss mse exact f16 4"}, {"expected", "0x0000000000000001"}, {"got", "0x0000000000000002"}}));
    CHECK(json["first_different"][3] == nlohmann::json({{"method", "exact"},
                                                        {"op", "argmax"},
                                                        {"shape", "flat"},
                                                        {"dtype", "f16"},
                                                        {"output", "u64"},
                                                        {"family", "normal"},
                                                        {"n", 3},
                                                        {"groups", 1},
                                                        {"stride", 0},
                                                        {"option", "nan=ignore"},
                                                        {"seed", 6},
                                                        {"results", 1},
                                                        {"expected", "0x0000000000000002"},
                                                        {"got", "0x0000000000000003"}}));
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
    const golden::Table few{inside.source, {inside.entries.begin(), inside.entries.begin() + 40}, {}};
    for (const bool json : {false, true}) {
        std::string said;
        const auto say = [&](const std::string& text) { said += text; };
        const auto right = [](const golden::Case& c, const golden::Input& in) { return golden::reduce_on_cpu(c, in); };
        const auto wrong = [&](const golden::Case& c, const golden::Input& in) { return right(c, in) ^ (c.n == 3); };
        const auto verify = [&](const golden::Reduce& reduce) {
            const auto got = golden::compute(golden::cases_of(few), reduce);
            program::verify({"cpu", few.source, golden::compare(few, got, few.calls)}, json, say);
        };
        CHECK_NOTHROW(verify(right));
        CHECK_FALSE(said.empty());
        said.clear();
        CHECK_THROWS_WITH(verify(wrong), "4 of 40 results on cpu are not those of the table");
        CHECK(contains(said, json ? "\"different\":4" : "4 differ"));
    }
}
