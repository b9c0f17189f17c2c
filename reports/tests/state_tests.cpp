// --save-state and --add-state: sums that are split, sent and resumed.
#include <support/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <random>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <detreduce/detreduce.hpp>

#include "program.hpp"

using namespace program_test;
using detreduce::ExactState;

namespace {

std::vector<float> wide_numbers(std::size_t n) {
    std::mt19937_64 random(11);
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (float& value : values)
        value = std::ldexp(normal(random), static_cast<int>(random() % 100) - 50);
    return values;
}

std::string bytes_of_state(const ExactState& state) {
    const auto blob = state.serialize();
    return {reinterpret_cast<const char*>(blob.data()), blob.size()};
}

std::string state_of(const std::vector<float>& values) {
    ExactState state;
    detreduce::throw_if_error(state.add(std::span<const float>(values)));
    return bytes_of_state(state);
}

std::vector<std::string> files_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        names.push_back(entry.path().filename());
    return names;
}

void check_failure(const std::vector<std::string>& command, const std::string& says) {
    const Outcome o = run_program(command);
    INFO(o.err);
    CHECK(is_clean_failure(o));
    CHECK(o.err == "detreduce: " + says + "\n");
}

} // namespace

TEST_CASE("state: a file that may not grow is an error of writing, and nothing stays behind") {
    const TemporaryDirectory directory;
    const std::string data = directory.write("data.txt", "1\n2\n"), said = directory.path("said"),
                      state = directory.write("state", "as it was");
    const auto saved = [&](const char* where) { // of blocks of 512 bytes: a state has 616
        const std::string command = "(ulimit -f 1; exec '" + program_path() + "' reduce '" + data + "' --save-state '" +
                                    where + "') 2>&1 | cat >'" + said + "'";
        REQUIRE(std::system(command.c_str()) == 0);
        return read_file(said);
    };
    CHECK(saved(state.c_str()) == "3\ndetreduce: --save-state: cannot write '" + state + "': File too large\n");
    CHECK(read_file(state) == "as it was");
    CHECK(files_in(directory.path(".")).size() == 3);
}

TEST_CASE("state: a saved state is the library's, from a file, a pipe and text") {
    const TemporaryDirectory directory;
    const auto values = wide_numbers(100'000);
    const std::string state = directory.path("s");
    CHECK(run_program({"reduce", directory.write("a.npy", npy_of(values)), "--save-state", state}).code == 0);
    CHECK(read_file(state) == state_of(values));
    CHECK(read_file(state).size() == ExactState::serialized_bytes);
    Streams streams{.input = bytes_of(values)};
    streams.input_is_pipe = true;
    CHECK(run_program({"reduce", "-", "--format", "raw", "--dtype", "f32", "--save-state", state}, streams).code == 0);
    CHECK(read_file(state) == state_of(values));
    CHECK(reduce_text("1.5\n-0\n", {"--dtype", "f32", "--save-state", state}).out == "1.5\n");
    CHECK(read_file(state) == state_of({1.5f, -0.0f}));
    CHECK(files_in(std::filesystem::path(state).parent_path()).size() == 2); // nothing is left lying about
}

TEST_CASE("state: parts, in any order and however resumed, have the bits of the whole") {
    const TemporaryDirectory directory;
    const auto values = wide_numbers(30'000);
    const std::string whole = directory.write("whole.npy", npy_of(values));
    const auto expected = nlohmann::json::parse(run_program({"reduce", whole, "--json"}).out);
    const auto part = [&](std::size_t begin, std::size_t end) {
        return directory.write("part.npy", npy_of(std::vector<float>(values.begin() + begin, values.begin() + end)));
    };
    const std::string a = directory.path("a"), b = directory.path("b"), c = directory.path("c");
    CHECK(run_program({"reduce", part(0, 1), "--save-state", a}).code == 0);
    CHECK(run_program({"reduce", part(1, 20'001), "--save-state", b}).code == 0);
    CHECK(run_program({"reduce", part(20'001, 30'000), "--save-state", c}).code == 0);
    const auto json = [](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "reduce");
        arguments.insert(arguments.end(), {"--output", "f32", "--json"});
        return nlohmann::json::parse(run_program(arguments).out);
    };
    for (const auto& states : {std::vector{a, b, c}, std::vector{c, a, b}}) {
        const auto together = json({"--add-state", states[0], "--add-state", states[1], "--add-state", states[2]});
        CHECK(together["bits"] == expected["bits"]);
        CHECK(together["n"] == 30'000);
    }
    const auto resumed = json({part(20'001, 30'000), "--add-state", b, "--add-state", a, "--save-state", a});
    CHECK(resumed["bits"] == expected["bits"]);
    CHECK(resumed["n"] == 30'000);
    CHECK(read_file(a) == state_of(values)); // read, and then written over
}

TEST_CASE("state: states alone, and mixed dtypes") {
    const TemporaryDirectory directory;
    const std::string f16 = directory.path("f16"), f64 = directory.path("f64");
    CHECK(reduce_text("1\n", {"--dtype", "f16", "--save-state", f16}).code == 0);
    CHECK(reduce_text("0x1p-52\n", {"--save-state", f64}).code == 0);
    CHECK(run_program({"reduce", "--add-state", f16, "--add-state", f64}).out == "1.0000000000000002\n");
    CHECK(run_program({"reduce", "--add-state", f16, "--add-state", f64, "--output", "f16"}).out == "1\n");
    CHECK(run_program({"reduce", "--add-state", f16, "--add-state", f64, "--dtype", "f32"}).out == "1\n");
    const auto json = nlohmann::json::parse(run_program({"reduce", "--add-state", f64, "--json"}).out);
    CHECK(json["dtype"].is_null()); // nobody knows
    CHECK(json["output"] == "f64");
    CHECK(json["n"] == 1);
    const auto f32 = [&](const std::string& option) {
        return nlohmann::json::parse(run_program({"reduce", "--add-state", f64, option, "f32", "--json"}).out);
    };
    CHECK(f32("--output")["dtype"].is_null());
    CHECK(f32("--output")["output"] == "f32");
    CHECK(f32("--dtype")["dtype"] == "f32");
    CHECK(f32("--dtype")["output"] == "f32");
    CHECK(reduce_text("-1\n", {"--add-state", f16, "--add-state", f64}).out == "2.220446049250313e-16\n");
}

TEST_CASE("state: that of a mean, from a plan, is resumed") {
    const TemporaryDirectory directory;
    const std::vector<float> values{1, 2, 6};
    const detreduce::Plan plan = detreduce::make_plan({.op = detreduce::Op::mean,
                                                       .dtype = detreduce::DType::f32,
                                                       .n = values.size(),
                                                       .device = detreduce::cpu,
                                                       .state = true});
    std::vector<std::int64_t> words(plan.state_words());
    REQUIRE(run(plan, values.data(), words.data()).ok());
    const auto bytes = detreduce::throwing::serialize(plan, words.data());
    const std::string file =
        directory.write("mean", std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    CHECK(run_program({"reduce", "--op", "mean", "--add-state", file}).out == "3\n");
    CHECK(run_program({"reduce", "--op", "sum", "--add-state", file}).out == "9\n");
    CHECK(reduce_text("3\n", {"--op", "mean", "--add-state", file}).out == "3\n");
}

TEST_CASE("state: what is kept that a number could not keep") {
    const TemporaryDirectory directory;
    const std::string s = directory.path("s");
    CHECK(reduce_text("1e308\n1e308\n", {"--save-state", s}).out == "inf\n");
    CHECK(reduce_text("-1e308\n", {"--add-state", s}).out == "1e+308\n");
    CHECK(reduce_text("-0\n", {"--save-state", s}).out == "-0\n");
    CHECK(run_program({"reduce", "--add-state", s}).out == "-0\n");
    CHECK(reduce_text("0\n", {"--add-state", s}).out == "0\n");
    CHECK(reduce_text("inf\n", {"--save-state", s}).out == "inf\n");
    CHECK(reduce_text("-inf\n", {"--add-state", s}).out == "nan\n");
    CHECK(reduce_text("", {"--save-state", s}).out == "0\n");
    CHECK(run_program({"reduce", "--add-state", s}).out == "0\n");
}

TEST_CASE("state: files that cannot be states") {
    const TemporaryDirectory directory;
    const std::string good = state_of({1, 2, 3}), file = directory.path("s");
    const auto check = [&](const std::string& bytes, const std::string& says) {
        directory.write("s", bytes);
        check_failure({"reduce", "--add-state", file}, "--add-state: '" + file + "' " + says);
    };
    check("", "is not a state of detreduce: allowed are the bytes of a serialized state");
    check("1\n2\n", "is not a state of detreduce: allowed are the bytes of a serialized state");
    check(npy_of<float>({1}), "is not a state of detreduce: allowed are the bytes of a serialized state");
    check(good.substr(0, good.size() - 1), "has the wrong size; allowed are exactly 616 bytes");
    check(good + "x", "has the wrong size; allowed are exactly 616 bytes");
    for (const std::size_t at : {16, 300, 615}) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 1);
        check(bad, "is damaged: its checksum does not fit");
    }
    std::string newer = good;
    newer[8] = 3;
    check(newer, "has another version; allowed are version 1 with 74 words, and version 2");
    check_failure({"reduce", "--add-state", directory.path("no")},
                  "cannot read '" + directory.path("no") + "': No such file or directory");
    directory.write("s", good);
    const std::string bad = directory.write("bad", "bad");
    check_failure({"reduce", "--add-state", file, "--add-state", bad}, // the first one that is wrong is named
                  "--add-state: '" + bad +
                      "' is not a state of detreduce: allowed are the bytes of a serialized state");
}

TEST_CASE("state: counts that would wrap are refused") {
    const TemporaryDirectory directory;
    const auto file_with = [&](const std::string& name, ExactState::Word count) {
        ExactState state;
        state.words()[detreduce::acc::exact::elements] = count;
        return directory.write(name, bytes_of_state(state));
    };
    constexpr ExactState::Word most = ExactState::Word{1} << 62;
    const std::string full = file_with("full", most), one = file_with("one", 1), less = file_with("less", -most);
    const auto check = [&](const std::string& a, const std::string& b) {
        check_failure({"reduce", "--add-state", a, "--add-state", b},
                      "--add-state: '" + b +
                          "' and the states before it are too much for one state; allowed are 2^62 elements in all, "
                          "and sums below 2^1086");
    };
    check(full, full);
    check(full, one);
    check(one, full);
    check(less, less);
    CHECK(run_program({"reduce", "--add-state", full}).code == 0);
    CHECK(run_program({"reduce", "--add-state", full, "--add-state", less, "--add-state", one}).code == 0);
}

TEST_CASE("state: numbers for which a state has no room are an error, and nothing is written") {
    const TemporaryDirectory directory;
    ExactState state;
    state.words()[detreduce::acc::exact::elements] = (ExactState::Word{1} << 62) - 2;
    const std::string full = directory.write("full", bytes_of_state(state)), saved = directory.path("saved");
    const std::string two = directory.write("two.npy", npy_of<float>({1, 2})),
                      three = directory.write("three.npy", npy_of<float>({1, 2, 3}));
    for (const std::string op : {"sum", "mean"}) {
        check_failure({"reduce", three, "--op", op, "--add-state", full, "--save-state", saved},
                      "--add-state: '" + full +
                          "' and what is added to it are too much for one state; allowed are 2^62 elements in all, and "
                          "sums below 2^1086");
        CHECK_FALSE(std::filesystem::exists(saved));
    }
    CHECK(run_program({"reduce", two, "--add-state", full, "--save-state", saved}).out == "3\n");
    CHECK(run_program({"reduce", "--add-state", saved}).out == "3\n"); // which is read again
    CHECK(state.merge(ExactState(state)).code == detreduce::StatusCode::invalid_argument);
    const std::string beyond = directory.write("beyond", bytes_of_state(state));
    check_failure({"reduce", "--add-state", beyond},
                  "--add-state: '" + beyond +
                      "' is that of a state beyond its headroom; allowed are 2^62 elements, and sums below 2^1086");
}

TEST_CASE("state: a state that cannot be saved is an error, and nothing is printed") {
    const TemporaryDirectory directory;
    const std::string data = directory.write("a.npy", npy_of<float>({1}));
    const auto check = [&](const std::string& path, const std::string& why) {
        check_failure({"reduce", data, "--save-state", path}, "--save-state: cannot write '" + path + "': " + why);
    };
    check(directory.path("no/where"), "No such file or directory");
    check(directory.path(""), "Is a directory");
    // Before anything is read: this pipe would be wrong.
    const Outcome o = reduce_text("x\n", {"--save-state", directory.path("no/where")});
    CHECK(o.err.find("No such file or directory") != std::string::npos);
    const std::string old = directory.write("old", "as it was");
    CHECK(reduce_text("x\n", {"--save-state", old}).code == 1); // a failed sum leaves the old file alone
    CHECK(read_file(old) == "as it was");
}

TEST_CASE("state: what was not printed is not saved, so that a second try counts nothing twice") {
    const TemporaryDirectory directory;
    const std::string before = state_of({5}), state = directory.write("s", before),
                      unwritten = directory.path("unwritten");
    for (const std::string op : {"sum", "mean"}) {
        for (const std::string& target : {state, unwritten}) {
            Streams streams{.input = "1\n2\n"};
            streams.output_is_broken_pipe = true;
            const Outcome o = run_program(
                {"reduce", "-", "--op", op, "--dtype", "f32", "--add-state", state, "--save-state", target}, streams);
            INFO(o.err);
            CHECK(is_clean_failure(o));
            CHECK(o.err == "detreduce: cannot write to standard output: Broken pipe\n");
            CHECK(read_file(state) == before);
            CHECK_FALSE(std::filesystem::exists(unwritten));
        }
    }
    CHECK(reduce_text("1\n2\n", {"--dtype", "f32", "--add-state", state, "--save-state", state}).out == "8\n");
    CHECK(read_file(state) == state_of({5, 1, 2}));
    if (!std::filesystem::exists("/dev/full")) return;
    const Outcome full =
        reduce_text("1\n", {"--save-state", "/dev/full"}); // the result is there; saving fails after it
    CHECK(full.code == 1);
    CHECK(full.out == "1\n");
    CHECK(full.err == "detreduce: --save-state: cannot write '/dev/full': No space left on device\n");
}

TEST_CASE("state: what is read or printed to is not replaced by a state") {
    const TemporaryDirectory directory;
    const std::string data = directory.write("a.txt", "1\n2\n"), link = directory.path("link"),
                      hard = directory.path("hard"), archive = directory.write("a.npz", "not looked at"),
                      out = directory.write("out", "");
    const auto refused = [&](const std::string& file, const std::string& state, const std::string& as,
                             const Streams& streams = {}) {
        const Outcome o = run_program({"reduce", file, "--save-state", state}, streams);
        INFO(o.err);
        CHECK(is_clean_failure(o));
        CHECK(o.err == "detreduce: --save-state: '" + state + "' is the same file as " + as +
                           "; allowed are others, also those of --add-state\n");
    };
    std::filesystem::create_symlink(data, link);
    std::filesystem::create_hard_link(data, hard);
    refused(data, data, "FILE");
    refused(data, directory.path("./a.txt"), "FILE");
    refused(data, link, "FILE");
    refused(data, hard, "FILE");
    refused(archive + ":x", archive, "FILE");
    refused("-", "/dev/stdin", "standard input", {.input = "1\n"});
    refused(data, out, "standard output", {.output_file = out});
    refused(data, "/dev/stdout", "standard output", {.output_file = out});
    CHECK(read_file(data) == "1\n2\n");
    CHECK(read_file(out).empty());
    CHECK(run_program({"reduce", data, "--save-state", "/dev/null"}, {.output_file = "/dev/null"}).code == 0);
    const std::string state = directory.path("s");
    CHECK(run_program({"reduce", data, "--save-state", state}).out == "3\n");
    CHECK(run_program({"reduce", data, "--add-state", state, "--save-state", state}).out == "6\n");
}

TEST_CASE("state: what a plain write would leave alone is not replaced") {
    const TemporaryDirectory directory;
    const std::string data = directory.write("a.npy", npy_of<float>({1}));
    const auto refused = [&](const std::string& path, const std::string& why) {
        check_failure({"reduce", data, "--save-state", path}, "--save-state: cannot write '" + path + "': " + why);
    };
    const std::string file = directory.write("file", "as it was"), dangling = directory.path("dangling"),
                      link = directory.path("link"), folder = directory.path("folder");
    ::chmod(file.c_str(), 0444);
    refused(file, "it is read-only");
    std::filesystem::create_symlink(file, link);
    refused(link, "it is read-only");
    std::filesystem::create_symlink(directory.path("nowhere"), dangling);
    refused(dangling, "it is a symbolic link to a file that is not there");
    std::filesystem::create_directory(folder);
    refused(folder, "Is a directory");
    refused(directory.path(std::string(256, 'x')), "File name too long");
    CHECK(read_file(file) == "as it was");
    CHECK(std::filesystem::is_symlink(dangling));
    CHECK_FALSE(std::filesystem::exists(directory.path("nowhere")));
    CHECK(files_in(directory.path("")).size() == 5);
    const std::string longest = directory.path(std::string(255, 'x'));
    CHECK(run_program({"reduce", data, "--save-state", longest}).code == 0);
    CHECK(read_file(longest) == state_of({1}));
}

TEST_CASE("state: links, permissions and pipes stay what they are") {
    const TemporaryDirectory directory;
    const std::string data = directory.write("a.npy", npy_of<float>({1}));
    const std::string file = directory.write("file", "old"), link = directory.path("link");
    std::filesystem::create_symlink(file, link);
    ::chmod(file.c_str(), 0640);
    CHECK(run_program({"reduce", data, "--save-state", link}).code == 0);
    CHECK(std::filesystem::is_symlink(link));
    CHECK(read_file(file) == state_of({1}));
    CHECK(std::filesystem::status(file).permissions() == std::filesystem::perms(0640));
    const std::string pipe = directory.path("pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    const int reader = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
    CHECK(run_program({"reduce", data, "--save-state", pipe}).out == "1\n");
    CHECK(std::filesystem::is_fifo(pipe));
    std::string got(ExactState::serialized_bytes, '\0');
    CHECK(::read(reader, got.data(), got.size()) == static_cast<ssize_t>(got.size()));
    CHECK(got == state_of({1}));
    ::close(reader);
    const mode_t before = ::umask(027);
    CHECK(run_program({"reduce", data, "--save-state", directory.path("new")}).code == 0);
    ::umask(before);
    CHECK(std::filesystem::status(directory.path("new")).permissions() == std::filesystem::perms(0640));
}

TEST_CASE("state: every op that has one is split, sent and resumed, with the result of the whole") {
    const TemporaryDirectory directory;
    const auto values = wide_numbers(3000);
    std::vector<float> y = values;
    std::reverse(y.begin(), y.end());
    const auto write = [&](const char* name, const std::vector<float>& of, std::ptrdiff_t from, std::ptrdiff_t to) {
        return directory.write(name, npy_of(std::vector<float>(of.begin() + from, of.begin() + to)));
    };
    const std::string a = directory.path("a.state"), b = directory.path("b.state");
    for (const std::string op : {"asum", "sumsq", "nrm2", "dot", "mse", "mae", "sumdiffsq", "variance", "stddev",
                                 "moments", "min", "max", "minmax", "nrminf", "argmin", "argmax", "count_nonzero"}) {
        INFO(op);
        const bool two = op == "dot" || op == "mse" || op == "mae" || op == "sumdiffsq", index = op.starts_with("arg");
        const auto run = [&](std::ptrdiff_t from, std::ptrdiff_t to, std::vector<std::string> more) {
            std::vector<std::string> command{"reduce", write("x.npy", values, from, to), "--op", op};
            if (two) more.insert(more.end(), {"--with", write("y.npy", y, from, to)});
            command.insert(command.end(), more.begin(), more.end());
            return run_program(command);
        };
        const Outcome whole = run(0, 3000, {});
        REQUIRE(whole.code == 0);
        REQUIRE(run(0, 1234, {"--save-state", a}).code == 0);
        const Outcome resumed = run(1234, 3000, {"--add-state", a, "--save-state", b});
        CHECK(resumed.out == whole.out);
        const Outcome alone = run_program({"reduce", "--op", op, "--add-state", b});
        CHECK(alone.out == whole.out);
        const auto json = nlohmann::json::parse(run_program({"reduce", "--op", op, "--add-state", b, "--json"}).out);
        CHECK(json["dtype"] == "f32");
        const bool knows =
            index || (op != "min" && op != "max" && op != "minmax" && op != "nrminf" && op != "count_nonzero");
        CHECK(json["n"] == (knows ? nlohmann::json(3000) : nlohmann::json()));
        REQUIRE(run(1234, 3000, {"--save-state", b}).code == 0);
        const Outcome both = run_program({"reduce", "--op", op, "--add-state", b, "--add-state", a});
        if (index) {
            CHECK(is_usage_error(both));
        } else {
            CHECK(both.out == whole.out);
        }
        const Outcome other = run_program({"reduce", "--op", op == "nrm2" ? "sumsq" : "nrm2", "--add-state", b});
        CHECK(is_clean_failure(other));
        CHECK(other.err.find("' is a state of " + op + ", but --op is ") != std::string::npos);
        const Outcome wide = run_program({"reduce", "--op", op, "--dtype", "f64", "--add-state", b});
        CHECK(is_clean_failure(wide));
        CHECK(wide.err.find("' is a state of f32 elements, but FILE or --dtype has f64") != std::string::npos);
        const Outcome sum = run_program({"reduce", "--add-state", b});
        CHECK(is_clean_failure(sum));
        CHECK(sum.err.find("' is a state of " + op + ", but --op is sum") != std::string::npos);
    }
    CHECK(is_usage_error(run_program({"reduce", "--op", "prod", "--add-state", a})));
    CHECK(is_usage_error(run_program({"reduce", "--op", "nrm2", "--method", "tree", "--add-state", a})));
    CHECK(is_usage_error(run_program({"reduce", "--op", "dot", "--with", write("x.npy", y, 0, 1), "--add-state", a})));
}
