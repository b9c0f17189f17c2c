// Text: lines, comments, and what is refused.
#include <support/catch.hpp>

#include "program.hpp"

using namespace program_test;

namespace {

void check_sum(const std::string& text, const std::string& expected) {
    const Outcome o = reduce_text(text);
    INFO(text << " stderr: " << o.err);
    CHECK(o.code == 0);
    CHECK(o.out == expected + "\n");
}

void check_refused(const std::string& text, const std::string& says, const std::vector<std::string>& more = {}) {
    const Outcome o = reduce_text(text, more);
    INFO(text << " stderr: " << o.err);
    CHECK(is_clean_failure(o));
    CHECK(o.err.find(says) != std::string::npos);
}

} // namespace

TEST_CASE("text: lines, blanks and comments") {
    check_sum("1\n2\n3\n", "6");
    check_sum("1\n2\n3", "6"); // the last line may lack its newline
    check_sum("1\r\n2\r\n3\r\n", "6");
    check_sum("\n\n 1\t\n\t\n   2   \n\n", "3");
    check_sum("# head\n1 # one\n#2\n  # x\n3#three\n", "4");
    check_sum("\xef\xbb\xbf"
              "1\n2\n",
              "3");
    check_sum("", "0");
    check_sum("\n", "0");
    check_sum("# nothing\n", "0");
}

TEST_CASE("text: every kind of number") {
    check_sum("+1.5\n", "1.5");
    check_sum("-.5e1\n", "-5");
    check_sum("5.\n", "5");
    check_sum("1E2\n", "100");
    check_sum("0x1.8p+3\n", "12");
    check_sum("-0X1.8P3\n", "-12");
    check_sum("0xA\n", "10");
    check_sum("0x.8p1\n", "1");
    for (const char* word : {"nan", "NaN", "NAN", "+nan", "-nan"})
        check_sum(word, "nan");
    for (const char* word : {"inf", "INF", "+Inf", "infinity", "Infinity"})
        check_sum(word, "inf");
    for (const char* word : {"-inf", "-INFINITY"})
        check_sum(word, "-inf");
    check_sum("inf\n-inf\n", "nan");
    check_sum("-0\n", "-0");
    check_sum("-0\n-0.0\n", "-0");
    check_sum("-0\n0\n", "0");
    check_sum("1e-400\n", "0");
    check_sum("-1e-400\n", "-0");
}

TEST_CASE("text: what is not a number names the line and the text") {
    for (const char* bad : {"abc", "1,5", "1_000", "1e",  "1e+",        "0x",  "0xp1",   "0x1p", "--1",     "+-1",
                            "-+1", ".",   "e5",    "1d5", "0b1",        "1f",  "nan(1)", "inff", "infinit", "nano",
                            "-",   "+",   "1.2.3", "½",   "0x1.8p+1.5", "0xg", "NaNx",   "'1'"}) {
        const std::string says = "standard input, line 2: '" + std::string(bad) +
                                 "' is not a number; allowed are decimal (-1.5e3), "
                                 "hexadecimal (0x1.8p+1), nan, inf and -inf\n";
        check_refused("1\n" + std::string(bad) + "\n3\n", says);
    }
    check_refused(std::string("1\n\0\n", 4), "line 2: '\\x00' is not a number");
    check_refused("\n# c\n\nx", "line 4: 'x'");
    check_refused(std::string(100, '1') + "x", "line 1: '" + std::string(60, '1') + "…' is not a number");
}

TEST_CASE("text: more than one number in a line") {
    for (const char* bad : {"1 2", "1\t2", "1 2 3", "nan 1", "1 x", "1\r2", "- 1"}) {
        check_refused("5\n\n" + std::string(bad) + " # c\n", "line 3: '");
        check_refused(std::string(bad) + "\n", "is more than one number; allowed is one number a line, or --column\n");
    }
}

TEST_CASE("text: too large for the dtype") {
    check_refused("1\n1e400\n",
                  "standard input, line 2: '1e400' is too large for f64; allowed are -1.7976931348623157e+308 to "
                  "1.7976931348623157e+308, inf and -inf\n");
    check_refused("-1e309", "'-1e309' is too large for f64");
    check_refused("1.797693134862315808e308", "too large for f64"); // rounds to 2^1024
    check_refused("0x1p1024", "'0x1p1024' is too large for f64");
    check_refused("0x1.fffffffffffff8p1023", "too large for f64"); // a tie that rounds up
    check_refused("1e39", "'1e39' is too large for f32; allowed are -3.4028235e+38 to 3.4028235e+38, inf and -inf\n",
                  {"--dtype", "f32"});
    check_refused("0x1.ffffffp127", "too large for f32", {"--dtype", "f32"});
    check_refused("1e99999999999999999999", "too large for f64");
    check_refused("0." + std::string(400, '0') + "1e99999", "too large for f64");
    check_sum("1.797693134862315807e308", "1.7976931348623157e+308"); // just below the tie
    check_sum(std::string(400, '0') + "1", "1");
    check_sum("0." + std::string(400, '0') + "1e401", "1");
    check_sum("1" + std::string(400, '0') + "e-400", "1");
    check_sum("1" + std::string(400, '0') + "e-99999", "0");
    check_sum("1e-99999999999999999999", "0");
    check_sum("0e99999999999999999999", "0");
    check_sum("0x0p99999999999999999999", "0");
}

TEST_CASE("text: long lines and long inputs") {
    check_sum("0." + std::string(1 << 19, '3') + "\n", "0.3333333333333333");
    check_refused("1\n" + std::string((1 << 20) + 1, '1'), "standard input, line 2 is longer than 1048576 bytes");
    std::string many;
    for (int i = 0; i < 400'000; ++i)
        many += "0.25\n"; // crosses the buffer's end in every phase of a line
    check_sum(many, "1e+05");
    Streams streams{.input = many};
    streams.input_is_pipe = true;
    CHECK(run_program({"reduce", "-"}, streams).out == "1e+05\n");
    check_refused(many + "oops\n", "line 400001: 'oops'");
    std::string more; // than one block of numbers holds
    for (int i = 0; i < 8; ++i)
        more += many;
    CHECK(reduce_text(more).out == "8e+05\n");
    check_refused(more + "oops\n", "line 3200001: 'oops'");
}

TEST_CASE("text: files by name, and dtypes") {
    const TemporaryDirectory directory;
    const std::string file = directory.write("numbers in here.txt", "0.1\n0.2\n");
    CHECK(run_program({"reduce", file}).out == "0.30000000000000004\n");
    CHECK(run_program({"reduce", file, "--dtype", "f32"}).out == "0.3\n");
    CHECK(run_program({"reduce", directory.write("data.csv", "1\n2\n"), "--format", "text"}).out == "3\n");
    const Outcome o = run_program({"reduce", directory.write("bad.txt", "x\n")});
    CHECK(is_clean_failure(o));
    CHECK(o.err.find("bad.txt', line 1: 'x' is not a number") != std::string::npos);
}

TEST_CASE("text: 16-bit formats are rounded once, not through f32 or f64") {
    const auto f16 = [](const std::string& text) {
        return reduce_text(text, {"--dtype", "f16", "--output", "f64"}).out;
    };
    CHECK(f16("2049\n") == "2048\n");
    CHECK(f16("2049.0000000000000001\n") == "2050\n");
    CHECK(f16("2050.9999999999999999\n") == "2050\n");
    CHECK(f16("2051\n") == "2052\n");
    CHECK(f16("0x801p0\n") == "2048\n");
    CHECK(f16("0x801.00000000000000000001p0\n") == "2050\n");
    CHECK(f16("65519." + std::string(1000, '9') + "\n") == "65504\n");
    CHECK(f16("2.98023223876953125e-8\n") == "0\n"); // 2^−25, half of the smallest subnormal
    CHECK(f16("2.980232238769531250000000000000000001e-8\n") == "5.960464477539063e-08\n");
    const auto bf16 = [](const std::string& text) { return reduce_text(text, {"--dtype", "bf16"}).out; };
    CHECK(bf16("257\n") == "256\n");
    CHECK(bf16("257.00000000000000000001\n") == "258\n");
    CHECK(bf16("259\n") == "260\n");
    check_refused("65520\n", "line 1: '65520' is too large for f16; allowed are -65504 to 65504, inf and -inf\n",
                  {"--dtype", "f16"});
    check_refused("1e400\n", "'1e400' is too large for f16", {"--dtype", "f16"});
    check_refused("3.4e38\n", "too large for bf16; allowed are -3.3895314e+38 to 3.3895314e+38, inf",
                  {"--dtype", "bf16"});
}

TEST_CASE("text: f32 is rounded once, not through f64") {
    // Just above the tie between 1 and 1 + 2^-23, by less than f64 can hold: through f64 it would
    // round down to even.
    const std::string text = "1.00000005960464477539062500000000000001\n";
    CHECK(reduce_text(text, {"--dtype", "f32"}).out == "1.0000001\n");
    CHECK(reduce_text("0x1.0000010000000000001p0\n", {"--dtype", "f32"}).out == "1.0000001\n");
    CHECK(reduce_text("0x1.000001p0\n", {"--dtype", "f32"}).out == "1\n");
}

TEST_CASE("text: not enough memory for the numbers is a failure, not a crash") {
    if (!address_space_is_limitable)
        return detreduce::proptests::skipped("the memory of a process cannot be limited here");
    Streams streams;
    streams.memory_limit = std::uint64_t{1} << 28;
    streams.input.reserve(64u << 20);
    while (streams.input.size() < (64u << 20))
        streams.input += "1\n1\n1\n1\n1\n1\n1\n1\n"; // 32 Mi numbers, 256 MiB
    const Outcome o = run_program({"reduce", "-", "--threads", "1", "--method", "tree"}, streams);
    INFO(o.err);
    CHECK(is_clean_failure(o));
    CHECK(o.err.find("not enough memory") != std::string::npos);
    CHECK(run_program({"reduce", "-", "--threads", "1"}, streams).out == "33554432\n"); // exact keeps none of them
}
