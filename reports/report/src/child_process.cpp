#include "child_process.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "failure.hpp"

extern char** environ;

namespace detreduce::report {

using program::Failure;

ChildProcess::ChildProcess(std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int ends[2]; // sockets, because a write to a pipe without a reader is a signal
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        throw Failure(fmt::format("{} cannot be started: {}", words[0], std::strerror(errno)));
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) // the last says why it failed
        ::posix_spawn_file_actions_adddup2(&actions, ends[1], stream);
    const int error = ::posix_spawnp(&id_, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    end_ = ends[0];
    if (error == 0) return;
    ::close(end_);
    throw Failure(fmt::format("{} cannot be started: {}", words[0], std::strerror(error)));
}

ChildProcess::~ChildProcess() {
    if (id_ > 0) {
        ::kill(id_, SIGKILL);
        wait();
    }
    ::close(end_);
}

bool ChildProcess::read(std::string& text) {
    pollfd ready{end_, POLLIN, 0};
    if (::poll(&ready, 1, 100) <= 0) return true;
    char buffer[4096];
    const ssize_t got = ::recv(end_, buffer, sizeof buffer, 0);
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
}

bool ChildProcess::write(std::string_view text) {
    return ::send(end_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

int ChildProcess::wait() {
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR)
        ;
    id_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace detreduce::report
