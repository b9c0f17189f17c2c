// Another program, and what it is told and says, line by line or all at once. Nothing else starts
// programs.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "files.hpp"

namespace detreduce::report {

/// Where PATH has a program, or why it is not used.
struct FoundProgram {
    std::string path;
    std::string why_not; ///< "was not found in PATH", …
};
/// Only folders with an absolute name that not everybody may write to are looked into: nobody gets
/// a program run by leaving one where we happen to be.
[[nodiscard]] FoundProgram find_program(const std::string& name);

/// The environment of programs that are not ours: PATH and LD_LIBRARY_PATH with such folders alone,
/// HOME, and LC_ALL=C.
[[nodiscard]] std::vector<std::string> clean_environment();

/// Runs until it ends, is told to, or nobody wants it any more; no longer than we do.
class ChildProcess {
  public:
    struct Streams {
        int input = -1,
            errors = -1; ///< open files in place of write() and, for what it prints on standard error, of read()
    };
    /// words[0] is an absolute path. It starts in an empty folder of its own, with
    /// clean_environment(). Throws program::Failure when it cannot be started.
    explicit ChildProcess(std::vector<std::string> words);
    ChildProcess(std::vector<std::string> words, Streams streams);
    /// This program once more, with our environment and where we are.
    [[nodiscard]] static ChildProcess of_ourselves(std::vector<std::string> arguments);
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    /// What it printed until now, on standard output or error; false: nothing more will come. Waits
    /// for a tenth of a second.
    [[nodiscard]] bool read(std::string& text);

    /// All that it prints; nothing where it does not end within `patience`. `meanwhile` is called
    /// every tenth of a second.
    [[nodiscard]] std::optional<std::string> read_all(std::chrono::milliseconds patience,
                                                      const std::function<void()>& meanwhile);

    /// On its standard input; false: it reads no more.
    [[nodiscard]] bool write(std::string_view text);

    /// Its exit status, once it closed its output; -1: a signal ended it, ours if it stays for
    /// seconds.
    int wait();

  private:
    ChildProcess(std::vector<std::string> words, Streams streams, bool ourselves);
    std::optional<TemporaryDirectory> place_;
    pid_t id_ = -1;
    int end_ = -1; // ours of the pair of sockets
    std::optional<program::Leftover> leftover_;
};

} // namespace detreduce::report
