// Files and folders, as a careful program writes and reads them: nothing half written, no link
// followed, nothing read without end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "leftovers.hpp"

namespace detreduce::program {

/// A folder for the files of one command: made, with its parents, unless it is there. While one
/// lives no other process has one of the same folder. A link to a folder is followed once, when
/// this is made: whatever gets the folder's name later, files go where they went before.
class OutputDirectory {
  public:
    /// Throws Failure where nothing can be written, so that nobody waits minutes for a measurement
    /// that cannot be saved, and where another process is writing.
    explicit OutputDirectory(const std::filesystem::path& dir);
    ~OutputDirectory();
    OutputDirectory(const OutputDirectory&) = delete;
    OutputDirectory& operator=(const OutputDirectory&) = delete;

    /// As write_file().
    void write(const std::string& name, std::string_view bytes) const;

    /// Throws the Failure that write() would, as far as it can be told before.
    void require_writable(const std::string& name) const;

    /// What is in it.
    [[nodiscard]] std::vector<std::string> names() const;

    /// Throws Failure where the folder has another name by now, or none: its files are not where
    /// they are looked for.
    void require_in_place() const;

    /// Of a file in it, for messages.
    [[nodiscard]] std::string path_of(const std::string& name) const { return (path_ / name).string(); }

  private:
    std::filesystem::path path_;
    int descriptor_;
};

inline constexpr std::uint64_t largest_file = std::uint64_t{256} << 20; ///< that read_file() takes, in bytes

/// A whole regular file of at most largest_file bytes. Throws Failure for any other.
[[nodiscard]] std::string read_file(const std::filesystem::path& file);

/// Is there anything of that name, or may there be? What cannot be looked at is for read_file() to
/// complain about.
[[nodiscard]] bool may_exist(const std::filesystem::path& file) noexcept;

/// Writes a whole file: readers see the old one or the new one, never half of it, also after a
/// crash. What is there must be a regular file with permission to write, which the new one takes
/// over; links are not followed. Throws Failure.
void write_file(const std::filesystem::path& file, std::string_view bytes);

/// The same; why it could not be done, or nothing.
[[nodiscard]] std::string try_to_write_file(const std::filesystem::path& file, std::string_view bytes);

/// Why that would be refused, as far as can be said before; or nothing.
[[nodiscard]] std::string why_not_writable(const std::filesystem::path& file);

/// To an open file, pipe or device; an error's number, or 0.
[[nodiscard]] int write_all(int descriptor, std::string_view bytes);

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
    Leftover leftover_;
};

} // namespace detreduce::program

namespace detreduce::report {

using program::OutputDirectory;
using program::read_file;
using program::TemporaryDirectory;
using program::write_file;

} // namespace detreduce::report
