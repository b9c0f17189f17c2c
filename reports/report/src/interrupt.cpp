#include "interrupt.hpp"

#include <ctime>
#include <string_view>

#include <unistd.h>

#include "leftovers.hpp"

namespace detreduce::report {
namespace {

volatile std::sig_atomic_t interrupted = 0;
timespec first{}; // written before `interrupted` is

// `timeout -s INT` sends two: to the program and to its group.
constexpr long one_press_ms = 20;

long ms_since(const timespec& then) {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<long>(now.tv_sec - then.tv_sec) * 1000 + (now.tv_nsec - then.tv_nsec) / 1000000;
}

// Only what POSIX allows in a handler.
void note(int) {
    if (interrupted != 0) {
        if (ms_since(first) < one_press_ms) return;
        program::remove_leftovers();
        ::signal(SIGINT, SIG_DFL); // ends the program as soon as this has returned
        ::raise(SIGINT);
        return;
    }
    ::clock_gettime(CLOCK_MONOTONIC, &first);
    interrupted = 1;
    constexpr std::string_view text = "\nCtrl-C: writing what was measured so far; once more ends at once\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

} // namespace

NoteInterrupt::NoteInterrupt() {
    ::sigaction(SIGINT, nullptr, &before_);
    if (before_.sa_handler == SIG_IGN) return;
    struct sigaction noting {};
    noting.sa_handler = note;
    ::sigemptyset(&noting.sa_mask);
    ::sigaction(SIGINT, &noting, nullptr);
}

NoteInterrupt::~NoteInterrupt() {
    ::sigaction(SIGINT, &before_, nullptr);
    interrupted = 0; // a later run of this process is not meant
}

bool NoteInterrupt::noted() noexcept {
    return interrupted != 0;
}

} // namespace detreduce::report
