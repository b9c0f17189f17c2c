// `detreduce reduce --op minmax`, count_nonzero and count_unique.
#include <support/catch.hpp>

#include <detreduce/detreduce.hpp>
#include <nlohmann/json.hpp>

#include "program.hpp"

using namespace program_test;

TEST_CASE("minimum and maximum at once", "[program]") {
    REQUIRE(reduce_text("2\n-7\n5\n", {"--op", "minmax"}).out == "-7 5\n");
    REQUIRE(reduce_text("0\n-0\n", {"--op", "minmax", "--dtype", "f16"}).out == "-0 0\n");
    REQUIRE(reduce_text("2\nnan\n5\n", {"--op", "minmax"}).out == "nan nan\n");
    REQUIRE(reduce_text("2\nnan\n5\n", {"--op", "minmax", "--nan", "ignore", "--dtype", "bf16"}).out == "2 5\n");
    REQUIRE(reduce_text("1\n1e300\n", {"--op", "minmax", "--output", "f32"}).out == "1 inf\n");
    const Outcome of_nothing = reduce_text("", {"--op", "minmax"});
    REQUIRE(is_clean_failure(of_nothing));
    REQUIRE(of_nothing.err.find("minmax needs one or more") != std::string::npos);
}

TEST_CASE("how many are not zero, and how many are different", "[program]") {
    const std::string text = "2\n-0\n0\nnan\n2\n-nan\n3\n";
    for (const char* const dtype : {"f16", "bf16", "f32", "f64"}) {
        REQUIRE(reduce_text(text, {"--op", "count_nonzero", "--dtype", dtype}).out == "5\n");
        REQUIRE(reduce_text(text, {"--op", "count_unique", "--dtype", dtype, "--threads", "3"}).out == "4\n");
    }
    for (const char* const op : {"count_nonzero", "count_unique"}) {
        REQUIRE(reduce_text("", {"--op", op}).out == "0\n");
        REQUIRE(reduce_text("1\n", {"--op", op, "--method", "tree"}).out == "1\n");
        REQUIRE(is_usage_error(reduce_text("1\n", {"--op", op, "--method", "atomic"})));
        REQUIRE(is_usage_error(reduce_text("1\n", {"--op", op, "--output", "f32"})));
        REQUIRE(is_usage_error(reduce_text("1\n", {"--op", op, "--nan", "ignore"})));
    }
    const TemporaryDirectory files;
    REQUIRE(is_usage_error(reduce_text("1\n", {"--op", "count_unique", "--save-state", files.path("s")})));
}

TEST_CASE("JSON of minmax and counts", "[program]") {
    const auto json = [](const char* op) {
        return nlohmann::json::parse(reduce_text("4\n9\n4\n", {"--op", op, "--json"}).out);
    };
    const auto both = json("minmax");
    REQUIRE(both["values"].size() == 2);
    REQUIRE(both["values"][0]["decimal"] == "4");
    REQUIRE(both["values"][1]["decimal"] == "9");
    REQUIRE(both["values"][1]["bits"] == "0x4022000000000000");
    REQUIRE(both["output"] == "f64");
    REQUIRE(both["guarantee"] == "order");
    REQUIRE(both["nan"] == "propagate");
    REQUIRE_FALSE(both.contains("value"));
    const auto unique = json("count_unique");
    REQUIRE(unique["count"] == 2);
    REQUIRE(unique["n"] == 3);
    REQUIRE(unique["guarantee"] == "order");
    REQUIRE_FALSE(unique.contains("output"));
    REQUIRE_FALSE(unique.contains("index"));
    REQUIRE_FALSE(unique.contains("nan"));
}
