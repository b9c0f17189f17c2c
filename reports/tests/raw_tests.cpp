// Raw little-endian files.
#include <support/catch.hpp>

#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "input.hpp"
#include "program.hpp"

using namespace program_test;

TEST_CASE("raw: a pipe that ends within an element") {
    for (const char* op : {"sum", "max", "nrm2", "moments", "count_unique"}) { // in a state, in parts, at once
        Streams streams{.input = bytes_of<float>({1, 2, 3}).substr(0, 11)};
        streams.input_is_pipe = true;
        const Outcome o = run_program({"reduce", "-", "--format", "raw", "--dtype", "f32", "--op", op}, streams);
        INFO(o.err);
        CHECK(is_clean_failure(o));
        CHECK(o.err.find("standard input holds 11 bytes, which is not a multiple of the 4 bytes of f32") !=
              std::string::npos);
    }
}

TEST_CASE("raw: .bin and .raw of every dtype") {
    const TemporaryDirectory directory;
    const std::string f64 = directory.write("a.bin", bytes_of<double>({0.5, 3}));
    const std::string f32 = directory.write("a.RAW", bytes_of<float>({0.5f, 3, 0.125f}));
    CHECK(run_program({"reduce", f64, "--dtype", "f64"}).out == "3.5\n");
    CHECK(run_program({"reduce", f32, "--dtype", "f32"}).out == "3.625\n");
    CHECK(run_program({"reduce", f64, "--dtype", "f32", "--json"}).out.find("\"n\":4,") != std::string::npos);
    CHECK(run_program({"reduce", f64, "--dtype", "f64", "--format", "raw"}).out == "3.5\n");
    const std::string half = directory.write("h.bin", bytes_of<std::uint16_t>({0x3c00, 0x4000})); // 1 and 2 as f16
    CHECK(run_program({"reduce", half, "--dtype", "f16"}).out == "3\n");
    CHECK(run_program({"reduce", half, "--dtype", "bf16"}).out == "2\n"); // 2^−7 and 2, whose sum is 2 in bf16
    CHECK(run_program({"reduce", half, "--dtype", "bf16", "--output", "f32"}).out == "2.0078125\n");
}

TEST_CASE("raw: no bytes are no elements, and their sum is +0") {
    const TemporaryDirectory directory;
    const Outcome o = run_program({"reduce", directory.write("a.bin", ""), "--dtype", "f32", "--json"});
    CHECK(o.code == 0);
    CHECK(o.out.find("\"n\":0,") != std::string::npos);
    CHECK(o.out.find("\"bits\":\"0x00000000\"") != std::string::npos);
    CHECK(run_program({"reduce", "/dev/null", "--dtype", "f32", "--format", "raw"}).out == "0\n");
}

TEST_CASE("raw: a size that is no multiple of the element") {
    const TemporaryDirectory directory;
    for (const std::size_t size : {1, 3, 5, 7, 9, 12}) {
        Streams streams;
        streams.input = std::string(size, '\1');
        streams.input_is_pipe = true;
        const std::string file = directory.write("a.bin", streams.input);
        const std::string says =
            " holds " + std::to_string(size) + " bytes, which is not a multiple of the 8 bytes of f64\n";
        for (const char* method : {"exact", "tree"}) {
            const Outcome o = run_program({"reduce", file, "--dtype", "f64", "--method", method});
            INFO(o.err);
            CHECK(is_clean_failure(o));
            CHECK(o.err == "detreduce: '" + file + "'" + says);
            const Outcome p =
                run_program({"reduce", "-", "--format", "raw", "--dtype", "f64", "--method", method}, streams);
            CHECK(is_clean_failure(p));
            CHECK(p.err == "detreduce: standard input" + says);
        }
    }
    CHECK(run_program({"reduce", directory.write("b.bin", std::string(12, '\0')), "--dtype", "f32"}).out == "0\n");
}

TEST_CASE("raw: standard input, from a file and from a pipe, from where it stands") {
    Streams streams;
    streams.input = bytes_of(std::vector<float>(5'000'000, 0.5f)); // more than a pipe or one block holds
    for (const bool pipe : {false, true}) {
        streams.input_is_pipe = pipe;
        for (const char* method : {"exact", "tree"}) {
            CHECK(run_program({"reduce", "-", "--format", "raw", "--dtype", "f32", "--method", method}, streams).out ==
                  "2500000\n");
        }
    }
}

namespace {

const std::string cut_short = "the input file became shorter or unreadable while it was being read";

/// Takes blocks, and shortens the file after the first.
class Shortening : public detreduce::program::Sink {
  public:
    explicit Shortening(std::string file) : file_(std::move(file)) {}
    std::byte* buffer() override { return buffer_.data(); }
    void add(detreduce::DType, std::uint64_t) override { std::filesystem::resize_file(file_, block_bytes); }

  private:
    std::string file_;
    std::vector<std::byte> buffer_ = std::vector<std::byte>(block_bytes);
};

} // namespace

TEST_CASE("raw: a file that becomes shorter while it is read is an error, not a signal and not a sum") {
    using namespace detreduce;
    const TemporaryDirectory directory;
    const std::string file = directory.write("a.bin", "");
    std::filesystem::resize_file(file, 3 * program::Sink::block_bytes);
    Shortening sink(file);
    const auto blocks = program::open_raw(file, DType::f32);
    CHECK_THROWS_WITH(blocks->pour_into(sink), cut_short);

    std::filesystem::resize_file(file, 3 * program::Sink::block_bytes);
    const std::string said = directory.path("said");
    const pid_t child = ::fork();
    if (child == 0) { // reading what is gone raises SIGBUS, and the program ends
        const int err = ::open(said.c_str(), O_WRONLY | O_CREAT, 0600);
        ::dup2(err, STDERR_FILENO);
        const program::Numbers all = program::open_raw(file, DType::f32)->all();
        std::filesystem::resize_file(file, 4096);
        ::_exit(static_cast<const volatile float*>(all.data)[all.n - 1] == 0 ? 2 : 3);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 1);
    CHECK(read_file(said).find("detreduce: " + cut_short) == 0);
}

TEST_CASE("raw: a file larger than the address space is refused, not a crash") {
    if (!address_space_is_limitable)
        return detreduce::proptests::skipped("the memory of a process cannot be limited here");
    const TemporaryDirectory directory;
    const std::string file = directory.write("huge.bin", "");
    std::filesystem::resize_file(file, std::uintmax_t{8} << 30); // sparse: takes no disk
    Streams streams;
    streams.memory_limit = std::uint64_t{2} << 30;
    const Outcome o = run_program({"reduce", file, "--dtype", "f64", "--threads", "1", "--method", "tree"}, streams);
    INFO(o.err);
    CHECK(is_clean_failure(o));
    CHECK(o.err.find("not enough memory to map the 8589934592 bytes of") != std::string::npos);
}

TEST_CASE("raw: more elements than a plan accepts") {
    const TemporaryDirectory directory;
    const std::string file = directory.write("huge.bin", "");
    std::error_code error;
    std::filesystem::resize_file(file, (std::uintmax_t{4} << 40) + 4, error);
    if (error) return detreduce::proptests::skipped("the file system has no files of 4 TiB");
    for (const char* method : {"exact", "tree"}) {
        const Outcome o = run_program({"reduce", file, "--dtype", "f32", "--method", method});
        INFO(o.err);
        CHECK(is_clean_failure(o));
        CHECK(o.err == "detreduce: invalid argument 'n': allowed are 0 to 2^40 elements\n");
    }
}
