#include "state_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "failure.hpp"
#include "input.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

using Blob = std::array<std::byte, ExactState::serialized_bytes>;

[[noreturn]] void fail_to_write(const std::string& path, int error) {
    throw Failure(
        fmt::format("--save-state: cannot write {}: {}", in_quotes(path), std::generic_category().message(error)));
}

ExactState load_state(const std::string& path) {
    InputFile file(path);
    const Bytes blob = file.read_up_to(ExactState::serialized_bytes + 1); // one more tells that it is longer
    ExactState state;
    if (const Status status = ExactState::deserialize({blob.data, blob.size}, state); !status.ok())
        throw Failure(fmt::format("--add-state: {} {}", file.name(), status.allowed));
    return state;
}

[[noreturn]] void fail_beyond(const std::string& path, std::string_view others) {
    throw Failure(fmt::format("--add-state: {} and {} are too much for one state; allowed are 2^62 elements in all, "
                              "and sums below 2^1086",
                              in_quotes(path), others));
}

/// Writes the blob and closes the file; an error's number, or 0.
int write_and_close(int descriptor, const Blob& blob, bool to_disk) {
    int error = 0;
    for (std::size_t at = 0; at < blob.size() && error == 0;) {
        const ssize_t written = ::write(descriptor, blob.data() + at, blob.size() - at);
        if (written > 0) at += static_cast<std::size_t>(written);
        if (written < 0 && errno != EINTR) error = errno;
    }
    if (error == 0 && to_disk && ::fsync(descriptor) != 0)
        error = errno; // else a crash could leave the name without the bytes
    if (::close(descriptor) != 0 && error == 0) error = errno;
    return error;
}

void write_in_place(const std::string& path, const Blob& blob) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) fail_to_write(path, errno);
    if (const int error = write_and_close(descriptor, blob, false); error != 0) fail_to_write(path, error);
}

/// The permissions that a new file gets.
mode_t default_mode() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

void write_and_rename(const std::string& path, mode_t mode, const Blob& blob) {
    std::string temporary = path + ".XXXXXX";
    const int descriptor = ::mkstemp(temporary.data());
    if (descriptor < 0) fail_to_write(path, errno);
    ::fchmod(descriptor, mode);
    int error = write_and_close(descriptor, blob, true);
    if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
    if (error == 0) return;
    ::unlink(temporary.c_str());
    fail_to_write(path, error);
}

} // namespace

ExactState load_states(const std::vector<std::string>& paths) {
    ExactState sum;
    for (const std::string& path : paths) {
        if (!sum.merge(load_state(path)).ok()) fail_beyond(path, "the states before it");
        sum.normalize();
    }
    return sum;
}

void require_headroom(const ExactState& state, const std::vector<std::string>& paths) {
    if (state.is_beyond()) fail_beyond(paths.back(), "what is added to it");
}

void require_savable(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) fail_to_write(path, EISDIR);
    const std::string folder = std::filesystem::path(path).parent_path().string();
    if (::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0 && !S_ISCHR(info.st_mode) && !S_ISFIFO(info.st_mode))
        fail_to_write(path, errno);
}

void save_state(const std::string& path, const ExactState& state) {
    const Blob blob = state.serialize();
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return write_and_rename(path, default_mode(), blob);
    if (!S_ISREG(info.st_mode)) return write_in_place(path, blob);
    std::error_code error;
    const std::filesystem::path target = std::filesystem::canonical(path, error); // through links, which stay
    write_and_rename(error ? path : target.string(), info.st_mode & 0777, blob);
}

} // namespace detreduce::program
