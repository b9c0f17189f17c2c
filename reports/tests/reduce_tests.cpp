// What `detreduce reduce` prints: decimal, JSON, and the library's own bits.
#include <support/catch.hpp>

#include <algorithm>
#include <random>

#include <nlohmann/json.hpp>

#include <detreduce/detreduce.hpp>

#include "number_text.hpp"
#include "program.hpp"

using namespace program_test;
namespace program = detreduce::program;
namespace fp = detreduce::fp;

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
    std::normal_distribution<double> normal;
    std::vector<T> values(n);
    for (T& value : values)
        value = detreduce::fp::round_to<T>(normal(random));
    return values;
}

/// A finite value, every exponent equally often.
template <class T>
T random_value(std::mt19937_64& random) {
    for (;;) {
        const T value = fp::from_bits<T>(static_cast<fp::Bits<T>>(random()));
        if (fp::is_finite(value)) return value;
    }
}

template <class T>
void check_round_trips(const std::string& dtype) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 25; ++i) {
        const T value = random_value<T>(random);
        const nlohmann::ordered_json json =
            json_of(reduce_text(program::shortest_decimal(value) + "\n", {"--dtype", dtype, "--json"}));
        CHECK(json["bits"] == program::bits_text(value)); // the sum of one number is that number
        const std::string decimal = json["decimal"], hexadecimal = json["value"];
        T again{};
        CHECK(program::parse_number(decimal, again) == program::Parsed::ok);
        CHECK(fp::to_bits(again) == fp::to_bits(value));
        CHECK(reduce_text(hexadecimal, {"--dtype", dtype}).out == decimal + "\n");
    }
}

} // namespace

TEST_CASE("reduce --json: ops that compare or count are the same by every method, so that none is named") {
    for (const char* op : {"min", "argmax", "minmax", "nrminf", "count_nonzero", "count_unique"}) {
        const std::string exact = reduce_text("1\n0\n", {"--op", op, "--json"}).out;
        CHECK(nlohmann::json::parse(exact)["method"].is_null());
        CHECK(reduce_text("1\n0\n", {"--op", op, "--json", "--method", "tree"}).out == exact);
    }
}

TEST_CASE("json: keys in their order, and their values") {
    const Outcome o = reduce_text("1\n2\n", {"--dtype", "f32", "--json"});
    const auto json = json_of(o);
    std::vector<std::string> keys;
    for (const auto& item : json.items())
        keys.push_back(item.key());
    CHECK(keys == std::vector<std::string>{"op", "method", "dtype", "output", "n", "device", "value", "bits", "decimal",
                                           "guarantee", "spec_version", "version"});
    nlohmann::ordered_json expected{{"op", "sum"},
                                    {"method", "exact"},
                                    {"dtype", "f32"},
                                    {"output", "f32"},
                                    {"n", 2},
                                    {"device", "cpu"},
                                    {"value", "0x1.8p+1"},
                                    {"bits", "0x40400000"},
                                    {"decimal", "3"},
                                    {"guarantee", "order"},
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

TEMPLATE_TEST_CASE("the bits are the library's, for every method and number of threads", "", detreduce::float16,
                   detreduce::bfloat16, float, double) {
    const TemporaryDirectory directory;
    const auto values = numbers<TestType>(100'003);
    const std::string dtype(name(detreduce::dtype_of<TestType>));
    const std::string file = directory.write("data.bin", bytes_of(values));
    for (const auto& m : detreduce::methods()) {
        if (!m.on_cpu) continue;
        const std::string method(m.name);
        const std::span<const TestType> x(values);
        const TestType expected = detreduce::sum(x, m.method, {.threads = 1});
        const std::vector<std::string> command{"reduce", file, "--dtype", dtype, "--method", method, "--threads", "1"};
        const auto with = [&](const std::vector<std::string>& more) {
            std::vector<std::string> all = command;
            all.insert(all.end(), more.begin(), more.end());
            return run_program(all);
        };
        const auto json = json_of(with({"--json"}));
        CHECK(json["bits"] == program::bits_text(expected));
        CHECK(json["value"] == program::hexadecimal(expected));
        CHECK(json["method"] == method);
        CHECK(json["n"] == values.size());
        CHECK(json["dtype"] == dtype);
        CHECK(json["output"] == dtype);
        CHECK(json["guarantee"] == name(m.guarantee));
        CHECK(with({}).out == program::shortest_decimal(expected) + "\n");
        const double wide = detreduce::sum_as<double>(x, m.method, {.threads = 1});
        const auto wider = json_of(with({"--json", "--output", "f64"}));
        CHECK(wider["output"] == "f64");
        CHECK(wider["bits"] == program::bits_text(wide));
        CHECK(wider["value"] == program::hexadecimal(wide));
        CHECK(wider["decimal"] == program::shortest_decimal(wide));
    }
    const std::string expected = program::shortest_decimal(detreduce::sum(std::span<const TestType>(values))) + "\n";
    for (const char* threads : {"0", "1", "2", "3", "8"}) {
        CHECK(run_program({"reduce", file, "--dtype", dtype, "--threads", threads}).out == expected);
    }
}

TEST_CASE("exact gives every output, others a wider one") {
    const auto bits = [](const std::string& dtype, const std::string& output) {
        return json_of(reduce_text("1\n256\n", {"--dtype", dtype, "--output", output, "--json"}))["bits"];
    };
    for (const char* dtype : {"f16", "bf16", "f32", "f64"}) {
        CHECK(bits(dtype, "f16") == "0x5c04");
        CHECK(bits(dtype, "bf16") == "0x4380"); // 257 is a tie between 256 and 258
        CHECK(bits(dtype, "f32") == "0x43808000");
        CHECK(bits(dtype, "f64") == "0x4070100000000000");
    }
    CHECK(reduce_text("1\n256\n", {"--dtype", "bf16", "--output", "f32", "--method", "kahan"}).out == "257\n");
    const TemporaryDirectory directory; // what it holds is seen only when it is opened
    const Outcome o =
        run_program({"reduce", directory.write("a.npy", npy_of<double>({1})), "--output", "f32", "--method", "tree"});
    INFO(o.err);
    CHECK(is_usage_error(o));
    CHECK(o.err.find("--output: tree does not give f32 for f64; exact gives any dtype") != std::string::npos);
    const std::string half = directory.write("b.npy", npy_of<detreduce::float16>({detreduce::float16(1.0f)}));
    CHECK(run_program({"reduce", half, "--output", "f32", "--method", "tree"}).out == "1\n");
}

TEST_CASE("random bit patterns survive text, sum and text again") {
    check_round_trips<detreduce::float16>("f16");
    check_round_trips<detreduce::bfloat16>("bf16");
    check_round_trips<float>("f32");
    check_round_trips<double>("f64");
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
    if (gpus.empty()) return detreduce::proptests::skipped("this machine has no GPU");
    const TemporaryDirectory directory;
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{1'000'003}, std::size_t{20'000'001}}) {
        const std::string file = directory.write("a.npy", npy_of(numbers<float>(n)));
        for (const char* method : {"exact", "compensated", "kahan", "tree"}) {
            const auto cpu = json_of(run_program({"reduce", file, "--json", "--method", method}));
            const auto gpu = json_of(run_program({"reduce", file, "--json", "--method", method, "--device", "cuda"}));
            CHECK(cpu["bits"] == gpu["bits"]);
            CHECK(gpu["device"] == "cuda:0");
        }
    }
}
