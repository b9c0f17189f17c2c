// `detreduce reduce --op min`, max, argmin, argmax and nrminf.
#include <support/catch.hpp>

#include <detreduce/detreduce.hpp>
#include <nlohmann/json.hpp>

#include "program.hpp"

using namespace program_test;

TEST_CASE("minimum, maximum and where they are", "[program]") {
    const std::string text = "2\n-7\n5\n-7\n5\n";
    const auto printed = [&](const char* op) { return reduce_text(text, {"--op", op}).out; };
    REQUIRE(printed("min") == "-7\n");
    REQUIRE(printed("max") == "5\n");
    REQUIRE(printed("argmin") == "1\n");
    REQUIRE(printed("argmax") == "2\n");
    REQUIRE(printed("nrminf") == "7\n");
    REQUIRE(reduce_text("-0\n", {"--op", "max"}).out == "-0\n");
    REQUIRE(reduce_text("1e300\n", {"--op", "max", "--output", "f32"}).out == "inf\n");
    for (const char* const method : {"exact", "compensated", "kahan", "tree", "serial"})
        REQUIRE(reduce_text(text, {"--op", "min", "--method", method, "--output", "f16", "--threads", "3"}).out ==
                "-7\n");
}

TEST_CASE("order ops do with NaN what --nan says", "[program]") {
    const std::string text = "2\nnan\n-7\n";
    REQUIRE(reduce_text(text, {"--op", "min"}).out == "nan\n");
    REQUIRE(reduce_text(text, {"--op", "argmax", "--nan", "propagate"}).out == "1\n");
    REQUIRE(reduce_text(text, {"--op", "min", "--nan", "ignore"}).out == "-7\n");
    REQUIRE(reduce_text(text, {"--op", "argmin", "--nan", "ignore"}).out == "2\n");
    REQUIRE(reduce_text("nan\nnan\n", {"--op", "argmin", "--nan", "ignore"}).out == "0\n");
    REQUIRE(is_usage_error(reduce_text(text, {"--op", "sum", "--nan", "ignore"})));
    REQUIRE(is_usage_error(reduce_text(text, {"--op", "min", "--nan", "skip"})));
}

TEST_CASE("JSON of order ops", "[program]") {
    const auto json = [](const char* op) {
        return nlohmann::json::parse(reduce_text("4\n9\n", {"--op", op, "--json"}).out);
    };
    const auto index = json("argmax");
    REQUIRE(index["op"] == "argmax");
    REQUIRE(index["index"] == 1);
    REQUIRE(index["n"] == 2);
    REQUIRE(index["nan"] == "propagate");
    REQUIRE(index["guarantee"] == "device");
    REQUIRE_FALSE(index.contains("value"));
    REQUIRE_FALSE(index.contains("output"));
    const auto value = json("max");
    REQUIRE(value["decimal"] == "9");
    REQUIRE(value["output"] == "f64");
    REQUIRE(value["guarantee"] == "order");
    REQUIRE_FALSE(value.contains("index"));
    REQUIRE_FALSE(json("sum").contains("nan"));
}

TEST_CASE("what order ops do not have", "[program]") {
    const TemporaryDirectory files;
    const std::string state = files.path("a.state");
    for (const char* const op : {"min", "max", "argmin", "argmax"}) {
        INFO(op);
        REQUIRE(is_clean_failure(reduce_text("", {"--op", op})));
        REQUIRE(is_clean_failure(reduce_text("", {"--op", op, "--save-state", state})));
        REQUIRE(is_clean_failure(reduce_text("1\n", {"--op", op, "--add-state", state})));
        REQUIRE(is_usage_error(reduce_text("1\n", {"--op", op, "--method", "atomic"})));
    }
    REQUIRE(reduce_text("", {"--op", "nrminf"}).out == "0\n");
    REQUIRE(is_usage_error(reduce_text("1\n", {"--op", "argmin", "--output", "f32"})));
    REQUIRE(read_file(state).empty());
}
