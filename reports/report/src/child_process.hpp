// Another program, and what it is told and says, line by line or all at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace detreduce::report {

/// Runs until it ends, is told to, or nobody wants it any more.
class ChildProcess {
  public:
    /// words[0] is a path, or a name to be found in PATH. Throws program::Failure when it cannot be started.
    explicit ChildProcess(std::vector<std::string> words);
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    /// What it printed until now, on standard output or error; false: nothing more will come. Waits for a tenth of a second.
    [[nodiscard]] bool read(std::string& text);

    /// On its standard input; false: it reads no more.
    [[nodiscard]] bool write(std::string_view text);

    /// Its exit status, once it closed its output; -1: a signal ended it.
    int wait();

  private:
    pid_t id_ = -1;
    int end_ = -1; // ours of the pair of sockets
};

} // namespace detreduce::report
