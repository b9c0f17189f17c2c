// Numbers and strings as people and file formats want them; median and deviation; the read-only
// pass.
#include <support/catch.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include "read_pass.hpp"
#include "sample.hpp"
#include "statistics.hpp"
#include "text.hpp"

using namespace detreduce::report;

TEST_CASE("what was not measured is a dash", "[report]") {
    const Metric nothing, inf = std::numeric_limits<double>::infinity();
    for (const auto& text : {scientific(nothing), fixed(nothing, 2), ulps(nothing), microseconds(nothing),
                             gigabytes_per_second(nothing), percent(nothing), condition_of(nothing)})
        CHECK(text == dash);
    CHECK(scientific(inf) == "∞");
    CHECK(ulps(inf) == "∞");
    CHECK(condition_of(inf) == "∞");
    CHECK(percent(0.0) != dash);
}

TEST_CASE("a shell reads a quoted word as it was", "[report]") {
    for (const char* plain : {"out", "./a-b_c/d.npy", "x=1,2", "cuda:0"})
        CHECK(shell_word(plain) == plain);
    CHECK(shell_word("") == "''");
    CHECK(shell_word("my data") == "'my data'");
    CHECK(shell_word("it's") == "'it'\\''s'");
    for (const char* split : {"a*", "$HOME", "~/x", "a;b", "a\"b", "a\\b", "a\nb", "#", "é"})
        CHECK(shell_word(split) == "'" + std::string(split) + "'");
}

TEST_CASE("figures have the digits that matter", "[report]") {
    CHECK(scientific(1.25e-7) == "1.25e-07");
    CHECK(ulps(0.0) == "0");
    CHECK(ulps(0.5) == "0.50");
    CHECK(ulps(12345.0) == "12 345");
    CHECK(ulps(1.9e7) == "1.9e+07");
    CHECK(microseconds(5.314e-6) == "5.31");
    CHECK(microseconds(0.016412) == "16 412");
    CHECK(gigabytes_per_second(4560.4) == "4 560");
    CHECK(percent(0.283) == "28 %");
    CHECK(percent(0.0042) == "0.42 %");
    CHECK(percent(1e-9) == "< 0.01 %");
    CHECK(count_of(1048576) == "2²⁰");
    CHECK(count_of(1048613) == "2²⁰ + 37");
    CHECK(count_of(1000) == "1 000");
    CHECK(count_of(0) == "0");
    CHECK(bytes_of(268435456) == "256 MiB");
    CHECK(bytes_of(1000) == "1000 B");
}

TEST_CASE("figures are rounded before the number of their digits is chosen", "[report]") {
    CHECK(ulps(9.996) == "10.0");
    CHECK(ulps(99.96) == "100");
    CHECK(ulps(999.6) == "1 000");
    CHECK(percent(0.0996) == "10 %");
    CHECK(percent(0.000096) == "0.01 %");
    CHECK(count_of(18) == "2⁴ + 2");
    CHECK(count_of(19) == "19"); // more than an eighth above
    CHECK(count_of((1 << 20) + 4096) == "2²⁰ + 4096");
    CHECK(count_of((1 << 20) + 4097) == "1 052 673");
}

TEST_CASE("strings are safe where they go", "[report]") {
    const std::string nasty = report_test::nasty;
    CHECK(html_escaped("<a href=\"x\">&'") == "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
    CHECK(html_escaped(nasty).find_first_of("<>\"'") == std::string::npos);
    CHECK(plot_escaped(nasty).find_first_of("'\"`$\\{}@&\n") == std::string::npos);
    CHECK(markdown_escaped(nasty).find('<') == std::string::npos);
    CHECK(markdown_escaped("a|b\nc") == "a\\|b c");
    CHECK(html_escaped(std::string("a\0b\x1b\x7f\t\n", 7)) == "a\uFFFDb\uFFFD\uFFFD\t\n");
    CHECK(markdown_escaped("\x1b[31m") == "\uFFFD\\[31m");
    CHECK(csv_escaped("plain") == "plain");
    const std::string controls("a\0\x1b]b\xc2\x9b\x7fö", 10), marked = "a\uFFFD\uFFFD]b\uFFFD\uFFFDö";
    CHECK(csv_escaped(controls) == marked); // of C0 and C1; letters of two bytes stay
    CHECK(html_escaped(controls) == marked);
    CHECK(markdown_escaped("\xc2\x9b") == "\uFFFD");
    CHECK(csv_escaped("a,\"b\"\n") == "\"a,\"\"b\"\"\n\"");
    CHECK(slug("../../etc/passwd") == "------etc-passwd");
}

TEST_CASE("median and relative deviation", "[report]") {
    CHECK(median({3}) == 3);
    CHECK(median({9, 1, 5}) == 5);
    CHECK(median({4, 1, 2, 9}) == 3);
    CHECK(relative_deviation({10, 10, 10}) == 0);
    CHECK(relative_deviation({8, 10, 12, 100, 10}) == 0.2);
    CHECK(relative_deviation({80, 100, 120, 1000, 100}) == 0.2);
}

TEST_CASE("all candidates take a turn in each round, in another order", "[report]") {
    std::set<std::vector<std::size_t>> orders;
    for (int round = 0; round < 10; ++round) {
        std::vector<std::size_t> order = order_of_turns(8, round);
        CHECK(order == order_of_turns(8, round));
        orders.insert(order);
        std::sort(order.begin(), order.end());
        CHECK(order == std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7});
    }
    CHECK(orders.size() > 5);
}

TEST_CASE("the read-only pass reads every byte, in every way, at every alignment and length", "[report]") {
    std::vector<unsigned char> memory(70000 + 64);
    for (const std::size_t bytes : {0u, 1u, 7u, 8u, 63u, 64u, 511u, 4096u, 32768u, 32769u, 69997u}) {
        for (const std::size_t offset : {0u, 1u, 33u}) {
            unsigned char* p = memory.data() + offset;
            for (std::size_t i = 0; i < bytes; ++i)
                p[i] = static_cast<unsigned char>(i * 37 + i / 251);
            std::uint64_t expected = 0;
            for (std::size_t i = 0; i < bytes; ++i)
                expected ^= std::uint64_t{p[i]} << (i % 8 * 8);
            for (const ReadWay way : read_ways())
                CHECK(read_pass(p, bytes, way) == expected);
        }
    }
}

TEST_CASE("the read-only pass gives the same for every number of threads", "[report]") {
    std::vector<unsigned char> data((3 << 20) + 13);
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<unsigned char>(i * 41 + i / 253);
    const std::uint64_t expected = read_pass(data.data(), data.size(), {}, 1);
    for (const ReadWay way : read_ways())
        for (const int threads : {1, 2, 3, 5, 8})
            CHECK(read_pass(data.data(), data.size(), way, threads) == expected);
}
