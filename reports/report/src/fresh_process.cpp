// Starts this program again and reads what it prints.
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "determinism_axes.hpp"
#include "failure.hpp"
#include "fresh_sums.hpp"

extern char** environ;

namespace detreduce::report {
namespace {

using program::Failure;

constexpr std::chrono::minutes patience{3}; // CUDA takes a second to begin; a machine under load, longer

// Runs until it ends, is told to, or nobody wants it any more.
class Process {
  public:
    explicit Process(std::vector<std::string> words) {
        std::vector<char*> arguments;
        for (std::string& word : words)
            arguments.push_back(word.data());
        arguments.push_back(nullptr);
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw Failure("no pipe to a fresh process can be made");
        read_end_ = ends[0];
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO); // why it failed
        const int error = ::posix_spawn(&id_, arguments[0], &actions, nullptr, arguments.data(), environ);
        ::posix_spawn_file_actions_destroy(&actions);
        ::close(ends[1]);
        if (error != 0) {
            ::close(read_end_);
            throw Failure(fmt::format("{} cannot be started again for a fresh process", words[0]));
        }
    }
    ~Process() {
        if (id_ > 0) {
            ::kill(id_, SIGKILL);
            wait();
        }
        ::close(read_end_);
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    /// What it printed until now; false: nothing more will come. Waits for a tenth of a second.
    [[nodiscard]] bool read(std::string& text) {
        pollfd ready{read_end_, POLLIN, 0};
        if (::poll(&ready, 1, 100) <= 0) return true;
        char buffer[4096];
        const ssize_t got = ::read(read_end_, buffer, sizeof buffer);
        if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
        return got > 0;
    }

    /// Its exit status, once it closed its output; -1: a signal ended it.
    int wait() {
        int status = 0;
        while (::waitpid(id_, &status, 0) < 0 && errno == EINTR)
            ;
        id_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

  private:
    pid_t id_ = -1;
    int read_end_ = -1;
};

std::vector<std::string> command_of(const Options& options) {
    std::error_code error;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) throw Failure("a fresh process cannot be started: /proc/self/exe, this program, cannot be read");
    std::string devices;
    for (const Device& device : devices_of(options))
        devices += (devices.empty() ? "" : ",") + name_of(device);
    std::vector<std::string> words{self.string(), "fresh-sums", "--devices",
                                   devices,       "--seed",     std::to_string(options.seed)};
    if (options.quick) words.emplace_back("--quick");
    if (options.largest_n < determinism_elements(options.quick)) {
        words.emplace_back("--max-n");
        words.push_back(std::to_string(options.largest_n));
    }
    return words;
}

} // namespace

std::string run_fresh_process(const Options& options, const Progress& progress) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    Process process(command_of(options));
    std::string text;
    while (process.read(text)) {
        progress.check_interrupt();
        if (std::chrono::steady_clock::now() > deadline) throw Failure("a fresh process did not end within 3 minutes");
    }
    const int status = process.wait();
    progress.check_interrupt(); // a terminal sends Ctrl-C to both
    if (status != 0)
        throw Failure(fmt::format("a fresh process failed ({}): {}",
                                  status < 0 ? "by a signal" : fmt::format("exit {}", status), text));
    return text;
}

std::uint64_t fresh_bits(std::string_view text, DType dtype, Method method, const Device& device) {
    const std::string wanted = fmt::format("{} {} {} 0x", name(dtype), name(method), name_of(device));
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = text.substr(at, end - at);
        at = end + 1;
        if (!line.starts_with(wanted)) continue;
        std::uint64_t bits = 0;
        const char* const last = line.data() + line.size();
        const auto [stop, error] = std::from_chars(line.data() + wanted.size(), last, bits, 16);
        if (error == std::errc{} && stop == last) return bits;
    }
    throw Failure(fmt::format("a fresh process said nothing about '{}'", wanted));
}

} // namespace detreduce::report
