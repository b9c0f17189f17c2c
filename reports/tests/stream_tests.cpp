// Pipes and files that are larger than the memory the program may have.
#include <support/catch.hpp>

#include <filesystem>
#include <limits>

#include <fmt/format.h>
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

TEST_CASE("stream: two inputs in step, and every op that can be reduced in parts, larger than the memory",
          "[program]") {
    if (!address_space_is_limitable) return;
    const std::vector<std::string> raw{"--format", "raw", "--dtype", "f32"};
    const auto out = [&](std::vector<std::string> more) {
        more.insert(more.end(), raw.begin(), raw.end());
        const Outcome o = reduce_pipe(ones_and_a_half(once), "", more);
        INFO(o.err);
        CHECK(o.code == 0);
        return o.out;
    };
    CHECK(out({"--op", "sumsq"}) == "353894400\n");
    CHECK(out({"--op", "minmax", "--method", "tree"}) == "1.5 1.5\n");
    CHECK(out({"--op", "moments"}) == "1.5 0\n");
    CHECK(out({"--op", "argmax"}) == "0\n");
    const TemporaryDirectory directory;
    const std::string other = directory.write("y.bin", "");
    std::filesystem::resize_file(other, std::uintmax_t{repeats} * once); // sparse: zeros
    CHECK(out({"--op", "mae", "--with", other}) == "1.5\n");
}

namespace {

/// The most memory that the program holds while it takes `mebibytes` from a pipe.
std::uint64_t peak_of(int mebibytes, std::vector<std::string> arguments, const std::string& once_more) {
    arguments.insert(arguments.begin(), {"reduce", "-", "--threads", "2"});
    Streams streams{.input = once_more};
    streams.input_is_pipe = true;
    streams.input_repeats = mebibytes;
    const Outcome o = run_program(arguments, streams);
    INFO(o.err);
    CHECK(o.code == 0);
    CHECK(o.peak_bytes > 0);
    return o.peak_bytes;
}

} // namespace

TEST_CASE("stream: 200 MiB take at most 32 MiB, or are in memory once", "[program]") {
    if (!address_space_is_limitable) return;
    constexpr std::uint64_t mib = std::uint64_t{1} << 20;
    const std::string raw = ones_and_a_half(once);
    const std::vector<std::string> f32{"--format", "raw", "--dtype", "f32"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.end(), f32.begin(), f32.end());
        return more;
    };
    const std::uint64_t base = peak_of(1, f32, raw);
    const TemporaryDirectory directory;
    const std::string other = directory.write("y.bin", "");
    std::filesystem::resize_file(other, 200 * once);
    for (const std::vector<std::string>& streamed :
         {f32, with({"--op", "nrm2"}), with({"--op", "variance"}), with({"--op", "argmin"}),
          with({"--op", "count_nonzero"}), with({"--op", "dot", "--with", other})}) {
        INFO(streamed[1]);
        CHECK(peak_of(200, streamed, raw) <= base + 32 * mib);
    }
    std::string text;
    while (text.size() < once)
        text += "0.25 -3\n";
    text.resize(once, '\n');
    CHECK(peak_of(200, {"--op", "max", "--column", "2"}, text) <= base + 32 * mib);
    const std::uint64_t whole = peak_of(200, with({"--method", "tree"}), raw);
    CHECK(whole >= base + 190 * mib);
    CHECK(whole <= base + 232 * mib); // once, and neither twice nor three times
}

TEST_CASE("stream: files of different lengths are told", "[program]") {
    const TemporaryDirectory directory;
    const auto file = [&](const char* name, std::size_t n) {
        return directory.write(name, bytes_of(std::vector<float>(n, 1)));
    };
    const std::size_t block = (std::size_t{8} << 20) / sizeof(float); // what is read at once
    const auto says = [&](std::size_t n, std::size_t m) {
        const Outcome o =
            run_program({"reduce", file("a.bin", n), "--dtype", "f32", "--op", "dot", "--with", file("b.bin", m)});
        CHECK(is_clean_failure(o));
        return o.err.substr(o.err.find("b.bin'"));
    };
    const std::string rest = ", but '" + directory.path("a.bin") + "' has ";
    CHECK(says(2, 3) == "b.bin' has 3 numbers" + rest + "2; both must have as many\n");
    CHECK(says(3, 2) == "b.bin' has 2 numbers" + rest + "3; both must have as many\n");
    CHECK(says(3, 0) == "b.bin' has 0 numbers" + rest + "3; both must have as many\n");
    for (const std::string method : {"exact", "tree"}) { // part by part, and at once
        const auto with = [&](const std::string& x, const std::string& y) {
            return run_program({"reduce", x, "--format", "raw", "--dtype", "f32", "--op", "dot", "--with", y,
                                "--method", method},
                               {.input = bytes_of(std::vector<float>(2, 1))})
                .err;
        };
        const std::string three = file("a.bin", 3), its_name = "'" + three + "'";
        CHECK(with("-", three) ==
              "detreduce: " + its_name + " has 3 numbers, but standard input has 2; both must have as many\n");
        CHECK(with(three, "-") ==
              "detreduce: standard input has 2 numbers, but " + its_name + " has 3; both must have as many\n");
    }
    CHECK(says(block, block + 1) ==
          fmt::format("b.bin' has {} numbers{}{}; both must have as many\n", block + 1, rest, block));
    CHECK(says(3 * block, 1) ==
          fmt::format("b.bin' has 1 numbers{}{} or more; both must have as many\n", rest, 2 * block));
}

TEST_CASE("stream: the bits of the file, NaN and ties across blocks", "[program]") {
    std::vector<float> x((std::size_t{17} << 20) / sizeof(float) + 3);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>(i * 2654435761u % 1000003) * (i % 2 == 0 ? 1e-3f : -1e5f);
    const std::size_t block = (std::size_t{8} << 20) / sizeof(float);
    x[block - 1] = x[block] = x[2 * block] = -1e30f; // the minimum: the first of them is the answer
    x[block + 1] = x[2 * block + 1] = 1e30f;
    const auto run = [&](const std::string& op, const std::string& nan, bool pipe) {
        const TemporaryDirectory directory;
        const std::string bytes = bytes_of(x), file = directory.write("x.bin", pipe ? "" : bytes);
        Streams streams{.input = bytes};
        streams.input_is_pipe = pipe;
        std::vector<std::string> arguments{"reduce", pipe ? "-" : file, "--format", "raw", "--dtype", "f32", "--op",
                                           op};
        if (!nan.empty()) arguments.insert(arguments.end(), {"--nan", nan});
        return run_program(arguments, streams).out;
    };
    CHECK(run("argmin", "", true) == std::to_string(block - 1) + "\n");
    CHECK(run("argmax", "", true) == std::to_string(block + 1) + "\n");
    x[2 * block + 2] = std::numeric_limits<float>::quiet_NaN();
    x[2 * block + 3] = -std::numeric_limits<float>::quiet_NaN();
    CHECK(run("argmin", "propagate", true) == std::to_string(2 * block + 2) + "\n");
    CHECK(run("argmin", "ignore", true) == std::to_string(block - 1) + "\n");
    CHECK(run("minmax", "ignore", true) == "-1e+30 1e+30\n");
    CHECK(run("minmax", "propagate", false) == "nan nan\n");
    CHECK(run("nrm2", "", true) == "nan\n");
    CHECK(run("count_nonzero", "", true) == run("count_nonzero", "", false));
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
