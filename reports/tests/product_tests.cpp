// `detreduce reduce --op prod`.
#include <support/catch.hpp>

#include <detreduce/detreduce.hpp>
#include <nlohmann/json.hpp>

#include "number_text.hpp"
#include "program.hpp"

using namespace program_test;

TEST_CASE("a product is printed as the library has it", "[program]") {
    REQUIRE(reduce_text("2\n-3\n0.5\n", {"--op", "prod"}).out == "-3\n");
    REQUIRE(reduce_text("", {"--op", "prod"}).out == "1\n");
    std::vector<double> x;
    std::string text;
    for (int i = 0; i < 3000; ++i) {
        x.push_back(i % 2 == 0 ? 1e300 + i * 1e297 : 1e-300 - i * 1e-304);
        text += detreduce::program::shortest_decimal(x.back()) + "\n";
    }
    for (const char* const method : {"compensated", "tree", "serial"}) {
        const double expected = detreduce::prod(x, *detreduce::parse_method(method));
        REQUIRE(reduce_text(text, {"--op", "prod", "--method", method, "--threads", "2"}).out ==
                detreduce::program::shortest_decimal(expected) + "\n");
    }
}

TEST_CASE("of products the method is compensated where none is named", "[program]") {
    const auto json = nlohmann::json::parse(reduce_text("1.1\n2.2\n3.3\n", {"--op", "prod", "--json"}).out);
    REQUIRE(json["method"] == "compensated");
    REQUIRE(json["guarantee"] == "device");
    REQUIRE(json["decimal"] == detreduce::program::shortest_decimal(detreduce::prod(std::vector{1.1, 2.2, 3.3})));
    const auto sum = nlohmann::json::parse(reduce_text("1\n", {"--op", "sum", "--json"}).out);
    REQUIRE(sum["method"] == "exact");
    const Outcome help = run_program({"reduce", "--help"});
    REQUIRE(help.out.find("automatic is exact, and of prod compensated") != std::string::npos);
    for (const auto& [op, method] : {std::pair{"prod", "compensated"}, {"sum", "exact"}, {"variance", "exact"}}) {
        const auto same =
            nlohmann::json::parse(reduce_text("1.1\n2.2\n", {"--op", op, "--method", "automatic", "--json"}).out);
        REQUIRE(same["method"] == method);
        REQUIRE(same == nlohmann::json::parse(reduce_text("1.1\n2.2\n", {"--op", op, "--json"}).out));
    }
}

TEST_CASE("products refuse methods by name, and say which there are", "[program]") {
    for (const char* const method : {"exact", "kahan", "atomic"}) {
        const Outcome outcome = reduce_text("1\n2\n", {"--op", "prod", "--method", method});
        REQUIRE(is_usage_error(outcome));
        REQUIRE(outcome.err.find("compensated, tree") != std::string::npos);
    }
    const TemporaryDirectory files;
    REQUIRE(is_usage_error(reduce_text("1\n", {"--op", "prod", "--save-state", files.path("s")})));
    REQUIRE(is_usage_error(reduce_text("1\n", {"--op", "prod", "--output", "f32"})));
}
