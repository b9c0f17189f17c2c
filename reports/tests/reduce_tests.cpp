// What `detreduce reduce` prints: decimal, JSON, and the library's own bits.
#include <support/catch.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include <nlohmann/json.hpp>

#include <detreduce/detreduce.hpp>

#include "number_text.hpp"
#include "program.hpp"

using namespace program_test;
namespace program = detreduce::program;

namespace {

nlohmann::ordered_json json_of(const Outcome& o) {
    INFO(o.err);
    REQUIRE(o.code == 0);
    REQUIRE(o.out.back() == '\n');
    return nlohmann::ordered_json::parse(o.out);
}

template <class T>
std::vector<T> numbers(std::size_t n) {
    std::mt19937_64 random(7);
    std::normal_distribution<T> normal;
    std::vector<T> values(n);
    for (T& value : values)
        value = normal(random);
    return values;
}

/// A finite value, every exponent equally often.
template <class T, class Bits>
T random_value(std::mt19937_64& random) {
    for (;;) {
        const T value = std::bit_cast<T>(static_cast<Bits>(random()));
        if (std::isfinite(value)) return value;
    }
}

template <class T, class Bits>
void check_round_trips(const std::string& dtype) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 60; ++i) {
        const T value = random_value<T, Bits>(random);
        const nlohmann::ordered_json json =
            json_of(reduce_text(program::shortest_decimal(value) + "\n", {"--dtype", dtype, "--json"}));
        CHECK(json["bits"] == program::bits_text(value)); // the sum of one number is that number
        const std::string decimal = json["decimal"], hexadecimal = json["value"];
        T again = 0;
        CHECK(program::parse_number(decimal, again) == program::Parsed::ok);
        CHECK(std::bit_cast<Bits>(again) == std::bit_cast<Bits>(value));
        CHECK(reduce_text(hexadecimal, {"--dtype", dtype}).out == decimal + "\n");
    }
}

} // namespace

TEST_CASE("json: keys in their order, and their values") {
    const Outcome o = reduce_text("1\n2\n", {"--dtype", "f32", "--json"});
    const auto json = json_of(o);
    std::vector<std::string> keys;
    for (const auto& item : json.items())
        keys.push_back(item.key());
    CHECK(keys == std::vector<std::string>{"op", "method", "dtype", "n", "device", "value", "bits", "decimal",
                                           "guarantee", "spec_version", "version"});
    nlohmann::ordered_json expected{{"op", "sum"},
                                    {"method", "tree"},
                                    {"dtype", "f32"},
                                    {"n", 2},
                                    {"device", "cpu"},
                                    {"value", "0x1.8p+1"},
                                    {"bits", "0x40400000"},
                                    {"decimal", "3"},
                                    {"guarantee", "device"},
                                    {"spec_version", detreduce::spec_version},
                                    {"version", detreduce::version}};
    CHECK(json == expected);
    CHECK(std::count(o.out.begin(), o.out.end(), '\n') == 1);
}

TEST_CASE("json: special values") {
    struct Case {
        std::string text, value, bits, decimal;
    };
    const std::vector<Case> cases{
        {"nan", "nan", "0x7ff8000000000000", "nan"},
        {"-nan", "nan", "0x7ff8000000000000", "nan"}, // canonical, as SPEC.md has it
        {"inf", "inf", "0x7ff0000000000000", "inf"},
        {"-inf", "-inf", "0xfff0000000000000", "-inf"},
        {"-0", "-0x0p+0", "0x8000000000000000", "-0"},
        {"0", "0x0p+0", "0x0000000000000000", "0"},
        {"5e-324", "0x0.0000000000001p-1022", "0x0000000000000001", "5e-324"},
        {"0.1", "0x1.999999999999ap-4", "0x3fb999999999999a", "0.1"},
    };
    for (const Case& c : cases) {
        const auto json = json_of(reduce_text(c.text, {"--json"}));
        INFO(json);
        CHECK(json["value"] == c.value);
        CHECK(json["bits"] == c.bits);
        CHECK(json["decimal"] == c.decimal);
    }
    const auto f32 = json_of(reduce_text("1e-45", {"--json", "--dtype", "f32"}));
    CHECK(f32["value"] == "0x1p-149");
    CHECK(f32["bits"] == "0x00000001");
    CHECK(f32["decimal"] == "1e-45");
}

TEMPLATE_TEST_CASE("the bits are the library's, for every method and number of threads", "", float, double) {
    const TemporaryDirectory directory;
    const auto values = numbers<TestType>(100'003);
    const std::string file = directory.write("data.npy", npy_of(values));
    for (const auto& m : detreduce::methods()) {
        if (!m.on_cpu) continue;
        const std::string method(m.name);
        const TestType expected = detreduce::sum(std::span<const TestType>(values), m.method, {.threads = 1});
        const auto json = json_of(run_program({"reduce", file, "--method", method, "--threads", "1", "--json"}));
        CHECK(json["bits"] == program::bits_text(expected));
        CHECK(json["value"] == program::hexadecimal(expected));
        CHECK(json["method"] == method);
        CHECK(json["n"] == values.size());
        CHECK(json["guarantee"] == name(m.guarantee));
        CHECK(run_program({"reduce", file, "--method", method, "--threads", "1"}).out ==
              program::shortest_decimal(expected) + "\n");
    }
    const std::string expected = program::shortest_decimal(detreduce::sum(std::span<const TestType>(values))) + "\n";
    for (const char* threads : {"0", "1", "2", "3", "8"}) {
        CHECK(run_program({"reduce", file, "--threads", threads}).out == expected);
    }
}

TEST_CASE("random bit patterns survive text, sum and text again") {
    check_round_trips<float, std::uint32_t>("f32");
    check_round_trips<double, std::uint64_t>("f64");
}

TEST_CASE("the same numbers as .npy, raw and text give the same bits") {
    const TemporaryDirectory directory;
    const auto values = numbers<double>(10'001);
    std::string decimal, hexadecimal;
    for (const double value : values) {
        decimal += program::shortest_decimal(value) + "\n";
        hexadecimal += program::hexadecimal(value) + "\n";
    }
    const std::string expected = run_program({"reduce", directory.write("a.npy", npy_of(values)), "--json"}).out;
    CHECK(run_program({"reduce", directory.write("a.bin", bytes_of(values)), "--dtype", "f64", "--json"}).out ==
          expected);
    CHECK(run_program({"reduce", directory.write("a.txt", decimal), "--json"}).out == expected);
    CHECK(reduce_text(hexadecimal, {"--json"}).out == expected);
}

TEST_CASE("on a GPU: the same bits, if there is one") {
    const auto gpus = detreduce::cuda::devices();
    if (gpus.empty()) return;
    const TemporaryDirectory directory;
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{1'000'003}, std::size_t{20'000'001}}) {
        const std::string file = directory.write("a.npy", npy_of(numbers<float>(n)));
        const auto cpu = json_of(run_program({"reduce", file, "--json"}));
        const auto gpu = json_of(run_program({"reduce", file, "--json", "--device", "cuda"}));
        CHECK(cpu["bits"] == gpu["bits"]);
        CHECK(gpu["device"] == "cuda:0");
    }
}
