// `detreduce devices`, as lines and as JSON.
#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <detreduce/detreduce.hpp>

#include "program.hpp"

using namespace program_test;

TEST_CASE("devices: one line for the CPU, and each GPU or why there is none") {
    const Outcome o = run_program({"devices"});
    CHECK(o.code == 0);
    CHECK(o.err.empty());
    CHECK(o.out.starts_with("cpu     "));
    CHECK(o.out.find("instruction sets baseline") != std::string::npos);
    CHECK(o.out.find(" threads\n") != std::string::npos);
    std::string why;
    const auto gpus = detreduce::cuda::devices(&why);
    if (gpus.empty()) CHECK(o.out.find("cuda    none: " + why + "\n") != std::string::npos);
    for (const auto& gpu : gpus)
        CHECK(o.out.find(gpu.name) != std::string::npos);
}

TEST_CASE("devices --json says the same") {
    const Outcome o = run_program({"devices", "--json"});
    REQUIRE(o.code == 0);
    const auto json = nlohmann::json::parse(o.out);
    const auto plan = detreduce::make_plan({.n = std::uint64_t{1} << 32, .device = detreduce::cpu});
    CHECK(json["cpu"]["threads"] == plan.launch().threads); // what a plan of many elements takes
    CHECK_FALSE(json["cpu"]["model"].get<std::string>().empty());
    std::vector<std::string> isas;
    for (const detreduce::Isa isa : detreduce::available_isas())
        isas.emplace_back(name(isa));
    CHECK(json["cpu"]["isas"].get<std::vector<std::string>>() == isas);
    std::string why;
    const auto gpus = detreduce::cuda::devices(&why);
    REQUIRE(json["cuda"].size() == gpus.size());
    for (std::size_t i = 0; i < gpus.size(); ++i)
        CHECK(json["cuda"][i]["name"] == gpus[i].name);
    if (gpus.empty()) CHECK(json["cuda_none_because"] == why);
}
