// Children; threads that cannot be made, and memory that cannot be had; and how much of a stack was
// used.
#pragma once

#include <cstddef>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace detreduce::proptests {

/// This program's pthread_create(), which the library's threads come through.
struct ThreadMaker {
    /// From now on so many more, then none.
    static void allow(int more);
    static int made();    ///< so far
    static int refused(); ///< so far
    /// From now on threads get stacks that can be looked at. For good.
    static void paint_stacks();
    /// What each of these has used.
    static std::vector<std::size_t> stacks_used();
};

/// Memory that is asked for without exceptions: the library's.
struct Allocations {
    static void refuse(bool all);
    static int count();
};

/// The stack of a thread, which is full of one byte at first.
class PaintedStack {
  public:
    PaintedStack();
    ~PaintedStack();
    PaintedStack(const PaintedStack&) = delete;
    PaintedStack& operator=(const PaintedStack&) = delete;

    [[nodiscard]] void* bottom() const { return bottom_; }
    static constexpr std::size_t size = std::size_t{128} << 10;

    /// f() in a thread of its own.
    template <class F>
    void run(const F& f) {
        start(
            [](void* g) -> void* {
                (*static_cast<const F*>(g))();
                return nullptr;
            },
            const_cast<F*>(&f));
    }
    /// Bytes, with those of the thread itself.
    [[nodiscard]] std::size_t used() const;
    void paint_again();
    static std::size_t used_by_nothing();

  private:
    void start(void* (*f)(void*), void* argument);
    unsigned char* bottom_;
};

/// The exit status of a child that calls f: 0 where that gives true. One that hangs is ended, and
/// has none: −1.
template <class F>
int status_of_child(const F& f) {
    const pid_t child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        alarm(300);
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
