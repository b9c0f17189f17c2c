#include "interrupt.hpp"

#include <string_view>
#include <unistd.h>

namespace detreduce::report {
namespace {

volatile std::sig_atomic_t interrupted = 0;

// Only what POSIX allows in a handler. SA_RESETHAND has put the default back: the next one ends the program.
void note(int) {
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
    noting.sa_flags = static_cast<int>(SA_RESETHAND);
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
