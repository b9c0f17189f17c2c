#include "files.hpp"

#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "failure.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace fs = std::filesystem;
namespace {

std::string words_of(int error) {
    return std::generic_category().message(error);
}

class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    explicit operator bool() const { return number_ >= 0; }
    [[nodiscard]] int number() const { return number_; }
    /// An error's number, or 0.
    [[nodiscard]] int close() { return ::close(std::exchange(number_, -1)) == 0 ? 0 : errno; }

  private:
    int number_;
};

// What is to be written: its name in a folder that is open.
struct Target {
    int folder;
    const std::string& name;
};

// The folder of a file, open, and the file's name in there.
struct Place {
    explicit Place(const fs::path& file)
        : folder(::open(file.has_parent_path() ? file.parent_path().c_str() : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
          error(folder ? 0 : errno), name(file.filename().native()) {}
    [[nodiscard]] Target target() const { return {folder.number(), name}; }
    Descriptor folder;
    int error;
    std::string name;
};

// What stands where a file is to be: why it may not be replaced, or its permissions.
struct Found {
    std::string why_not = {};
    std::optional<mode_t> mode = {}; // nothing: no file is there
};

Found look_at(const Target& target) {
    if (target.name.empty() || target.name == "." || target.name == "..") return {words_of(EISDIR)};
    struct stat info {};
    if (::fstatat(target.folder, target.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
        return {errno == ENOENT ? "" : words_of(errno)};
    if (S_ISDIR(info.st_mode)) return {words_of(EISDIR)};
    if (S_ISLNK(info.st_mode)) return {"it is a symbolic link, and links are not followed"};
    if (!S_ISREG(info.st_mode)) return {"it is not a regular file"};
    if ((info.st_mode & 0222) == 0) return {"it is read-only"}; // for root, too, who may do everything
    if (::faccessat(target.folder, target.name.c_str(), W_OK, AT_EACCESS) != 0) return {words_of(errno)};
    return {"", info.st_mode & 0777};
}

// A new file in `folder` with these bytes, on the disk; then it gets the name, too, or, without
// one, goes again. An error's number, or 0.
int write_beside(int folder, std::optional<mode_t> mode, std::string_view bytes, const char* name) {
    const std::string temporary = temporary_file_name();
    const Leftover leftover(Leftover::a_file, temporary, folder);
    Descriptor file(::openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                             mode ? 0600 : 0666)); // the latter without what umask forbids
    if (!file) return errno;
    int error = mode && ::fchmod(file.number(), *mode) != 0 ? errno : 0;
    if (error == 0) error = write_all(file.number(), bytes);
    if (error == 0 && name && ::fsync(file.number()) != 0)
        error = errno; // or a crash could leave the name without bytes
    if (const int closing = file.close(); error == 0) error = closing;
    if (error == 0 && name && ::renameat(folder, temporary.c_str(), folder, name) != 0) error = errno;
    if (error != 0 || !name) ::unlinkat(folder, temporary.c_str(), 0);
    if (error == 0 && name) ::fsync(folder); // the name; not every file system can
    return error;
}

// Why it could not be written, or nothing.
std::string try_to_write(const Target& target, std::string_view bytes) {
    const Found found = look_at(target);
    if (!found.why_not.empty()) return found.why_not;
    const int error = write_beside(target.folder, found.mode, bytes, target.name.c_str());
    return error == 0 ? "" : words_of(error);
}

std::string why_not_writable(const Target& target) {
    if (std::string why = look_at(target).why_not; !why.empty()) return why;
    return ::faccessat(target.folder, ".", W_OK | X_OK, AT_EACCESS) == 0 ? "" : words_of(errno);
}

void fail_unless(const std::string& why_not, const std::string& file) {
    if (!why_not.empty()) throw Failure(fmt::format("{}: cannot be written ({})", file, why_not));
}

[[noreturn]] void refuse_temporary(const fs::path& base, const std::string& why) {
    throw Failure(fmt::format("no temporary directory can be made under {} ({}); set TMPDIR to a writable one",
                              in_quotes(base.string()), why));
}

fs::path new_temporary_path() {
    std::error_code error;
    const fs::path base = fs::temp_directory_path(error);
    if (error) {
        const char* const wanted =
            std::getenv("TMPDIR"); // what fs::temp_directory_path() looked at, but for three names that nobody uses
        refuse_temporary(wanted != nullptr ? wanted : "/tmp", error.message());
    }
    const fs::path whole = fs::absolute(base, error); // TMPDIR may be a relative path
    static const bool swept = (remove_stale_folders(whole), true);
    (void)swept;
    return whole / unguessable_name();
}

[[noreturn]] void refuse(const fs::path& dir, const std::string& why) {
    throw Failure(fmt::format("--out {}: {}", dir.string(), why));
}

} // namespace

int write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno != EINTR) return errno;
        if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

OutputDirectory::OutputDirectory(const fs::path& dir) : path_(dir) {
    std::error_code error;
    if (fs::exists(dir, error) && !fs::is_directory(dir, error))
        refuse(dir, "exists and is not a directory; name a directory, new or existing");
    fs::create_directories(dir, error);
    if (error) refuse(dir, fmt::format("cannot be created ({})", error.message()));
    descriptor_ = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::string another = "; name a directory that you may write to";
    if (descriptor_ < 0) refuse(dir, fmt::format("cannot be written to ({}){}", words_of(errno), another));
    try {
        // A file system that knows no locks of folders goes without.
        if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
            refuse(dir, "another detreduce is writing into it; wait until it has ended, or name another directory");
        remove_stale_files(descriptor_);
        if (const int why = write_beside(descriptor_, {}, "x", nullptr); why != 0)
            refuse(dir, fmt::format("cannot be written to ({}){}", words_of(why), another));
    } catch (...) {
        ::close(descriptor_);
        throw;
    }
}

OutputDirectory::~OutputDirectory() {
    ::close(descriptor_);
}

void OutputDirectory::write(const std::string& name, std::string_view bytes) const {
    fail_unless(try_to_write({descriptor_, name}, bytes), path_of(name));
}

void OutputDirectory::require_writable(const std::string& name) const {
    fail_unless(why_not_writable(Target{descriptor_, name}), path_of(name));
}

std::vector<std::string> OutputDirectory::names() const {
    return names_in(descriptor_);
}

void OutputDirectory::require_in_place() const {
    struct stat ours {
    }, there{};
    if (::fstat(descriptor_, &ours) == 0 && ::stat(path_.c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
        ours.st_ino == there.st_ino)
        return;
    refuse(path_, "the folder was moved, removed or replaced meanwhile; the files are in the one that was there at "
                  "the beginning");
}

std::string read_file(const fs::path& file) {
    const auto fail = [&](const std::string& why) { throw Failure(fmt::format("{}: {}", file.string(), why)); };
    const Descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)); // a pipe would wait for a writer
    if (!in) fail(fmt::format("cannot be opened ({})", words_of(errno)));
    struct stat info {};
    if (::fstat(in.number(), &info) != 0) fail(fmt::format("cannot be read ({})", words_of(errno)));
    if (S_ISDIR(info.st_mode)) fail("is a directory, not a file");
    if (!S_ISREG(info.st_mode)) fail("is not a regular file; allowed are regular files only");
    const auto fail_if_large = [&](std::uint64_t bytes) {
        if (bytes > largest_file)
            fail(fmt::format("holds more than {} MiB; allowed are up to that", largest_file >> 20));
    };
    fail_if_large(static_cast<std::uint64_t>(info.st_size));
    std::string text(static_cast<std::size_t>(info.st_size) + 1, '\0'); // one more to see the end
    for (std::size_t size = 0;;) {
        const ssize_t got = ::read(in.number(), text.data() + size, text.size() - size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail(fmt::format("cannot be read ({})", words_of(errno)));
        size += static_cast<std::size_t>(got);
        fail_if_large(size);
        if (got == 0) {
            text.resize(size);
            return text;
        }
        if (size == text.size()) text.resize(2 * size + 4096); // it grows, or does not say how large it is
    }
}

bool may_exist(const fs::path& file) noexcept {
    struct stat info {};
    return ::stat(file.c_str(), &info) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

std::string why_not_writable(const fs::path& file) {
    const Place place(file);
    return place.folder ? why_not_writable(place.target()) : words_of(place.error);
}

std::string try_to_write_file(const fs::path& file, std::string_view bytes) {
    const Place place(file);
    return place.folder ? try_to_write(place.target(), bytes) : words_of(place.error);
}

void write_file(const fs::path& file, std::string_view bytes) {
    fail_unless(try_to_write_file(file, bytes), file.string());
}

TemporaryDirectory::TemporaryDirectory() : path_(new_temporary_path()), leftover_(Leftover::an_empty_folder, path_) {
    if (::mkdir(path_.c_str(), 0700) != 0) refuse_temporary(path_.parent_path(), words_of(errno));
}

TemporaryDirectory::~TemporaryDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

} // namespace detreduce::program
