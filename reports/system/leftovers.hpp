// What must not stay behind: temporary files and folders, and processes, of a run that a signal
// ends, and files of runs that were killed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/types.h>

namespace detreduce::program {

/// While one lives, SIGINT, SIGTERM and SIGHUP remove what it names before they end this program,
/// where nobody else handles them.
class Leftover {
  public:
    enum Kind { nothing, being_written, a_file, an_empty_folder, a_process };
    /// By its absolute path, or its name in an open folder that is closed later than this ends.
    Leftover(Kind kind, const std::filesystem::path& path, int folder = AT_FDCWD)
        : Leftover(kind, path.native(), folder, -1) {}
    Leftover(Kind kind, pid_t id) : Leftover(kind, "", AT_FDCWD, id) {} ///< which is killed
    ~Leftover();
    Leftover(const Leftover&) = delete;
    Leftover& operator=(const Leftover&) = delete;

  private:
    Leftover(Kind kind, const std::string& path, int folder, pid_t id);
    int place_; // among those that the handler looks at; -1: there was none left
};

/// Removes everything that a Leftover names. For handlers of signals: it does only what POSIX
/// allows there.
void remove_leftovers() noexcept;

/// "detreduce-MACHINE-PROCESS-RANDOM": names that nobody can guess, and that tell later runs whose
/// they were.
[[nodiscard]] std::string unguessable_name();

/// The name of a temporary file, as remove_stale_files() knows it.
[[nodiscard]] std::string temporary_file_name();

/// Removes from `folder` the files (or folders) of this user with such names that were left there
/// by a process of this machine that has ended, or by one of another machine more than a day ago.
void remove_stale_files(int folder) noexcept; ///< which is open
void remove_stale_files(const std::filesystem::path& folder) noexcept;
void remove_stale_folders(const std::filesystem::path& folder) noexcept;

/// What is in an open folder, but for . and .., as far as it can be read.
[[nodiscard]] std::vector<std::string> names_in(int folder);

} // namespace detreduce::program
