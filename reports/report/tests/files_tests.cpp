// Files and folders: what is planted there, what others write there, and what remains behind.
#include <support/catch.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failure.hpp"
#include "fake_program.hpp"
#include "files.hpp"
#include "json.hpp"
#include "message_of.hpp"
#include "render.hpp"
#include "sample.hpp"
#include "variable.hpp"

#include "../../tests/program.hpp" // which makes .npy files

extern char** environ;

using namespace report_test;
using namespace detreduce::report;
using namespace std::chrono_literals;
namespace fs = std::filesystem;
namespace program = detreduce::program;

namespace {

std::size_t entries_in(const fs::path& dir) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(dir), fs::directory_iterator()));
}

std::string render_into(const fs::path& dir, const fs::path& results) {
    const Outcome o = run_program("render '" + results.string() + "' --out '" + dir.string() + "'");
    return std::to_string(o.status) + ": " + o.err;
}

std::string with_process(std::string name, pid_t id) {
    const std::string own = "-" + std::to_string(::getpid()) + "-";
    return name.replace(name.find(own), own.size(), "-" + std::to_string(id) + "-");
}

/// The number of a process that has ended.
pid_t ended_process() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    return child;
}

} // namespace

TEST_CASE("a file is written whole, with the permissions that it had", "[report]") {
    const TemporaryDirectory dir;
    const fs::path file = dir.path() / "file";
    const mode_t before = ::umask(027);
    write_file(file, "new");
    ::umask(before);
    CHECK(fs::status(file).permissions() == fs::perms(0640));
    fs::permissions(file, fs::perms(0604));
    write_file(file, "newer");
    CHECK(contents(file) == "newer");
    CHECK(fs::status(file).permissions() == fs::perms(0604));
    write_file(file, "");
    CHECK(contents(file).empty());
    CHECK(entries_in(dir.path()) == 1); // nothing lies beside it
}

TEST_CASE("what is not a file to be written over is refused, and stays as it was", "[report]") {
    const TemporaryDirectory dir;
    const fs::path victim = dir.path() / "victim", link = dir.path() / "link", dangling = dir.path() / "dangling",
                   folder = dir.path() / "folder", pipe = dir.path() / "pipe";
    write_file(victim, "as it was");
    fs::create_symlink(victim, link);
    fs::create_symlink(dir.path() / "nowhere", dangling);
    fs::create_directory(folder);
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    const auto refused = [&](const fs::path& file, const std::string& why) {
        CHECK(message_of([&] { write_file(file, "new"); }) == file.string() + ": cannot be written (" + why + ")");
        CHECK(program::why_not_writable(file) == why);
    };
    refused(link, "it is a symbolic link, and links are not followed");
    refused(dangling, "it is a symbolic link, and links are not followed");
    refused(folder, "Is a directory");
    refused(folder / "", "Is a directory");
    refused(pipe, "it is not a regular file");
    refused(dir.path() / "no" / "file", "No such file or directory");
    refused(victim / "file", "Not a directory");
    refused(dir.path() / std::string(256, 'x'), "File name too long");
    fs::permissions(victim, fs::perms(0444));
    refused(victim, "it is read-only");
    CHECK(contents(victim) == "as it was");
    CHECK(fs::is_symlink(link));
    CHECK(entries_in(dir.path()) == 5);
    write_file(dir.path() / std::string(255, 'x'), "the longest name that there is");
    CHECK(entries_in(dir.path()) == 6);
}

TEST_CASE("links that were planted in a folder are not followed", "[report]") {
    REQUIRE(can_draw());
    const TemporaryDirectory dir;
    const fs::path results = dir.path() / "results.json", victim = dir.path() / "victim", out = dir.path() / "out";
    write_file(results, to_json(sample()));
    write_file(victim, "as it was");
    fs::create_directory(out);
    for (const char* name : {".detreduce-probe", "report.md.partial", "index.html.partial", "error.csv.partial"})
        fs::create_symlink(victim, out / name);
    CHECK(render_into(out, results) == "0: ");
    CHECK(contents(victim) == "as it was");
    fs::remove(out / "index.html");
    fs::create_symlink(victim, out / "index.html");
    CHECK(render_into(out, results) == "1: detreduce: " + (out / "index.html").string() +
                                           ": cannot be written (it is a symbolic link, and links are not followed)\n");
    fs::create_symlink(victim, out / "results.json");
    const Outcome o =
        run_program("report --quick --device cpu --sections edges --measure-only --out '" + out.string() + "'");
    CHECK(o.status == 1);
    CHECK(o.out.empty()); // nothing was measured for it
    CHECK(o.err.ends_with("results.json: cannot be written (it is a symbolic link, and links are not followed)\n"));
    CHECK(contents(victim) == "as it was");
}

TEST_CASE("one process at a time writes into a folder", "[report]") {
    REQUIRE(can_draw());
    const TemporaryDirectory dir;
    const fs::path results = dir.path() / "results.json", out = dir.path() / "out";
    write_file(results, to_json(sample()));
    {
        const OutputDirectory ours(out);
        CHECK(render_into(out, results) == "1: detreduce: --out " + out.string() +
                                               ": another detreduce is writing into it; wait until it has ended, or "
                                               "name another directory\n");
        CHECK(entries_in(out) == 0);
        CHECK(render_into(dir.path() / "other", results) == "0: ");
    }
    CHECK(render_into(out, results) == "0: ");
}

TEST_CASE("a folder stays the one that was opened, whatever gets its name", "[report]") {
    const TemporaryDirectory dir;
    const fs::path out = dir.path() / "out", moved = dir.path() / "moved", other = dir.path() / "other";
    fs::create_directory(other);
    write_file(other / "file", "as it was");
    {
        const OutputDirectory folder(out);
        folder.write("file", "old");
        folder.require_in_place();
        fs::rename(out, moved);
        fs::create_directory_symlink(other, out);
        folder.write("file", "new");
        folder.write("second", "new");
        fs::create_directory(moved / "third");
        CHECK(message_of([&] { folder.require_writable("third"); }) ==
              (out / "third").string() + ": cannot be written (Is a directory)");
        CHECK(folder.names().size() == 3);
        CHECK(contents(moved / "file") == "new");
        CHECK(contents(moved / "second") == "new");
        CHECK(contents(other / "file") == "as it was");
        CHECK(entries_in(other) == 1);
        const std::string gone = "--out " + out.string() +
                                 ": the folder was moved, removed or replaced meanwhile; the files are in the one that "
                                 "was there at the beginning";
        CHECK(message_of([&] { folder.require_in_place(); }) == gone);
        fs::remove(out);
        CHECK(message_of([&] { folder.require_in_place(); }) == gone);
        const std::string name = program::temporary_file_name(); // of what a signal would remove
        folder.write(name, "x");
        const int descriptor = ::open(moved.c_str(), O_RDONLY | O_DIRECTORY);
        {
            const program::Leftover leftover(program::Leftover::a_file, name, descriptor);
            fs::rename(moved, out);
            program::remove_leftovers();
        }
        ::close(descriptor);
        CHECK_FALSE(fs::exists(out / name));
        folder.require_in_place(); // again
    }
    const fs::path link = dir.path() / "link"; // one that was there before is followed
    fs::create_directory_symlink(other, link);
    const OutputDirectory folder(link);
    folder.write("file", "new");
    CHECK(contents(other / "file") == "new");
    folder.require_in_place();
}

TEST_CASE("a report stays in its folder when that is swapped for a link meanwhile", "[report]") {
    REQUIRE(can_draw());
    const TemporaryDirectory dir;
    const fs::path out = dir.path() / "out", moved = dir.path() / "moved", other = dir.path() / "other",
                   ran = dir.path() / "ran", go = dir.path() / "go";
    fs::create_directory(other);
    const FakeProgram python("python3",
                             "touch '" + ran.string() + "'; while [ ! -e '" + go.string() + "' ]; do sleep .01; done");
    Outcome o{};
    std::thread report([&] {
        o = run_program("report --quick --device cpu --sections cost --max-n 256 --out '" + out.string() + "'");
    });
    for (int i = 0; i < 6000 && !fs::exists(ran); ++i)
        std::this_thread::sleep_for(10ms);
    std::error_code error; // which no test may throw while the thread runs
    fs::rename(out, moved, error);
    fs::create_directory_symlink(other, out, error);
    const int descriptor = ::open(go.c_str(), O_WRONLY | O_CREAT, 0600);
    ::close(descriptor);
    report.join();
    INFO(o.out << o.err);
    CHECK(o.status == 1);
    CHECK(o.err.find("--out " + out.string() + ": the folder was moved, removed or replaced meanwhile") !=
          std::string::npos);
    CHECK(entries_in(other) == 0);
    CHECK(fs::exists(moved / "results.json"));
    CHECK(fs::exists(moved / "index.html"));
}

TEST_CASE("what cannot be replaced is found before anything is measured or written", "[report]") {
    REQUIRE(can_draw());
    const TemporaryDirectory dir;
    const fs::path results = dir.path() / "results.json", first = dir.path() / "first";
    write_file(results, to_json(sample()));
    write_file(dir.path() / "x.npy", program_test::npy_of(std::vector<float>{1, 2}));
    const std::string in_the_way = ": cannot be written (Is a directory)";
    // All that a page consists of.
    render(sample(), OutputDirectory(first), {}, {{"other", sample()}});
    for (const auto& entry : fs::directory_iterator(first)) {
        const std::string name = entry.path().filename().string();
        const fs::path out = dir.path() / ("without " + name);
        fs::create_directories(out / name);
        const OutputDirectory folder(out);
        CHECK(message_of([&] { require_renderable(sample(), folder, true); }) == (out / name).string() + in_the_way);
        if (name == "report.md") {
            CHECK(message_of([&] { render(sample(), folder); }) == (out / name).string() + in_the_way);
            CHECK(entries_in(out) == 1);
        }
    }
    // What the command expects to write.
    for (const std::string name : {"results.json", "index.html", "report.md", "error.csv", "edges.csv",
                                   "determinism.csv", "cost.csv", "reference.csv", "op-cost.csv", "data.csv",
                                   "data-sums.csv", "comparison-bits.csv", "comparison-speed.csv", "summary-f32.svg"}) {
        const fs::path out = dir.path() / ("no " + name);
        fs::create_directories(out / name);
        const Outcome o = run_program("report --quick --device cpu --out '" + out.string() + "' --data '" +
                                      (dir.path() / "x.npy").string() + "' --compare '" + results.string() + "'");
        CHECK(o.status == 1);
        CHECK(o.out.empty()); // nothing was measured for it
        CHECK(o.err == "detreduce: " + (out / name).string() + in_the_way + "\n");
    }
    // What it will not write may be in the way.
    const fs::path out = dir.path() / "out";
    for (const char* name :
         {"index.html", "reference.csv", "op-cost.csv", "data.csv", "comparison-bits.csv", "ladder.csv", "mine.svg"})
        fs::create_directories(out / name);
    const std::string edges = "report --quick --device cpu --sections edges --out '" + out.string() + "'";
    CHECK(run_program(edges + " --measure-only").status == 0);
    fs::remove(out / "index.html");
    const Outcome o = run_program(edges);
    INFO(o.err);
    CHECK(o.status == 0);
}

TEST_CASE("temporary folders are made where TMPDIR says, or not at all", "[report]") {
    const TemporaryDirectory dir;
    fs::create_directory(dir.path() / "tmp");
    write_file(dir.path() / "file", "");
    const auto made_under = [](const std::string& where) {
        const Variable variable("TMPDIR", where);
        const TemporaryDirectory made;
        CHECK(fs::is_directory(made.path()));
        CHECK(fs::status(made.path()).permissions() == fs::perms::owner_all);
        return made.path().parent_path();
    };
    CHECK(made_under((dir.path() / "tmp").string()) == dir.path() / "tmp");
    const fs::path before = fs::current_path();
    fs::current_path(dir.path());
    CHECK(made_under("tmp") == dir.path() / "tmp"); // absolute: where a program is started is another folder
    fs::current_path(before);
    CHECK(entries_in(dir.path() / "tmp") == 0);
    write_file(dir.path() / "results.json", to_json(sample()));
    const std::string render =
        "render '" + (dir.path() / "results.json").string() + "' --out '" + (dir.path() / "out").string() + "'";
    const auto refused = [&](const char* name, const std::string& why) {
        const fs::path where = dir.path() / name;
        const std::string message = "no temporary directory can be made under '" + where.string() + "' (" + why +
                                    "); set TMPDIR to a writable one";
        const Outcome o = run_program(render, "TMPDIR='" + where.string() + "'");
        CHECK(o.status == 1);
        CHECK(o.err == "detreduce: " + message + "\n");
        const Variable variable("TMPDIR", where.string());
        CHECK(message_of([] { const TemporaryDirectory none; }) == message);
    };
    refused("none", "No such file or directory");
    refused("file", "Not a directory");
}

TEST_CASE("what killed runs left is removed, and nothing else", "[report]") {
    const TemporaryDirectory dir;
    const pid_t ended = ended_process();
    const auto file = [&](std::string name, std::chrono::hours age) {
        const fs::path path = dir.path() / name;
        write_file(path, "x");
        fs::last_write_time(path, fs::file_time_type::clock::now() - age);
        return path;
    };
    const auto elsewhere = [](std::string name) { // another machine's
        const std::size_t at = name.find("detreduce-") + 10;
        name[at] = name[at] == '0' ? '1' : '0';
        return name;
    };
    const std::string left = with_process(program::temporary_file_name(), ended);
    const fs::path stale = file(left, 0h), old = file(elsewhere(program::temporary_file_name()), 25h),
                   living = file(program::temporary_file_name(), 48h),
                   recent = file(elsewhere(with_process(program::temporary_file_name(), ended)), 1h),
                   longer = file(left + "x", 48h), shorter = file(left.substr(1), 48h),
                   others = file(".detreduce-12-34-56.tmp", 48h), plain = file("results.json", 48h);
    const std::string folder_left = with_process(program::unguessable_name(), ended);
    fs::create_directory(dir.path() / folder_left);
    write_file(dir.path() / folder_left / "file", "x");
    fs::create_directory(dir.path() / program::unguessable_name());
    { const OutputDirectory out(dir.path()); }
    CHECK_FALSE(fs::exists(stale));
    CHECK_FALSE(fs::exists(old));
    for (const fs::path& kept : {living, recent, longer, shorter, others, plain})
        CHECK(fs::exists(kept));
    CHECK(fs::exists(dir.path() / folder_left));
    program::remove_stale_folders(dir.path());
    CHECK_FALSE(fs::exists(dir.path() / folder_left));
    CHECK(entries_in(dir.path()) == 7);
}

TEST_CASE("a signal leaves no folder, no file and no process behind", "[report]") {
    for (const int signal : {SIGTERM, SIGHUP, SIGINT}) {
        INFO(signal);
        const TemporaryDirectory dir;
        const fs::path tmp = dir.path() / "tmp", ran = dir.path() / "ran";
        fs::create_directory(tmp);
        const FakeProgram python("python3", "echo $$ >'" + ran.string() + "'; exec sleep 1000");
        std::vector<std::string> words{DETREDUCE_PROGRAM,
                                       "report",
                                       "--quick",
                                       "--device",
                                       "cpu",
                                       "--sections",
                                       "cost",
                                       "--max-n",
                                       "256",
                                       "--measure-only",
                                       "--out",
                                       (dir.path() / "out").string()};
        std::vector<char*> arguments;
        for (std::string& word : words)
            arguments.push_back(word.data());
        arguments.push_back(nullptr);
        posix_spawn_file_actions_t files;
        ::posix_spawn_file_actions_init(&files);
        const std::string said = (dir.path() / "said").string();
        ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, said.c_str(), O_WRONLY | O_CREAT, 0600);
        ::posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
        sigset_t signals; // those who run tests may ignore some
        ::sigemptyset(&signals);
        for (const int one : {SIGTERM, SIGHUP, SIGINT})
            ::sigaddset(&signals, one);
        posix_spawnattr_t attributes;
        ::posix_spawnattr_init(&attributes);
        ::posix_spawnattr_setsigdefault(&attributes, &signals);
        ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
        ::setenv("TMPDIR", tmp.c_str(), 1);
        pid_t id = 0;
        const int error = ::posix_spawn(&id, arguments[0], &files, &attributes, arguments.data(), environ);
        ::unsetenv("TMPDIR");
        ::posix_spawnattr_destroy(&attributes);
        ::posix_spawn_file_actions_destroy(&files);
        REQUIRE(error == 0);
        for (int i = 0; i < 6000 && contents(ran).find('\n') == std::string::npos; ++i)
            std::this_thread::sleep_for(10ms);
        REQUIRE(contents(ran).find('\n') != std::string::npos);
        const pid_t child = std::stoi(contents(ran));
        CHECK(entries_in(tmp) == 1); // where python3 runs
        ::kill(id, signal);
        if (signal == SIGINT) { // the first ends measuring only
            for (int i = 0; i < 6000 && contents(said).find("once more") == std::string::npos; ++i)
                std::this_thread::sleep_for(1ms);
        }
        int status = 0;
        ::waitpid(id, &status, 0);
        if (signal == SIGINT)
            CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 130));
        else
            CHECK((WIFSIGNALED(status) && WTERMSIG(status) == signal));
        CHECK(entries_in(tmp) == 0);
        const auto runs = [&] { // one that has ended, and whose end nobody has asked for, has no command line
            return !contents("/proc/" + std::to_string(child) + "/cmdline").empty();
        };
        for (int i = 0; i < 1000 && runs(); ++i)
            std::this_thread::sleep_for(10ms);
        CHECK_FALSE(runs());
    }
}

TEST_CASE("what is read is a regular file that is not too large", "[report]") {
    const TemporaryDirectory dir;
    const fs::path large = dir.path() / "large", pipe = dir.path() / "pipe";
    write_file(large, "");
    fs::resize_file(large, program::largest_file + 1); // takes no disk
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    const auto refused = [&](const fs::path& file, const std::string& why) {
        const std::string message = file.string() + ": " + why;
        CHECK(message_of([&] { (void)read_file(file); }) == message);
        CHECK(message_of([&] { (void)load_results(file); }) == message);
    };
    refused("/dev/zero", "is not a regular file; allowed are regular files only");
    refused(pipe, "is not a regular file; allowed are regular files only"); // and does not wait for a writer
    refused(large, "holds more than 256 MiB; allowed are up to that");
    refused(dir.path() / "none", "cannot be opened (No such file or directory)");
    refused(dir.path() / std::string(300, 'x'), "cannot be opened (File name too long)");
    CHECK(message_of([&] { (void)read_file(dir.path()); }) == dir.path().string() + ": is a directory, not a file");
    CHECK(read_file("/proc/self/stat").size() > 10); // says that it holds 0 bytes
    fs::resize_file(large, 5);
    CHECK(read_file(large) == std::string(5, '\0'));
    const Outcome o = run_program("render --out '" + (dir.path() / "out").string() + "' /dev/zero");
    CHECK(o.status == 1);
    CHECK(o.err == "detreduce: /dev/zero: is not a regular file; allowed are regular files only\n");
}

TEST_CASE("a directory in the place of a file of the bench is named", "[report]") {
    for (const char* name : {"ops.csv", "shapes.csv", "ladder.json"}) {
        const TemporaryDirectory dir;
        write_file(dir.path() / "results.json", to_json(sample()));
        fs::create_directory(dir.path() / name);
        const std::string said = render_into(dir.path() / "out", dir.path() / "results.json");
        CHECK(said.starts_with("1: detreduce: " + (dir.path() / name).string() + ": is a directory"));
    }
}
