// Standard output that cannot be written is an error, not silence.
#include <support/catch.hpp>

#include <filesystem>

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

TEST_CASE("a message is one line, whatever the file is called") {
    const Outcome o = run_program({"reduce", "two\nlines\x1b[31m.npy"});
    CHECK(is_clean_failure(o));
    CHECK(o.err == "detreduce: cannot read 'two\\nlines\\x1b[31m.npy': No such file or directory\n");
}
