#include "state_file.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <detreduce/states.hpp>

#include "failure.hpp"
#include "files.hpp"
#include "input.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

[[noreturn]] void fail_to_write(const std::string& path, const std::string& why) {
    throw Failure(fmt::format("--save-state: cannot write {}: {}", in_quotes(path), why));
}
[[noreturn]] void fail_to_write(const std::string& path, int error) {
    fail_to_write(path, std::generic_category().message(error));
}

/// read(the bytes of the file), which says whether they are good.
template <class Read>
void read_state(const std::string& path, const Read& read) {
    InputFile file(path);
    const Bytes bytes = file.read_up_to(4096); // the longest has less
    if (const Status status = read(std::span<const std::byte>(bytes.data, bytes.size)); !status.ok())
        throw Failure(fmt::format("--add-state: {} {}", file.name(), status.allowed));
}

/// Refuses the state of another op or dtype than is asked for, in the words of the command line. Of
/// the state of a sum no dtype is known. Bytes that are no state are for others to refuse.
void require_state_of(const Request& asked, std::span<const std::byte> bytes, const std::string& name) {
    Request found;
    if (!serialized_request(bytes, found).ok()) return;
    const auto op_of = [](const Request& r) { return r.op == Op::mean ? Op::sum : r.op; };
    if (op_of(found) != op_of(asked)) {
        throw Failure(fmt::format("--add-state: {} is a state of {}, but --op is {}; both must be the same", name,
                                  detreduce::name(found.op), detreduce::name(asked.op)));
    }
    if (op_of(asked) != Op::sum && found.dtype != asked.dtype) {
        throw Failure(
            fmt::format("--add-state: {} is a state of {} elements, but FILE or --dtype has {}; both must be the same",
                        name, detreduce::name(found.dtype), detreduce::name(asked.dtype)));
    }
}

ExactState load_state(const std::string& path, const Request& request) {
    ExactState state;
    read_state(path, [&](std::span<const std::byte> bytes) {
        require_state_of(request, bytes, in_quotes(path));
        Request found; // a plan's state of a mean has the words of a sum
        if (serialized_request(bytes, found).ok() && found.op == Op::mean && found.shape == Shape::flat)
            return deserialize(make_plan(found), bytes, state.words().data());
        return ExactState::deserialize(bytes, state);
    });
    return state;
}

[[noreturn]] void fail_beyond(const std::string& path, std::string_view others) {
    throw Failure(fmt::format("--add-state: {} and {} are too much for one state; allowed are 2^62 elements in all, "
                              "and sums below 2^1086",
                              in_quotes(path), others));
}

/// Throws Failure when `path` is the regular file `other`, by whatever name, which messages call
/// `name`.
void refuse_same(const std::string& path, const struct stat& other, std::string_view name) {
    struct stat info {};
    if (!S_ISREG(other.st_mode) || ::stat(path.c_str(), &info) != 0) return;
    if (info.st_dev != other.st_dev || info.st_ino != other.st_ino) return;
    throw Failure(fmt::format("--save-state: {} is the same file as {}; allowed are others, also those of --add-state",
                              in_quotes(path), name));
}

/// A pipe or a device takes bytes as they come.
bool is_stream(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode));
}

void write_to_stream(const std::string& path, std::string_view bytes) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) fail_to_write(path, errno);
    int error = write_all(descriptor, bytes);
    if (::close(descriptor) != 0 && error == 0) error = errno;
    if (error != 0) fail_to_write(path, error);
}

/// Links to files stay links: what they lead to is opened once, as any program that writes would,
/// so that the system may refuse, and its own path returned.
std::string path_without_links(const std::string& path) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return path;
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0 && errno == ENOENT) fail_to_write(path, "it is a symbolic link to a file that is not there");
    if (descriptor < 0) fail_to_write(path, errno);
    std::error_code error;
    const auto target = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", descriptor), error);
    ::close(descriptor);
    if (error) fail_to_write(path, "it is a symbolic link, and /proc does not say to where");
    return target.string();
}

} // namespace

ExactState load_states(const std::vector<std::string>& paths, const Request& request) {
    ExactState sum;
    for (const std::string& path : paths) {
        if (!sum.merge(load_state(path, request)).ok()) fail_beyond(path, "the states before it");
        sum.normalize();
    }
    return sum;
}

Request request_of_state(const std::string& path) {
    Request request;
    read_state(path, [&](std::span<const std::byte> bytes) { return serialized_request(bytes, request); });
    return request;
}

void add_state(const std::string& path, const Plan& plan, std::int64_t* states) {
    std::vector<std::int64_t> words(plan.state_words());
    read_state(path, [&](std::span<const std::byte> bytes) {
        require_state_of(plan.request(), bytes, in_quotes(path));
        return deserialize(plan, bytes, words.data());
    });
    if (!merge(plan, states, words.data()).ok()) fail_beyond(path, "the states before it");
}

void require_headroom(const ExactState& state, const std::vector<std::string>& paths) {
    // Files and pipes alone do not have as many numbers.
    if (state.is_beyond() && !paths.empty()) fail_beyond(paths.back(), "what is added to it");
}

void require_savable(const std::string& path) {
    if (is_stream(path)) return;
    if (const std::string why = why_not_writable(path_without_links(path)); !why.empty()) fail_to_write(path, why);
}

void require_apart(const std::string& path, const std::string& input) {
    struct stat info {};
    if (!input.empty() && (input == "-" ? ::fstat(STDIN_FILENO, &info) : ::stat(input.c_str(), &info)) == 0)
        refuse_same(path, info, input == "-" ? "standard input" : "FILE");
    if (::fstat(STDOUT_FILENO, &info) == 0) refuse_same(path, info, "standard output");
}

void save_state(const std::string& path, std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (is_stream(path)) return write_to_stream(path, text);
    const std::filesystem::path file = path_without_links(path);
    remove_stale_files(file.has_parent_path() ? file.parent_path() : ".");
    const std::string why = try_to_write_file(file, text);
    if (!why.empty()) fail_to_write(path, why);
}

} // namespace detreduce::program
