// Standard output that cannot be written is an error, not silence.
#include <support/catch.hpp>

#include <filesystem>

#include "output.hpp"
#include "program.hpp"

using namespace program_test;

namespace {

/// One line on stderr, exit code 1.
void check_write_error(const Outcome& o, const std::string& why) {
    INFO(o.err);
    CHECK(is_clean_failure(o));
    CHECK(o.err == "detreduce: cannot write to standard output: " + why + "\n");
}

const std::vector<std::vector<std::string>> commands{
    {"reduce", "-"}, {"reduce", "-", "--json"}, {"devices"}, {"devices", "--json"}, {"--help"},
    {"--version"},   {"reduce", "--help"}};

} // namespace

TEST_CASE("a full disk") {
    if (!std::filesystem::exists("/dev/full")) return detreduce::proptests::skipped("there is no /dev/full");
    for (const auto& command : commands) {
        Streams streams{.input = "1\n2\n"};
        streams.output_file = "/dev/full";
        check_write_error(run_program(command, streams), "No space left on device");
    }
}

TEST_CASE("a closed standard output") {
    for (const auto& command : commands) {
        Streams streams{.input = "1\n2\n"};
        streams.output_closed = true;
        check_write_error(run_program(command, streams), "Bad file descriptor");
    }
}

TEST_CASE("a pipe that nobody reads") {
    for (const auto& command : commands) {
        Streams streams{.input = "1\n2\n"};
        streams.output_is_broken_pipe = true;
        check_write_error(run_program(command, streams), "Broken pipe");
    }
}

TEST_CASE("only characters that print themselves reach the terminal") {
    using detreduce::program::one_line;
    for (const char* plain : {"", "a b", "é", "ß∞𝟙", "\u00a0", "\u07ff\u0800\uffff", "\U00010000\U0010ffff"})
        CHECK(one_line(plain) == plain);
    CHECK(one_line("\x1b[2J\x7f\r") == "\\x1b[2J\\x7f\\x0d");
    CHECK(one_line("\u0080\u0085\u009b31m\u009f") ==
          "\\xc2\\x80\\xc2\\x85\\xc2\\x9b31m\\xc2\\x9f"); // C1: U+009B begins a command as ESC [ does
    CHECK(one_line("\x9b"
                   "31m\xff") == "\\x9b31m\\xff"); // the same in Latin-1
    // Not UTF-8: cut short, too long, surrogates, beyond Unicode.
    CHECK(one_line("\xc3") == "\\xc3");
    CHECK(one_line("\xe2\x88x") == "\\xe2\\x88x");
    CHECK(one_line("\xc0\x9b\xc1\xbf") == "\\xc0\\x9b\\xc1\\xbf");
    CHECK(one_line("\xe0\x82\x9b") == "\\xe0\\x82\\x9b");
    CHECK(one_line("\xed\xa0\x80") == "\\xed\\xa0\\x80");
    CHECK(one_line("\xf0\x80\x82\x9b") == "\\xf0\\x80\\x82\\x9b");
    CHECK(one_line("\xf4\x90\x80\x80\xf5") == "\\xf4\\x90\\x80\\x80\\xf5");
    CHECK(one_line(std::string_view("\0\xc2\0", 3)) == "\\x00\\xc2\\x00");
    const Outcome o = run_program({"reduce", "\u009b31m\x9b"
                                             "41m.npy"});
    CHECK(o.err == "detreduce: cannot read '\\xc2\\x9b31m\\x9b41m.npy': No such file or directory\n");
}

TEST_CASE("a message is one line, whatever the file is called") {
    const Outcome o = run_program({"reduce", "two\nlines\x1b[31m.npy"});
    CHECK(is_clean_failure(o));
    CHECK(o.err == "detreduce: cannot read 'two\\nlines\\x1b[31m.npy': No such file or directory\n");
}
