#include "child_process.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "failure.hpp"
#include "output.hpp"

extern char** environ;

namespace detreduce::report {
namespace {

using program::Failure;
using namespace std::chrono_literals;

constexpr auto patience_after_output = 10s; // what has closed its output has nothing left to do

std::string text_of(const char* variable) {
    const char* const text = std::getenv(variable);
    return text ? text : "";
}

// The entries of a list as PATH is; an empty one is the working directory.
std::vector<std::string> entries_of(const std::string& list) {
    std::vector<std::string> entries;
    for (std::size_t from = 0; !list.empty() && from <= list.size();) {
        const std::size_t end = std::min(list.find(':', from), list.size());
        entries.push_back(list.substr(from, end - from));
        from = end + 1;
    }
    return entries;
}

// Why nothing is taken from there; nothing where it may be.
std::string why_not_from(const std::string& folder) {
    if (!folder.starts_with('/')) return "its folder's name in PATH is relative";
    struct stat info {};
    const bool anybody = ::stat(folder.c_str(), &info) == 0 && (info.st_mode & S_IWOTH) != 0;
    return anybody ? "everybody may write to its folder" : "";
}

bool is_program(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string without_bad_folders(const char* variable) {
    std::string kept;
    for (const std::string& folder : entries_of(text_of(variable)))
        if (why_not_from(folder).empty()) kept += (kept.empty() ? "" : ":") + folder;
    return kept;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return pointers;
}

// What posix_spawn() is told.
struct SpawnOptions {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    SpawnOptions() {
        ::posix_spawn_file_actions_init(&files);
        ::posix_spawnattr_init(&attributes);
        sigset_t none, writes; // that fail end others, as they expect
        ::sigemptyset(&none);
        ::sigemptyset(&writes);
        ::sigaddset(&writes, SIGPIPE);
        ::sigaddset(&writes, SIGXFSZ);
        ::posix_spawnattr_setsigmask(&attributes, &none);
        ::posix_spawnattr_setsigdefault(&attributes, &writes);
        ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    }
    ~SpawnOptions() {
        ::posix_spawn_file_actions_destroy(&files);
        ::posix_spawnattr_destroy(&attributes);
    }
    SpawnOptions(const SpawnOptions&) = delete;
    SpawnOptions& operator=(const SpawnOptions&) = delete;
};

// While one lives, what ends us waits: between the start of a child and the note that it is to be
// ended, too.
class HeldSignals {
  public:
    HeldSignals() {
        sigset_t held;
        ::sigemptyset(&held);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP})
            ::sigaddset(&held, signal);
        ::pthread_sigmask(SIG_BLOCK, &held, &before_);
    }
    ~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;

  private:
    sigset_t before_;
};

} // namespace

FoundProgram find_program(const std::string& name) {
    std::string why_not = "was not found in PATH";
    for (const std::string& folder : entries_of(text_of("PATH"))) {
        const std::string path = (folder.empty() ? "." : folder) + "/" + name, reason = why_not_from(folder);
        if (!is_program(path)) continue;
        if (reason.empty()) return {path, ""};
        why_not = fmt::format("was not found in PATH; {} is not used, because {}", program::in_quotes(path), reason);
    }
    return {"", why_not};
}

std::vector<std::string> clean_environment() {
    std::vector<std::string> list{"LC_ALL=C", "PATH=" + without_bad_folders("PATH")};
    if (const std::string home = text_of("HOME"); home.starts_with('/')) list.push_back("HOME=" + home);
    if (const std::string libraries = without_bad_folders("LD_LIBRARY_PATH"); !libraries.empty())
        list.push_back("LD_LIBRARY_PATH=" + libraries);
    return list;
}

ChildProcess::ChildProcess(std::vector<std::string> words) : ChildProcess(std::move(words), {}, false) {}
ChildProcess::ChildProcess(std::vector<std::string> words, Streams streams)
    : ChildProcess(std::move(words), streams, false) {}

ChildProcess ChildProcess::of_ourselves(std::vector<std::string> arguments) {
    std::error_code error;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) throw Failure("a fresh process cannot be started: /proc/self/exe, this program, cannot be read");
    arguments.insert(arguments.begin(), self.string());
    return {std::move(arguments), {}, true};
}

ChildProcess::ChildProcess(std::vector<std::string> words, Streams streams, bool ourselves) {
    SpawnOptions options;
    std::vector<std::string> environment = clean_environment();
    const std::vector<char*> arguments = pointers_to(words), variables = pointers_to(environment);
    if (!ourselves) {
        place_.emplace();
        ::posix_spawn_file_actions_addchdir_np(&options.files, place_->path().c_str());
    }
    int ends[2]; // sockets, because a write to a pipe without a reader is a signal
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        throw Failure(fmt::format("{} cannot be started: {}", words[0], std::strerror(errno)));
    const auto connect = [&](int stream, int descriptor) {
        ::posix_spawn_file_actions_adddup2(&options.files, descriptor < 0 ? ends[1] : descriptor, stream);
    };
    connect(STDIN_FILENO, streams.input);
    connect(STDOUT_FILENO, -1);
    connect(STDERR_FILENO, streams.errors); // says why it failed
    const HeldSignals held;
    const int error = ::posix_spawn(&id_, arguments[0], &options.files, &options.attributes, arguments.data(),
                                    ourselves ? environ : variables.data());
    ::close(ends[1]);
    end_ = ends[0];
    if (error == 0) {
        leftover_.emplace(program::Leftover::a_process, id_);
        return;
    }
    ::close(end_);
    throw Failure(fmt::format("{} cannot be started: {}", words[0], std::strerror(error)));
}

ChildProcess::~ChildProcess() {
    ::close(end_);
    if (id_ <= 0) return;
    ::kill(id_, SIGKILL);
    wait();
}

bool ChildProcess::read(std::string& text) {
    pollfd ready{end_, POLLIN, 0};
    if (::poll(&ready, 1, 100) <= 0) return true;
    char buffer[65536];
    const ssize_t got = ::recv(end_, buffer, sizeof buffer, 0);
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
}

std::optional<std::string> ChildProcess::read_all(std::chrono::milliseconds patience,
                                                  const std::function<void()>& meanwhile) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    std::string text;
    while (read(text)) {
        meanwhile();
        if (std::chrono::steady_clock::now() > deadline) return std::nullopt;
    }
    return text;
}

bool ChildProcess::write(std::string_view text) {
    return ::send(end_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

int ChildProcess::wait() {
    leftover_.reset(); // its number may soon be another's
    int status = 0;
    const auto deadline = std::chrono::steady_clock::now() + patience_after_output;
    for (pid_t ended = 0; ended == 0;) {
        ended = ::waitpid(id_, &status, WNOHANG);
        if (ended < 0 && errno == EINTR) ended = 0;
        if (ended != 0) break;
        if (std::chrono::steady_clock::now() > deadline) ::kill(id_, SIGKILL);
        std::this_thread::sleep_for(1ms);
    }
    id_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace detreduce::report
