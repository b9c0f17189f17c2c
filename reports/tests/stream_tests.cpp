// Pipes and files that are larger than the memory the program may have.
#include <support/catch.hpp>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "program.hpp"

using namespace program_test;

namespace {

constexpr std::uint64_t memory = std::uint64_t{256} << 20;
constexpr std::size_t once = std::size_t{1} << 20; // bytes
constexpr int repeats = 600;                       // 600 MiB

/// The sum of 600 MiB that come through a pipe, with 256 MiB of address space.
Outcome reduce_pipe(const std::string& bytes, const std::string& head, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"reduce", "-", "--threads", "1"});
    Streams streams{.input = bytes};
    streams.input_head = head;
    streams.input_is_pipe = true;
    streams.input_repeats = repeats;
    streams.memory_limit = memory;
    return run_program(arguments, streams);
}

std::string ones_and_a_half(std::size_t bytes) {
    return bytes_of(std::vector<float>(bytes / sizeof(float), 1.5f));
}

} // namespace

TEST_CASE("stream: exact sums a pipe that is larger than the memory") {
    if (!address_space_is_limitable)
        return detreduce::proptests::skipped("the memory of a process cannot be limited here");
    const std::vector<std::string> raw{"--format", "raw", "--dtype", "f32"};
    const Outcome o = reduce_pipe(ones_and_a_half(once), "", raw);
    INFO(o.err);
    CHECK(o.out == "235929600\n");
    const std::string n = std::to_string(repeats * (once / sizeof(float)));
    const std::string head = npy_file(npy_header("<f4", "(" + n + ",)"), "");
    const Outcome npy = reduce_pipe(ones_and_a_half(once), head, {"--format", "npy"});
    INFO(npy.err);
    CHECK(npy.out == "235929600\n");
}

TEST_CASE("stream: the limit is one: a method with an order does not fit into it") {
    if (!address_space_is_limitable)
        return detreduce::proptests::skipped("the memory of a process cannot be limited here");
    const Outcome o = reduce_pipe(ones_and_a_half(once), "", {"--format", "raw", "--dtype", "f32", "--method", "tree"});
    INFO(o.err);
    CHECK(is_clean_failure(o));
    CHECK(o.err.find("not enough memory") != std::string::npos);
}

TEST_CASE("stream: what is wrong at the end of a long pipe is still found") {
    if (!address_space_is_limitable)
        return detreduce::proptests::skipped("the memory of a process cannot be limited here");
    const Outcome odd = reduce_pipe(ones_and_a_half(once) + "x", "", {"--format", "raw", "--dtype", "f64"});
    INFO(odd.err); // 600 bytes more than a multiple of 8, which is 75 of them
    CHECK(odd.code == 0);
    const Outcome o = reduce_pipe(ones_and_a_half(once), "x", {"--format", "raw", "--dtype", "f64"});
    INFO(o.err);
    CHECK(is_clean_failure(o));
    CHECK(o.err == "detreduce: standard input holds 629145601 bytes, which is not a multiple of the 8 bytes of f64\n");
}

TEST_CASE("stream: a file larger than the address space") {
    if (!address_space_is_limitable)
        return detreduce::proptests::skipped("the memory of a process cannot be limited here");
    const TemporaryDirectory directory;
    const std::string file = directory.write("huge.bin", bytes_of<double>({3}));
    std::filesystem::resize_file(file, std::uintmax_t{1} << 30); // sparse: takes no disk
    Streams streams;
    streams.memory_limit = memory;
    const Outcome o = run_program({"reduce", file, "--dtype", "f64", "--threads", "1", "--json"}, streams);
    INFO(o.err);
    REQUIRE(o.code == 0);
    const auto json = nlohmann::json::parse(o.out);
    CHECK(json["decimal"] == "3");
    CHECK(json["n"] == 1 << 27);
}
