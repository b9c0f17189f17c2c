// --column: CSV, text with blanks between numbers, and what is refused, with its line and column.
#include <support/catch.hpp>

#include "program.hpp"

using namespace program_test;

namespace {

Outcome reduce_csv(const std::string& text, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--format", "csv"});
    return reduce_text(text, more);
}

void check_refused(const Outcome& o, const std::string& says) {
    INFO(o.err);
    CHECK(is_clean_failure(o));
    CHECK(o.err.find(says) != std::string::npos);
}

} // namespace

TEST_CASE("csv: a column by its number or its name", "[program]") {
    const std::string text = "time, \"price, in \"\"$\"\"\",x\r\n1,1.5,\"7\"\r\n\r\n2, 2.5 ,8\r\n3,0x1p-1,\"9\"";
    CHECK(reduce_csv(text, {"--column", "time"}).out == "6\n");
    CHECK(reduce_csv(text, {"--column", "price, in \"$\""}).out == "4.5\n");
    CHECK(reduce_csv(text, {"--column", "x"}).out == "24\n");
    CHECK(reduce_csv("\xef\xbb\xbf"
                     "a,b\n1,2\n",
                     {"--column", "a"})
              .out == "1\n");
    CHECK(reduce_csv("1,10\n2,20\n", {"--column", "2"}).out == "30\n");
    CHECK(reduce_csv("1,,3\n4,,6\n", {"--column", "3"}).out == "9\n");
    // Digits are the number of a column, also where they are a name.
    CHECK(reduce_csv("2,1\n10,20\n", {"--column", "2"}).out == "21\n");
    CHECK(reduce_csv("2,1\n10,20\n", {"--column", "\"2\""}).out == "10\n");
    CHECK(reduce_csv("x,\"2024\"\n1,2\n", {"--column", "\"2024\""}).out == "2\n");
    CHECK(reduce_csv("x,\"\"\"y\"\"\"\n1,2\n", {"--column", "\"y\""}).out == "2\n"); // with its quotes
    CHECK(reduce_csv("1\n2\n").out == "3\n");                                        // the only column
    CHECK(reduce_csv("\"a\nb\",c\n\"x\n\ny\",2\n", {"--column", "c"}).out == "2\n");
    CHECK(reduce_csv("\"a\nb\",c\n7,2\n", {"--column", "a\nb"}).out == "7\n");
    CHECK(reduce_csv("a,b\n", {"--column", "b"}).out == "0\n");
    CHECK(reduce_csv("").out == "0\n");
    CHECK(reduce_csv("1,0.1\n", {"--column", "2", "--dtype", "f32"}).out == "0.1\n");
    const TemporaryDirectory directory;
    const std::string file = directory.write("T.CSV", "x,y\n1,4\n2,5\n3,6\n");
    CHECK(run_program({"reduce", file, "--column", "y", "--op", "mean"}).out == "5\n");
    CHECK(run_program({"reduce", file, "--column", "x", "--op", "dot", "--with", file, "--with-column", "y"}).out ==
          "32\n");
    CHECK(run_program({"reduce", file, "--column", "x", "--op", "dot", "--with", file}).out == "14\n");
    CHECK(run_program({"reduce", file, "--column", "2", "--method", "tree"})
              .err.find("line 1, column 2: 'y' is not a "
                        "number") != std::string::npos);
    const std::string text_file = directory.write("t.txt", "1\n2\n3\n");
    CHECK(run_program({"reduce", file, "--column", "y", "--op", "dot", "--with", text_file}).out == "32\n");
}

TEST_CASE("text: a column of lines with blanks between numbers", "[program]") {
    const std::string text = "# head\n  t   x\n1 10 # one\n\n2\t20\n 3  30 \n";
    CHECK(reduce_text(text, {"--column", "x"}).out == "60\n");
    CHECK(reduce_text(text, {"--column", "t"}).out == "6\n");
    CHECK(reduce_text("1 10\n2 20\n", {"--column", "2"}).out == "30\n");
    check_refused(reduce_text("1 10\n2\n", {"--column", "2"}),
                  "standard input, line 2 has 1 column, but the first has 2; each line must have as many");
    check_refused(reduce_text("1 10\n2 x20\n", {"--column", "2"}), "line 2, column 2: 'x20' is not a number");
}

TEST_CASE("columns that are refused, with their line and column", "[program]") {
    const std::string good = "a,b\n1,2\n";
    check_refused(reduce_csv(good), "standard input has 2 columns; say which, by --column and its number or name");
    check_refused(reduce_csv(good, {"--column", "0"}), "has no column 0; allowed are 1 to 2");
    check_refused(reduce_csv(good, {"--column", "3"}), "has no column 3; allowed are 1 to 2");
    check_refused(reduce_csv("1\n", {"--column", "2"}), "has no column 2; allowed are 1\n");
    check_refused(reduce_csv(good, {"--column", "99999999999999999999"}), "has no column 99999999999999999999");
    check_refused(reduce_csv("2023,2024\n1,2\n", {"--column", "2024"}),
                  "has no column 2024; allowed are 1 to 2; the column with that name is --column '\"2024\"'\n");
    check_refused(reduce_csv(good, {"--column", "\"2\""}), "has no column '2'; its first line names 'a', 'b'");
    check_refused(reduce_csv(good, {"--column", "c"}), "has no column 'c'; its first line names 'a', 'b'");
    check_refused(reduce_csv("a,a\n1,2\n", {"--column", "a"}), "has 2 columns named 'a'; allowed is the number of one");
    check_refused(reduce_csv("", {"--column", "a"}), "has no first line that could name a column 'a'");
    check_refused(
        reduce_csv(good, {"--column", "2"}),
        "line 1, column 2: 'b' is not a number; allowed are decimal (-1.5e3), hexadecimal (0x1.8p+1), nan, inf "
        "and -inf; a first line with names takes --column NAME\n");
    check_refused(reduce_csv("a,b\n1,2\n3,2.5.1\n", {"--column", "b"}), "line 3, column 2: '2.5.1' is not a number");
    check_refused(reduce_csv("a,b\n1,\n", {"--column", "b"}), "line 2, column 2 is empty; allowed is a number, as nan");
    check_refused(reduce_csv("a,b\n1,1 2\n", {"--column", "b"}), "line 2, column 2: '1 2' is not a number");
    check_refused(reduce_csv("a,b\n1,1e400\n", {"--column", "b"}), "line 2, column 2: '1e400' is too large for f64");
    check_refused(reduce_csv("a,b\n1\n", {"--column", "a"}), "line 2 has 1 column, but the first has 2");
    check_refused(reduce_csv("1,5\n2,5,5\n", {"--column", "1"}), "line 2 has 3 columns, but the first has 2");
    check_refused(reduce_csv("\"1\"x,2\n", {"--column", "1"}), "line 1, column 1: 'x,2' follows the closing quote");
    check_refused(reduce_csv("1,2\n3,\"4\n5,6\n", {"--column", "1"}), "line 2, column 2: a quote is not closed");
    check_refused(reduce_csv("\"" + std::string(std::size_t{3} << 20, '\n'), {"--column", "1"}),
                  "a quote is not closed");
    check_refused(reduce_csv(std::string(70000, ',').append("\n"), {"--column", "1"}), "has more than 65536 columns");
    check_refused(reduce_csv(std::string(std::size_t{2} << 20, '1'), {"--column", "1"}),
                  "line 1 is longer than 1048576");
    check_refused(reduce_csv(std::string("1,2\n\0,3\n", 8), {"--column", "1"}), "line 2, column 1: '\\x00' is not");
}
