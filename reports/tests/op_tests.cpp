// `detreduce reduce --op …`: one file and two, and what is wrong with them.
#include <support/catch.hpp>

#include <cmath>

#include <detreduce/detreduce.hpp>

#include "number_text.hpp"
#include "program.hpp"

using namespace program_test;
namespace program = detreduce::program;

namespace {

std::string text_of(const std::vector<double>& x) {
    std::string text;
    for (const double v : x)
        text += program::shortest_decimal(v) + "\n";
    return text;
}

} // namespace

TEST_CASE("every op prints the library's own number", "[program]") {
    const TemporaryDirectory files;
    std::vector<double> x, y;
    for (int i = 0; i < 3000; ++i) {
        x.push_back(std::ldexp(1 + i * 0.001, i % 40 - 20));
        y.push_back(std::ldexp(3 - i * 0.002, i % 37 - 20));
    }
    const std::string first = files.write("x.txt", text_of(x)), second = files.write("y.txt", text_of(y));
    for (const detreduce::OpInfo& op : detreduce::ops()) {
        if (op.kind != detreduce::Kind::sum) continue; // order_tests.cpp
        for (const char* const method : {"exact", "compensated", "tree", "serial"}) {
            const auto m = *detreduce::parse_method(method);
            std::vector<std::string> arguments{"reduce", first, "--op", std::string(op.name), "--method", method};
            double expected = 0;
            if (op.inputs == 2) {
                arguments.insert(arguments.end(), {"--with", second});
                expected = detreduce::reduce_as<double>(op.op, x, y, m);
            } else {
                expected = detreduce::reduce_as<double>(op.op, x, m);
            }
            const Outcome outcome = run_program(arguments);
            INFO(op.name << ' ' << method << ' ' << outcome.err);
            REQUIRE(outcome.out == program::shortest_decimal(expected) + "\n");
        }
    }
}

TEST_CASE("a mean streams, and goes on from a state", "[program]") {
    const TemporaryDirectory files;
    REQUIRE(reduce_text("1\n2\n6\n", {"--op", "mean"}).out == "3\n");
    const std::string state = files.path("a.state");
    REQUIRE(reduce_text("1\n2\n", {"--op", "mean", "--save-state", state}).out == "1.5\n");
    REQUIRE(reduce_text("6\n", {"--op", "mean", "--add-state", state}).out == "3\n");
    REQUIRE(is_clean_failure(reduce_text("", {"--op", "mean"})));
    REQUIRE(is_clean_failure(reduce_text("", {"--op", "mean", "--method", "tree"})));
    REQUIRE(reduce_text("", {"--op", "nrm2"}).out == "0\n");
}

TEST_CASE("variances take what is to be taken from n", "[program]") {
    const std::string text = "1\n2\n3\n4\n7\n";
    REQUIRE(reduce_text(text, {"--op", "variance"}).out == "4.24\n");
    REQUIRE(reduce_text(text, {"--op", "variance", "--ddof", "1"}).out == "5.3\n");
    REQUIRE(reduce_text(text, {"--op", "stddev", "--ddof", "4", "--method", "tree"}).code == 0);
    const std::string json = reduce_text(text, {"--op", "variance", "--ddof", "1", "--json"}).out;
    REQUIRE(json.find("\"ddof\":1,") != std::string::npos);
    const Outcome few =
        reduce_text(text, {"--op", "variance", "--ddof", "5"}); // as an empty file: the numbers are at fault
    REQUIRE(is_clean_failure(few));
    REQUIRE(few.err.find("allowed are 0 to n - 1 (here n is 5)") != std::string::npos);
    REQUIRE(reduce_text(text, {"--op", "std", "--json"}).out == reduce_text(text, {"--op", "stddev", "--json"}).out);
    REQUIRE(reduce_text(text, {"--op", "var"}).out == "4.24\n");
    REQUIRE(is_usage_error(reduce_text(text, {"--op", "variance", "--ddof", "-1"})));
    REQUIRE(is_usage_error(reduce_text(text, {"--op", "sum", "--ddof", "1"})));
    REQUIRE(is_clean_failure(reduce_text("", {"--op", "variance"})));
    REQUIRE(reduce_text(text, {"--op", "moments", "--ddof", "1"}).out == "3.4 5.3\n");
}

TEST_CASE("two files must fit each other", "[program]") {
    const TemporaryDirectory files;
    const std::string three = files.write("3.txt", "1\n2\n3\n"), two = files.write("2.txt", "1\n2\n"),
                      raw = files.write("f32.bin", std::string_view("\0\0\0\0\0\0\0\0\0\0\0\0", 12));
    REQUIRE(run_program({"reduce", three, "--op", "dot", "--with", three}).out == "14\n");
    REQUIRE(run_program({"reduce", "-", "--op", "dot", "--with", three}, {.input = "4\n5\n6\n"}).out == "32\n");
    REQUIRE(run_program({"reduce", raw, "--op", "mse", "--with", three, "--dtype", "f32"}).code == 0);
    REQUIRE(is_clean_failure(run_program({"reduce", three, "--op", "dot", "--with", two})));
    REQUIRE(is_clean_failure(run_program({"reduce", three, "--op", "dot", "--with", files.path("none.txt")})));
    REQUIRE(is_usage_error(run_program({"reduce", three, "--op", "dot"})));
    REQUIRE(is_usage_error(run_program({"reduce", three, "--op", "sum", "--with", three})));
    REQUIRE(is_usage_error(run_program({"reduce", three, "--op", "median"})));
    REQUIRE(is_usage_error(run_program({"reduce", "-", "--op", "dot", "--with", "-"})));
    REQUIRE(is_usage_error(run_program({"reduce", raw, "--op", "dot", "--with", raw}))); // --dtype is needed
}
