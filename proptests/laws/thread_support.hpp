// Children, and threads that cannot be made.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace detreduce::proptests {

/// This program's pthread_create(), which the library's threads come through.
struct ThreadMaker {
    /// From now on so many more, then none.
    static void allow(int more);
    static int made();    ///< so far
    static int refused(); ///< so far
};

/// The exit status of a child that calls f: 0 where that gives true. One that hangs is ended, and has none: −1.
template <class F>
int status_of_child(const F& f) {
    const pid_t child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        alarm(120);
        _exit(f() ? 0 : 1);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
template <class F>
bool in_child(const F& f) {
    return status_of_child(f) == 0;
}

} // namespace detreduce::proptests
