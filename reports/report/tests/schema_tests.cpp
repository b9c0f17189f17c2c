// results.json against reports/schema/results.schema.json, and the checker against files that are
// wrong.
#include <support/catch.hpp>

#include <set>

#include "failure.hpp"
#include "files.hpp"
#include "json.hpp"
#include "sample.hpp"
#include "schema.hpp"

using namespace report_test;
using namespace detreduce::report;
using nlohmann::json;

namespace {

Results with_own(Results results) {
    results.own = {{nasty, "f32", "cpu", "device"}};
    return results;
}

} // namespace

TEST_CASE("what is written fits the schema", "[report]") {
    const json schema = results_schema();
    for (const Results& results : {sample(), with_own(sample()), Results{}}) {
        json value = json::parse(to_json(results));
        if (results.provenance.mode.empty()) value["provenance"]["mode"] = "full";
        const auto wrong = violations(schema, value);
        INFO((wrong.empty() ? std::string() : wrong.front()));
        CHECK(wrong.empty());
    }
}

TEST_CASE("the schema and the reader agree on what is wrong", "[report]") {
    const json schema = results_schema();
    const json good = json::parse(to_json(with_own(sample())));
    const auto both_refuse = [&](const char* pointer, const json& value) {
        json bad = good;
        bad[json::json_pointer(pointer)] = value;
        INFO(pointer << " = " << value);
        CHECK_FALSE(violations(schema, bad).empty());
        CHECK_THROWS(from_json(bad.dump(), "test"));
    };
    both_refuse("/schema", "something-else");
    both_refuse("/schema_version", 1);
    both_refuse("/schema_version", 3);
    both_refuse("/schema_version", "1");
    both_refuse("/provenance", nullptr);
    both_refuse("/provenance/seed", -1);
    both_refuse("/provenance/notes", "text");
    both_refuse("/provenance/notes/0", 3);
    both_refuse("/provenance/gpu", "H200");
    both_refuse("/error", json::object());
    both_refuse("/error/0", 1);
    both_refuse("/error/0/n", 1.5);
    both_refuse("/error/0/error_ulp", "many");
    both_refuse("/error/0/family", nullptr);
    both_refuse("/error/0/correctly_rounded", 0.5);
    both_refuse("/edges/0/right", 1);
    both_refuse("/edges/0/result", 2e300);
    both_refuse("/determinism/0/promised", 1);
    both_refuse("/determinism/0/runs", "100");
    both_refuse("/determinism/2/patterns", "0x3f800000");
    both_refuse("/determinism/2/patterns/0", "0x3f800000");
    both_refuse("/determinism/2/patterns/0/bits", 1);
    both_refuse("/determinism/2/patterns/0/count", 1.5);
    both_refuse("/provenance/incomplete", true);
    both_refuse("/cost/1/data", nullptr);
    both_refuse("/cost/1/median_s", false);
    both_refuse("/data/0/n", -1);
    both_refuse("/data/0/least", -1.0);
    both_refuse("/data_sums/0/bits", 0x3f000000);
    both_refuse("/data_sums/0/correctly_rounded", 1);
    both_refuse("/reference/0/seed", "1");
    both_refuse("/own", json::object());
    both_refuse("/own/0/guarantee", 1);
    both_refuse("/op_cost", json::object());
    both_refuse("/op_cost/0/shape", nullptr);
    both_refuse("/op_cost/0/repeats", 1.5);
    both_refuse("/op_cost/0/ratio_to_read", "fast");
}

TEST_CASE("whole numbers have a least and, where they count, a greatest", "[report]") {
    const json schema = results_schema();
    Results results = sample();
    results.ladder = {{"rungs", "flat", "K1", "", 1, 1, 32, 1, true, 5, 1.0, 0.0, 1.0, 1.0, "", 1, 1, 9, 2, 0.5, ""}};
    const json good = json::parse(to_json(results));
    REQUIRE(violations(schema, good).empty());
    const auto refused = [&](const json::json_pointer& at, const json& value) {
        json bad = good;
        bad[at] = value;
        INFO(at.to_string() << " = " << value);
        CHECK_FALSE(violations(schema, bad).empty());
        CHECK_THROWS_AS(from_json(bad.dump(), "test"), detreduce::program::Failure);
    };
    // What is not a count: sizes, which may be beyond it, and the seed.
    const std::set<std::string> sizes{"seed", "n", "bytes", "rows", "memory_bytes", "l2_bytes"};
    std::size_t counts = 0;
    for (const char* where :
         {"/provenance", "/provenance/gpu", "/error/0", "/edges/0", "/determinism/0", "/determinism/2/patterns/0",
          "/cost/0", "/ladder/0", "/data/0", "/data_sums/0", "/reference/0", "/op_cost/0"}) {
        for (const auto& [key, value] : good[json::json_pointer(where)].items()) {
            if (!value.is_number_integer()) continue;
            const json::json_pointer at(std::string(where) + "/" + key);
            refused(at, -1);
            refused(at, 1.5);
            if (sizes.contains(key)) continue;
            ++counts;
            refused(at, largest_count + 1);
            refused(at, INT64_MAX); // of which two are a negative sum
            json most = good;
            most[at] = largest_count;
            CHECK(violations(schema, most).empty());
            CHECK_NOTHROW(from_json(most.dump(), "test"));
        }
    }
    CHECK(counts == 19);
}

TEST_CASE("every key of every object is required, by the schema and by the reader", "[report]") {
    const json schema = results_schema();
    const json good = json::parse(to_json(with_own(sample())));
    for (const char* where :
         {"", "/provenance", "/provenance/gpu", "/error/0", "/edges/0", "/determinism/0", "/determinism/2/patterns/0",
          "/cost/0", "/data/0", "/data_sums/0", "/reference/0", "/op_cost/0", "/own/0"}) {
        for (const auto& [key, unused] : good[json::json_pointer(where)].items()) {
            if (*where == 0 &&
                (key == "data" || key == "data_sums" || key == "reference" || key == "op_cost" || key == "own"))
                continue; // as in files of before
            json bad = good;
            bad[json::json_pointer(where)].erase(key);
            INFO(where << "/" << key);
            CHECK_FALSE(violations(schema, bad).empty());
            CHECK_THROWS(from_json(bad.dump(), "test"));
        }
    }
}
