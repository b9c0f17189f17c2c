// Programs that are started: which, where, and for how long.
#include <support/catch.hpp>

#include <chrono>
#include <csignal>

#include <unistd.h>

#include "child_process.hpp"
#include "failure.hpp"
#include "fake_program.hpp"
#include "gnuplot.hpp"
#include "message_of.hpp"
#include "plot.hpp"
#include "sample.hpp"
#include "undrawn.hpp"
#include "variable.hpp"

using namespace report_test;
using namespace detreduce::report;
using namespace std::chrono_literals;
using detreduce::program::Failure;
namespace fs = std::filesystem;

namespace {

void write_program(const fs::path& file, const std::string& script) {
    write_file(file, script);
    fs::permissions(file, fs::perms::owner_all);
}

std::string said_by(const std::string& script) {
    ChildProcess shell({"/bin/sh", "-c", script});
    const auto said = shell.read_all(1min, [] {});
    CHECK(shell.wait() == 0);
    return said.value_or("did not end");
}

} // namespace

TEST_CASE("nothing that lies in the working directory is run", "[report]") {
    REQUIRE(can_draw());
    const TemporaryDirectory dir;
    const fs::path here = dir.path() / "here", pwned = dir.path() / "pwned";
    fs::create_directory(here);
    const std::string touch = "open('" + pwned.string() + "', 'w')\n";
    for (const char* module : {"numpy.py", "os.py", "site.py", "sitecustomize.py", "usercustomize.py", "startup.py"})
        write_file(here / module, touch);
    for (const char* program : {"python3", "gnuplot", "sh", "git"})
        write_program(here / program, "#!/bin/sh\ntouch '" + pwned.string() + "'\n");
    for (const char* settings : {".gnuplot", "gnuplotrc"})
        write_file(here / settings, "system \"touch '" + pwned.string() + "'\"\n");
    const std::string in_there = "cd '" + here.string() +
                                 "' && PATH=:.:$PATH: PYTHONPATH=. PYTHONHOME= PYTHONSTARTUP=startup.py "
                                 "PYTHONUSERBASE=. GNUPLOT_LIB=. GNUPLOT_DRIVER_DIR=. XDG_CONFIG_HOME=.";
    const Outcome o =
        run_program("report --quick --device cpu --sections cost,determinism --max-n 256 --out ../out", in_there);
    INFO(o.err);
    CHECK(o.status == 0);
    CHECK(contents(dir.path() / "out" / "index.html").find("<svg ") != std::string::npos);
    CHECK_FALSE(fs::exists(pwned));
}

TEST_CASE("programs are found where nobody else may put them", "[report]") {
    const TemporaryDirectory dir;
    const fs::path open = dir.path() / "open", safe = dir.path() / "safe";
    for (const fs::path& folder : {open, safe}) {
        fs::create_directory(folder);
        write_program(folder / "tool", "#!/bin/sh\n");
    }
    fs::permissions(open, fs::perms::all | fs::perms::sticky_bit);
    const std::string open_first = open.string() + ":" + safe.string();
    {
        const Variable path("PATH", open_first);
        CHECK(find_program("tool").path == safe / "tool");
        CHECK(find_program("tool").why_not.empty());
        CHECK(clean_environment()[1] == "PATH=" + safe.string());
    }
    {
        const Variable path("PATH", open.string());
        CHECK(find_program("tool").path.empty());
        CHECK(find_program("tool").why_not == "was not found in PATH; '" + (open / "tool").string() +
                                                  "' is not used, because everybody may write to its folder");
    }
    const fs::path before = fs::current_path();
    fs::current_path(safe);
    for (const char* relative : {".", "", ":/none", "../safe", "/none::"}) {
        const Variable path("PATH", relative);
        INFO(relative);
        CHECK(find_program("tool").path.empty());
        CHECK(clean_environment()[1].find("safe") == std::string::npos);
    }
    fs::current_path(before);
    fs::permissions(safe / "tool", fs::perms::owner_read);
    const Variable path("PATH", safe.string());
    CHECK(find_program("tool").why_not == "was not found in PATH");
}

TEST_CASE("programs start in an empty folder, with an environment of few words", "[report]") {
    const Variable python("PYTHONPATH", "/somewhere"), loader("LD_PRELOAD", ""), home("HOME", "relative"),
        libraries("LD_LIBRARY_PATH", ":/usr/lib:lib");
    CHECK(said_by("ls -A | wc -l").find('0') != std::string::npos);
    const std::string where = said_by("pwd");
    CHECK(where != fs::current_path().string() + "\n");
    CHECK_FALSE(fs::exists(where.substr(0, where.size() - 1))); // it goes when the program does
    const std::string environment = "\n" + said_by("env");
    for (const char* kept : {"\nLC_ALL=C\n", "\nPATH=/", "\nLD_LIBRARY_PATH=/usr/lib\n"})
        CHECK(environment.find(kept) != std::string::npos);
    for (const char* gone : {"PYTHONPATH", "LD_PRELOAD", "HOME"})
        CHECK(environment.find(gone) == std::string::npos);
}

TEST_CASE("a program that does not end is ended", "[report]") {
    pid_t id = 0;
    {
        ChildProcess shell({"/bin/sh", "-c", "echo $$; exec sleep 1000"});
        std::string said;
        while (said.find('\n') == std::string::npos)
            REQUIRE(shell.read(said));
        id = std::stoi(said);
        CHECK_FALSE(shell.read_all(50ms, [] {}));
        CHECK(::kill(id, 0) == 0);
    }
    CHECK(::kill(id, 0) != 0);
    CHECK_THROWS_AS(ChildProcess({"/no/such/program"}), Failure);
}

TEST_CASE("a gnuplot that fails, or does not end, is not one that is missing", "[report]") {
    const auto required = [] { return message_of(require_gnuplot); };
    const auto drawn = [] { return message_of([] { (void)run_gnuplot("id", "title", "plot 1\n", 200ms); }); };
    {
        const FakeProgram gnuplot("gnuplot", "echo out of order >&2; exit 3");
        CHECK(required() == "plots need gnuplot, and '" + (gnuplot.folder() / "gnuplot").string() +
                                "' --version failed (exit 3: out of order\\n); repair it, or use `detreduce report "
                                "--measure-only` here and `detreduce render` on a machine that has it");
        CHECK(drawn() == "the plot 'id': gnuplot failed (exit 3: out of order\\n)");
    }
    {
        const FakeProgram gnuplot("gnuplot", "kill -9 $$");
        CHECK(drawn() == "the plot 'id': gnuplot failed (by a signal: it said nothing)");
    }
    {
        const FakeProgram gnuplot("gnuplot", "exec sleep 1000");
        CHECK(drawn() == "the plot 'id': gnuplot did not end within 0.2 s");
    }
    const FakeProgram none("gnuplot", "");
    CHECK(required().starts_with("plots need gnuplot, which was not found in PATH: install it"));
    CHECK(drawn().find("was not found in PATH: install it") != std::string::npos);
}

TEST_CASE("plots have no titles of data blocks, and end at the first error", "[report]") {
    REQUIRE(can_draw());
    const std::string script = "$d0 << EOD\n1 2\n2 3\nEOD\nset terminal svg\nplot $d0 with lines\n";
    const std::string svg = run_gnuplot("id", "title", script);
    CHECK(count(svg, "<path") > 0);
    CHECK(count(svg, "<title>") == 0);
    CHECK(count(svg, "$d0") < 2); // gnuplot's own legend
    CHECK(message_of([&] { (void)run_gnuplot("id", "title", "no command\n" + script); }).find("invalid command") !=
          std::string::npos);
}
