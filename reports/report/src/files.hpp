// Output directory and files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace detreduce::report {

/// Makes `dir` (and its parents) unless it is there, and finds out at once whether files can be written into it.
/// Throws program::Failure when not, so that nobody waits minutes for a measurement that cannot be saved.
void prepare_directory(const std::filesystem::path& dir);

/// A whole file. Throws program::Failure when it cannot be read.
[[nodiscard]] std::string read_file(const std::filesystem::path& file);

/// Writes a whole file: readers see the old one or the new one, never half of it.
void write_file(const std::filesystem::path& file, std::string_view text);

/// A directory of our own under the system's temporary directory, removed with everything in it.
class TemporaryDirectory {
  public:
    TemporaryDirectory();
    ~TemporaryDirectory();
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

} // namespace detreduce::report
