// Ctrl-C while `detreduce report` measures.
#include <support/catch.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "files.hpp"
#include "json.hpp"
#include "sample.hpp"
#include "schema.hpp"

extern char** environ;

using namespace report_test;
using namespace detreduce::report;
using namespace std::chrono_literals;

namespace {

/// `detreduce report --full` on the CPU, which takes minutes.
class Measuring {
  public:
    explicit Measuring(const std::filesystem::path& dir) : out_(dir / "stdout"), err_(dir / "stderr") {
        std::vector<std::string> words{DETREDUCE_PROGRAM,        "report", "--full", "--device", "cpu", "--out",
                                       (dir / "report").string()};
        std::vector<char*> arguments;
        for (std::string& word : words)
            arguments.push_back(word.data());
        arguments.push_back(nullptr);
        posix_spawn_file_actions_t files;
        ::posix_spawn_file_actions_init(&files);
        ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out_.c_str(), O_WRONLY | O_CREAT, 0600);
        ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err_.c_str(), O_WRONLY | O_CREAT, 0600);
        sigset_t interrupt; // tests that run in the background may ignore it
        ::sigemptyset(&interrupt);
        ::sigaddset(&interrupt, SIGINT);
        posix_spawnattr_t attributes;
        ::posix_spawnattr_init(&attributes);
        ::posix_spawnattr_setsigdefault(&attributes, &interrupt);
        ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
        REQUIRE(::posix_spawn(&id_, arguments[0], &files, &attributes, arguments.data(), environ) == 0);
        ::posix_spawnattr_destroy(&attributes);
        ::posix_spawn_file_actions_destroy(&files);
    }
    ~Measuring() {
        if (id_ <= 0) return;
        ::kill(id_, SIGKILL);
        (void)status();
    }
    Measuring(const Measuring&) = delete;
    Measuring& operator=(const Measuring&) = delete;

    /// Waits until measuring has begun, and a second more.
    [[nodiscard]] bool began() const {
        for (int i = 0; i < 600; ++i, std::this_thread::sleep_for(100ms))
            if (contents(out_).find("measuring on cpu") != std::string::npos) {
                std::this_thread::sleep_for(1s);
                return true;
            }
        return false;
    }
    /// Waits until it says what a second one would do.
    [[nodiscard]] bool says_so() const {
        for (int i = 0; i < 30000; ++i, std::this_thread::sleep_for(1ms))
            if (contents(err_).find("once more ends at once") != std::string::npos) return true;
        return false;
    }
    void press_ctrl_c() const { ::kill(id_, SIGINT); }
    int status() {
        int status = 0;
        ::waitpid(id_, &status, 0);
        id_ = -1;
        return status;
    }

  private:
    std::filesystem::path out_, err_;
    pid_t id_ = -1;
};

} // namespace

TEST_CASE("Ctrl-C leaves what was measured as a valid report", "[report]") {
    REQUIRE(can_draw());
    const TemporaryDirectory dir;
    Measuring program(dir.path());
    REQUIRE(program.began());
    program.press_ctrl_c();
    const int status = program.status();
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 130);
    const std::string text = contents(dir.path() / "report" / "results.json");
    CHECK(violations(results_schema(), nlohmann::json::parse(text)).empty());
    const Results results = from_json(text, "results.json");
    CHECK(results.provenance.incomplete.starts_with("interrupted by Ctrl-C at: error, f16 "));
    CHECK_FALSE(results.error.empty());
    CHECK(results.cost.empty());
    const std::string page = contents(dir.path() / "report" / "index.html");
    CHECK(page.find("Incomplete: interrupted by Ctrl-C at: error") != std::string::npos);
    CHECK(page.find("Not measured.") != std::string::npos);
    CHECK(page.ends_with("</html>\n"));
    const std::string said = contents(dir.path() / "stderr");
    CHECK(said.find("once more ends at once") != std::string::npos);
    CHECK(said.ends_with("detreduce: interrupted by Ctrl-C\n"));
}

TEST_CASE("two interrupts at once are one, as timeout -s INT sends them", "[report]") {
    REQUIRE(can_draw());
    bool left_a_report = false;
    for (int i = 0; i < 5 && !left_a_report; ++i) { // on a busy machine the second may come late
        const TemporaryDirectory dir;
        Measuring program(dir.path());
        REQUIRE(program.began());
        program.press_ctrl_c();
        REQUIRE(program.says_so());
        program.press_ctrl_c();
        const int status = program.status();
        left_a_report = WIFEXITED(status) && WEXITSTATUS(status) == 130 &&
                        std::filesystem::exists(dir.path() / "report" / "results.json");
    }
    CHECK(left_a_report);
}

TEST_CASE("a second Ctrl-C ends at once", "[report]") {
    const TemporaryDirectory dir;
    Measuring program(dir.path());
    REQUIRE(program.began());
    program.press_ctrl_c();
    REQUIRE(program.says_so());
    std::this_thread::sleep_for(25ms); // it has a step to finish and plots to draw
    program.press_ctrl_c();
    const int status = program.status();
    REQUIRE(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGINT);
}
