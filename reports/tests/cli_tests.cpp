// Words on the command line: help, version, and what is refused.
#include <support/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <sys/wait.h>

#include <detreduce/detreduce.hpp>

#include "program.hpp"

using namespace program_test;

namespace {
bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}
} // namespace

TEST_CASE("--version tells version, spec_version, CUDA and instruction sets") {
    const Outcome o = run_program({"--version"});
    CHECK(o.code == 0);
    CHECK(o.err.empty());
    CHECK(o.out.starts_with(std::string("detreduce ") + detreduce::version + "\nspec_version 1\nbuilt with CUDA: "));
    CHECK(contains(o.out, detreduce::cuda::built_with_cuda() ? "CUDA: yes" : "CUDA: no\n"));
    CHECK(contains(o.out, "\nCPU instruction sets: baseline"));
}

TEST_CASE("--help names every command and ends with examples") {
    const Outcome o = run_program({"--help"});
    CHECK(o.code == 0);
    CHECK(o.err.empty());
    for (const char* part : {"reduce", "list", "devices", "verify", "report", "render", "Examples:\n  detreduce reduce",
                             "Exit status: 0"}) {
        CHECK(contains(o.out, part));
    }
}

TEST_CASE("all help of reduce lists every method with its guarantee and summary, and examples") {
    const Outcome o = run_program({"reduce", "--help-all"});
    CHECK(o.code == 0);
    for (const auto& m : detreduce::methods()) {
        CHECK(contains(o.out, m.name));
        CHECK(contains(o.out, m.summary));
        CHECK(contains(o.out, "guarantee " + std::string(name(m.guarantee))));
    }
    for (const char* part :
         {"--op", "--dtype", "--device", "--threads", "--format", "--json", "Examples:", "rounded once", "1e400",
          "blank lines", "1 to 1024", "must match", "sum to +0", "all else with --format", "--output", "--save-state",
          "--add-state", "larger than the memory", "into memory"}) {
        CHECK(contains(o.out, part));
    }
}

TEST_CASE("help fits on a screen, and says how to see the rest") {
    constexpr long most_lines = 40;
    constexpr std::size_t most_columns = 100;
    const auto columns = [](const std::string& line) {
        return static_cast<std::size_t>(std::count_if(
            line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
    };
    for (const std::string command : {"", "reduce", "list", "devices", "verify", "report", "render", "ladder"}) {
        std::vector<std::string> arguments;
        if (!command.empty()) arguments.push_back(command);
        arguments.emplace_back("--help");
        const Outcome o = run_program(arguments);
        INFO(o.out);
        CHECK(std::count(o.out.begin(), o.out.end(), '\n') <= most_lines);
        std::istringstream lines(o.out);
        for (std::string line; std::getline(lines, line);) {
            INFO(line);
            CHECK(columns(line) <= most_columns);
        }
        arguments.back() = "--help-all";
        const Outcome all = run_program(arguments);
        CHECK(all.code == 0);
        CHECK(all.out.size() >= o.out.size() - 80);
    }
    CHECK(contains(run_program({"reduce", "--help"}).out, "detreduce reduce --help-all"));
    CHECK_FALSE(contains(run_program({"reduce", "--help"}).out, "--offsets"));
    for (const char* part : {"--offsets", "detreduce verify --json", "Ctrl-C"})
        CHECK(contains(run_program({"--help-all"}).out, part));
}

TEST_CASE("detreduce help says what --help says") {
    CHECK(run_program({"help"}).out == run_program({"--help"}).out);
    for (const std::string command : {"reduce", "list", "report"}) {
        const Outcome o = run_program({"help", command});
        CHECK(o.code == 0);
        CHECK(o.err.empty());
        CHECK(o.out == run_program({command, "--help"}).out);
    }
    const Outcome wrong = run_program({"help", "sum"});
    CHECK(wrong.code == 2);
    CHECK(wrong.out.empty());
    CHECK(wrong.err.starts_with("detreduce: there is no command 'sum'; allowed are reduce, list, "));
    CHECK(wrong.err.ends_with("\nTry: detreduce --help\n"));
}

TEST_CASE("every command has help with examples") {
    for (const char* command : {"reduce", "list", "devices", "verify", "report", "render"}) {
        const Outcome o = run_program({command, "--help"});
        CHECK(o.code == 0);
        CHECK(contains(o.out, std::string("Usage: detreduce ") + command));
        CHECK(contains(o.out, "Example"));
        CHECK_FALSE(contains(o.out, "Each command has its own help")); // that is the program's footer
    }
}

TEST_CASE("usage errors exit with 2 and say what is allowed") {
    struct Case {
        std::vector<std::string> arguments;
        std::string says;
    };
    const std::vector<Case> cases{
        {{}, "a command is needed; allowed are reduce, list, devices, "},
        {{"sum"}, "there is no command 'sum'; allowed are reduce, list, devices, "},
        {{"--frob"}, "there is no option '--frob'"},
        {{"reduce"}, "FILE is required"},
        {{"reduce", "--frob"}, "there is no option '--frob'"},
        {{"reduce", "a.npy", "mean"}, "cannot tell the format of 'mean'"},
        {{"reduce", "a.npy", "--op", "median"}, "--op: 'median' is not known; allowed are sum"},
        {{"reduce", "a.npy", "--method", "magic"},
         "--method: 'magic' is not known; allowed are exact, compensated, kahan, "},
        {{"reduce", "a.npy", "--dtype", "f8"}, "--dtype: 'f8' is not known; allowed are f16, bf16, f32, f64"},
        {{"reduce", "a.npy", "--output", "int"}, "--output: 'int' is not known; allowed are f16, bf16, f32, f64"},
        {{"reduce", "a.txt", "--output", "f32", "--method", "tree"},
         "--output: tree does not give f32 for f64; exact gives any dtype; other methods give the input's dtype and "
         "wider"},
        {{"reduce", "a.bin", "--dtype", "f16", "--output", "bf16", "--method", "kahan"},
         "--output: kahan does not give bf16 for f16; exact gives any dtype"},
        {{"reduce", "a.npy", "--method", "tree", "--save-state", "s"},
         "--save-state: tree has no state that could be saved"},
        {{"reduce", "a.npy", "--method", "kahan", "--add-state", "s"}, "--add-state: kahan has no state"},
        {{"reduce", "--save-state", "s"}, "FILE is required; only with --add-state there may be none"},
        {{"reduce", "a.npy", "--add-state", "-"}, "--add-state: '-' is not a file"},
        {{"reduce", "a.npy", "--add-state", "s", "mean"}, "cannot tell the format of 'mean'"},
        {{"reduce", "-", "a.npy", "-"}, "FILE: only one of them can be standard input"},
        {{"reduce", "a.npy", "b.npy", "--axis", "0"}, "--axis: allowed is one FILE"},
        {{"reduce", "a.npy", "--save-state", "-"}, "--save-state: '-' is not a file"},
        {{"reduce", "a.npy", "--format", "xls"}, "--format: 'xls' is not known; allowed are npy, npz, raw, text, csv"},
        {{"reduce", "a.npy", "--device", "gpu"}, "--device: 'gpu' is not a device; allowed are cpu, cuda, cuda:0"},
        {{"reduce", "a.npy", "--device", "cuda:"}, "--device: 'cuda:' is not a device"},
        {{"reduce", "a.npy", "--device", "cuda:-1"}, "--device: 'cuda:-1' is not a device"},
        {{"reduce", "a.npy", "--device", "cuda:1x"}, "--device: 'cuda:1x' is not a device"},
        {{"reduce", "a.npy", "--threads", "-1"}, "--threads: '-1' is not a number of threads; allowed are 1 to 1024"},
        {{"reduce", "a.npy", "--threads", "two"}, "--threads: 'two' is not a number of threads"},
        {{"reduce", "a.npy", "--threads", "99999999999"}, "--threads: '99999999999' is not a number of threads"},
        {{"reduce", "a.npy", "--threads", "100000"}, "--threads: allowed are 1 to "},
        {{"reduce", "a.npy", "--threads", "2", "--device", "cuda"}, "--threads is for the CPU"},
        {{"reduce", "a.npy", "--threads"}, "--threads"},
        {{"reduce", "a.npy", "--op", "sum", "--op", "sum"}, "--op"},
        {{"reduce", "a.npy", "--json=yes"}, "json"},
        {{"reduce", "a.bin"}, "--dtype is needed; allowed are f16, bf16, f32, f64, f8e4m3, f8e5m2"},
        {{"reduce", "a.raw"}, "--dtype is needed"},
        {{"reduce", "a.xls"},
         "allowed are .npy, .npz, .bin, .raw, .txt and .csv, or say --format npy, npz, raw, text or csv"},
        {{"reduce", "a.npy", "--column", "1"}, "--column: allowed of text and CSV"},
        {{"reduce", "a.csv", "--op", "dot", "--with", "b.npy", "--with-column", "1"}, "--with-column: allowed where"},
        {{"reduce", "a.npy", "--axis", "rows"},
         "--axis: 'rows' is not an axis; allowed is one: 0, 1, … or, from the last"},
        {{"reduce", "a.npy", "--axis", "0,2"}, "(several axes: axis=(0, 1) in Python)"},
        {{"reduce", "a.npy", "--ddof", "1"},
         "--ddof: 1 is not for sum; it must be 0 but for variance, stddev and moments\n"},
        {{"reduce", "a.npy", "--op", "moments", "--offsets", "o", "--ddof", "1099511627776"},
         "--ddof: '1099511627776' cannot be taken from n; allowed are 0 to 2^40 - 1"},
        {{"reduce", "a.npy", "--save-state", ""}, "--save-state: '' is not a file name; allowed is one that is not"},
        {{"reduce", "a.npy", "--with", ""}, "--with: '' is not a file name"},
        {{"reduce", "a.npy", "--offsets", ""}, "--offsets: '' is not a file name"},
        {{"reduce", "a.npy", "--ids", ""}, "--ids: '' is not a file name"},
        {{"reduce", "a.csv", "--column", ""}, "--column: '' is not a column; allowed is one that is not empty"},
        {{"reduce", "a.csv", "--op", "dot", "--with", "b.csv", "--with-column", ""},
         "--with-column: '' is not a column"},
        {{"reduce", "dir.txt/noextension"}, "cannot tell the format of 'dir.txt/noextension'"},
        {{"verify", "--device", "gpu"}, "--device: 'gpu' is not a device; allowed are cpu, cuda, cuda:0"},
        {{"verify", "table.tsv"}, "'table.tsv' is one argument too many"},
        {{"devices", "reduce", "a.npy"}, "'reduce' is one argument too many"},
    };
    for (const Case& c : cases) {
        const Outcome o = run_program(c.arguments);
        INFO(o.err);
        CHECK(is_usage_error(o));
        CHECK(contains(o.err, c.says));
    }
}

TEST_CASE("a method that the op or the device does not offer is wrong usage, seen before the file is read") {
    const auto check = [](std::vector<std::string> arguments, const std::string& says) {
        arguments.insert(arguments.begin(), {"reduce", "missing.npy"});
        const Outcome o = run_program(arguments);
        INFO(o.err);
        CHECK(is_usage_error(o));
        CHECK(o.err.starts_with("detreduce: --method: " + says));
    };
    check({"--method", "serial", "--device", "cuda"},
          "serial is offered on the CPU only; allowed on CUDA are tree, exact");
    check({"--op", "prod", "--method", "exact"}, "an exact product of n numbers has n times as many bits");
    check({"--op", "prod", "--method", "kahan"}, "allowed for prod are compensated, tree and, on the CPU, serial\n");
    check({"--op", "std", "--method", "kahan"}, "allowed for variance, stddev and moments are exact, tree and");
    check({"--op", "max", "--method", "atomic"}, "ops that compare have no atomic; allowed are exact, compensated");
    check({"--op", "count_nonzero", "--method", "atomic"}, "ops that count have no atomic; allowed are exact");
    // Whatever an op and a device refuse, they say what is allowed; sums by any method run on the
    // CPU.
    for (const detreduce::Backend backend : {detreduce::Backend::cpu, detreduce::Backend::cuda})
        for (const detreduce::OpInfo& op : detreduce::ops())
            for (const detreduce::MethodInfo& method : detreduce::methods()) {
                detreduce::Request request{.op = op.op, .method = method.method, .n = 2};
                request.device.backend = backend;
                const detreduce::Status status = detreduce::make_plan(request).status();
                INFO(op.name << ", " << method.name << ": " << status.allowed);
                if (std::string_view(status.argument) == "method") CHECK(contains(status.allowed, "allowed"));
            }
    for (const detreduce::MethodInfo& method : detreduce::methods())
        CHECK(reduce_text("1\n2\n", {"--method", std::string(method.name)}).out == "3\n");
}

TEST_CASE("a GPU that is not there is a failure that says what is") {
    if (!detreduce::cuda::built_with_cuda()) {
        const Outcome o = run_program({"reduce", "missing.npy", "--device", "cuda:0"});
        INFO(o.err);
        CHECK(is_clean_failure(o));
        CHECK(contains(o.err, "--device cuda:0: no usable GPU ("));
    } else {
        const Outcome o = run_program({"reduce", "-", "--device", "cuda:4711"});
        INFO(o.err);
        CHECK(is_clean_failure(o));
        CHECK(contains(o.err, "device"));
    }
}

TEST_CASE("the exit code survives a standard error that is closed or full") {
    for (const char* where : {"2>&-", "2>/dev/full"}) {
        const auto code = [&](const std::string& arguments) {
            return WEXITSTATUS(std::system(("exec '" + program_path() + "' " + arguments + " " + where).c_str()));
        };
        CHECK(code("reduce missing.npy") == 1);
        CHECK(code("reduce --frob") == 2);
    }
}

TEST_CASE("a closed standard input is not an empty one") {
    for (const char* format : {"text", "raw", "npy"}) {
        const TemporaryDirectory directory;
        const std::string error = directory.path("err");
        const std::string command = "exec '" + program_path() + "' reduce - --dtype f64 --format " + format;
        CHECK(WEXITSTATUS(std::system((command + " <&- 2>" + error).c_str())) == 1);
        std::string line;
        std::getline(std::ifstream(error), line);
        CHECK(line == "detreduce: cannot read standard input: Bad file descriptor");
    }
}

TEST_CASE("zeros in front of a number do not make it octal") {
    CHECK(reduce_text("1\n", {"--threads", "08"}).out == "1\n");
}
