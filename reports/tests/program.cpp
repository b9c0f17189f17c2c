#include "program.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace program_test {

std::string program_path() {
    const char* elsewhere = std::getenv("DETREDUCE_PROGRAM");
    return elsewhere ? elsewhere : DETREDUCE_PROGRAM;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

namespace {

void redirect(int descriptor, const std::string& path, int flags) {
    const int fd = ::open(path.c_str(), flags, 0600);
    if (fd < 0 || ::dup2(fd, descriptor) < 0) ::_exit(126);
    ::close(fd);
}

struct Files {
    std::string in, out, err;
};

/// Standard output becomes a pipe whose reader is gone.
void break_output() {
    int ends[2];
    if (::pipe(ends) != 0 || ::dup2(ends[1], STDOUT_FILENO) < 0) ::_exit(126);
    ::close(ends[0]);
    ::close(ends[1]);
}

[[noreturn]] void become_program(std::vector<char*>& arguments, const Files& files, const Streams& streams,
                                 int pipe_end) {
    if (pipe_end >= 0) {
        ::dup2(pipe_end, STDIN_FILENO);
        ::close(pipe_end);
    } else {
        redirect(STDIN_FILENO, files.in, O_RDONLY);
    }
    redirect(STDOUT_FILENO, streams.output_file.empty() ? files.out : streams.output_file, O_WRONLY | O_CREAT);
    redirect(STDERR_FILENO, files.err, O_WRONLY | O_CREAT);
    if (streams.output_closed) ::close(STDOUT_FILENO);
    if (streams.output_is_broken_pipe) break_output();
    if (streams.memory_limit > 0) {
        const rlimit limit{streams.memory_limit, streams.memory_limit};
        ::setrlimit(RLIMIT_AS, &limit);
    }
    ::execv(streams.launcher.empty() ? program_path().c_str() : arguments.front(), arguments.data());
    ::_exit(127);
}

int exit_code(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool write_once(int fd, const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t written = ::write(fd, text.data() + at, std::min<std::size_t>(4096, text.size() - at));
        if (written <= 0) return false;
        at += static_cast<std::size_t>(written);
    }
    return true;
}

void write_all(int fd, const Streams& streams) {
    const auto before = std::signal(SIGPIPE, SIG_IGN); // a program that stops reading must not end the tests
    bool open = write_once(fd, streams.input_head);
    for (int i = 0; i < streams.input_repeats && open; ++i)
        open = write_once(fd, streams.input);
    std::signal(SIGPIPE, before); // a program started with it ignored would look better than it is
}

/// What a process has held at most so far; 0 where the system does not say.
std::uint64_t peak_bytes_of(pid_t process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
    return 0;
}

} // namespace

Outcome run_program(const std::vector<std::string>& arguments, const Streams& streams) {
    const TemporaryDirectory directory;
    const Files files{directory.write("in", streams.input), directory.path("out"), directory.path("err")};
    std::vector<std::string> words{streams.launcher};
    words.push_back(words.empty() ? "detreduce" : program_path());
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    int ends[2] = {-1, -1};
    if (streams.input_is_pipe && ::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("no process");
    Outcome outcome;
    if (child == 0) become_program(pointers, files, streams, ends[0]);
    if (streams.input_is_pipe) {
        ::close(ends[0]);
        write_all(ends[1], streams);
        outcome.peak_bytes = peak_bytes_of(child);
        ::close(ends[1]);
    }
    outcome.code = exit_code(child);
    outcome.out = read_file(files.out);
    outcome.err = read_file(files.err);
    return outcome;
}

Outcome reduce_text(const std::string& text, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"reduce", "-"});
    Streams streams;
    streams.input = text;
    return run_program(arguments, streams);
}

bool is_clean_failure(const Outcome& o) {
    const auto lines = std::count(o.err.begin(), o.err.end(), '\n');
    return o.code == 1 && o.out.empty() && lines == 1 && o.err.back() == '\n' && o.err.starts_with("detreduce: ");
}

bool is_usage_error(const Outcome& o) {
    const auto lines = std::count(o.err.begin(), o.err.end(), '\n');
    return o.code == 2 && o.out.empty() && lines == 2 && o.err.starts_with("detreduce: ") &&
           o.err.find("\nTry: ") != std::string::npos;
}

TemporaryDirectory::TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "detreduce-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryDirectory::write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path(name);
}

std::string npy_header(const std::string& descr, const std::string& shape, bool fortran) {
    return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape +
           ", }";
}

std::string npy_file(const std::string& header, const std::string& data, int major) {
    const std::size_t length_size = major == 1 ? 2 : 4;
    std::string padded = header;
    while ((8 + length_size + padded.size() + 1) % 64 != 0)
        padded += ' ';
    padded += '\n';
    std::string file = "\x93NUMPY";
    file += static_cast<char>(major);
    file += '\0';
    for (std::size_t i = 0; i < length_size; ++i)
        file += static_cast<char>(padded.size() >> (8 * i) & 0xff);
    return file + padded + data;
}

} // namespace program_test
