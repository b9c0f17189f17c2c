// Ctrl-C (SIGINT) during minutes of measuring: the first is only noted, so that what was measured
// can be kept.
#pragma once

#include <csignal>

namespace detreduce::report {

/// While one lives, the first Ctrl-C is noted, and the second ends the program at once, but for one
/// within 20 ms, which is the same one. Where SIGINT is ignored, as in scripts that run in the
/// background, it stays ignored.
class NoteInterrupt {
  public:
    NoteInterrupt();
    ~NoteInterrupt();
    NoteInterrupt(const NoteInterrupt&) = delete;
    NoteInterrupt& operator=(const NoteInterrupt&) = delete;

    /// Was there one?
    [[nodiscard]] static bool noted() noexcept;

  private:
    struct sigaction before_ {};
};

} // namespace detreduce::report
