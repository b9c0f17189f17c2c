// `detreduce list`: what it says is what make_plan() says.
#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <detreduce/detreduce.hpp>

#include "program.hpp"

using namespace program_test;
namespace dr = detreduce;

TEST_CASE("list --json has each op and method that there is a plan of, and no other") {
    const Outcome o = run_program({"list", "--json"});
    REQUIRE(o.code == 0);
    const auto json = nlohmann::json::parse(o.out);
    std::size_t at = 0;
    for (const dr::OpInfo& op : dr::ops()) {
        for (const dr::MethodInfo& m : dr::methods()) {
            const dr::Plan plan = dr::make_plan({.op = op.op, .method = m.method, .n = 4, .device = dr::cpu});
            if (!plan.status().ok()) continue;
            INFO(op.name << " " << m.name);
            REQUIRE(at < json.size());
            CHECK(json[at]["op"] == op.name);
            CHECK(json[at]["method"] == m.name);
            CHECK(json[at]["guarantee"] == name(plan.guarantee()));
            CHECK(json[at]["cpu"]["dtypes"].size() == dr::dtypes().size());
            const dr::Plan state =
                dr::make_plan({.op = op.op, .method = m.method, .n = 4, .device = dr::cpu, .state = true});
            CHECK(json[at]["by_ranks"] == state.status().ok());
            ++at;
        }
    }
    CHECK(at == json.size());
}

TEST_CASE("list knows what GPUs have without having one") {
    const auto json = nlohmann::json::parse(run_program({"list", "--json"}).out);
    for (const auto& line : json) {
        INFO(line.dump());
        if (line["method"] == "serial") CHECK(line["cuda"]["dtypes"].empty());
        if (line["method"] == "exact") CHECK(line["cuda"]["dtypes"].size() == dr::dtypes().size());
        if (line["method"] == "atomic" && line["op"] == "sum")
            CHECK(line["cuda"]["shapes"] == nlohmann::json::array({"flat"}));
    }
}

TEST_CASE("list and list --markdown have the same lines") {
    const Outcome lines = run_program({"list"}), markdown = run_program({"list", "--markdown"});
    REQUIRE(lines.code == 0);
    REQUIRE(markdown.code == 0);
    CHECK(lines.out.starts_with("sum\n  exact\n"));
    CHECK(markdown.out.starts_with("| ops | methods | level |"));
    CHECK(markdown.out.find("\n| sum | exact | `order` |") != std::string::npos);
    CHECK(run_program({"list", "--markdown", "--json"}).code == 2);
}
