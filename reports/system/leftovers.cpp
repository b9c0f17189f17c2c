#include "leftovers.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>

#include <dirent.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "failure.hpp"

namespace detreduce::program {
namespace fs = std::filesystem;
namespace {

struct Place {
    std::atomic<int> kind{Leftover::nothing};
    pid_t id = -1;
    int folder = AT_FDCWD; // where `path` begins
    char path[PATH_MAX] = "";
};
static_assert(std::atomic<int>::is_always_lock_free, "a handler of signals reads it");

std::array<Place, 16> places; // more than ever live at once; what finds none stays for those who remove what is stale

extern "C" void on_end(int signal) {
    remove_leftovers();
    ::signal(signal, SIG_DFL); // ends the program as soon as this has returned
    ::raise(signal);
}

// Each time, because others may have put back what was there before.
void watch_signals() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction now {};
        if (::sigaction(signal, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL)
            continue;
        struct sigaction ending {};
        ending.sa_handler = on_end;
        ::sigemptyset(&ending.sa_mask);
        ::sigaction(signal, &ending, nullptr);
    }
}

constexpr std::string_view prefix = "detreduce-", file_suffix = ".tmp";
constexpr std::time_t a_day = 86400;

// Processes of one machine (since it was started, and of one container) see each other.
std::uint32_t machine() {
    static const std::uint32_t hash = [] {
        std::string text;
        std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
        struct stat info {};
        if (::stat("/proc/self/ns/pid", &info) == 0) text += std::to_string(info.st_ino);
        std::uint32_t h = 2166136261u;
        for (const char c : text)
            h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
        return h;
    }();
    return hash;
}

std::uint64_t random_bits() {
    std::uint64_t bits = 0;
    while (::getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits))
        if (errno != EINTR) throw Failure(fmt::format("no random numbers can be had: {}", std::strerror(errno)));
    return bits;
}

struct Author {
    std::uint32_t machine = 0;
    pid_t id = 0;
};

template <class Number>
bool take(std::string_view& text, Number& value, int base, char end) {
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{}) return false;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    if (end == '\0') return text.empty();
    if (!text.starts_with(end)) return false;
    text.remove_prefix(1);
    return true;
}

// What unguessable_name() gave, of a name that temporary_file_name() gave; nothing of any other.
std::string_view file_stem(std::string_view name) {
    if (!name.starts_with('.') || !name.ends_with(file_suffix)) return {};
    return name.substr(1, name.size() - 1 - file_suffix.size());
}

// Of what unguessable_name() gave; nothing of any other name.
std::optional<Author> author_of(std::string_view name) {
    if (!name.starts_with(prefix)) return std::nullopt;
    name.remove_prefix(prefix.size());
    Author author;
    std::uint64_t random = 0;
    const bool ours = take(name, author.machine, 16, '-') && take(name, author.id, 10, '-') && name.size() == 16 &&
                      take(name, random, 16, '\0') && author.id > 0;
    return ours ? std::optional(author) : std::nullopt;
}

bool is_stale(const Author& author, std::time_t changed) {
    if (author.machine == machine()) return ::kill(author.id, 0) != 0 && errno == ESRCH;
    return std::time(nullptr) - changed > a_day;
}

// Is `name`, in `folder`, of that type, this user's, and left by one who is no more?
bool is_stale(int folder, const std::string& name, mode_t type) {
    const auto author = author_of(type == S_IFREG ? file_stem(name) : name);
    struct stat info {};
    return author && ::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && info.st_uid == ::geteuid() &&
           (info.st_mode & S_IFMT) == type && is_stale(*author, info.st_mtime);
}

int open_folder(const fs::path& path, int from = AT_FDCWD) {
    return ::openat(from, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

} // namespace

Leftover::Leftover(Kind kind, const std::string& path, int folder, pid_t id) : place_(-1) {
    watch_signals();
    if (path.size() >= PATH_MAX) return;
    for (std::size_t i = 0; i < places.size(); ++i) {
        int expected = nothing;
        if (!places[i].kind.compare_exchange_strong(expected, being_written)) continue;
        std::memcpy(places[i].path, path.c_str(), path.size() + 1);
        places[i].folder = folder;
        places[i].id = id;
        places[i].kind = kind;
        place_ = static_cast<int>(i);
        return;
    }
}

Leftover::~Leftover() {
    if (place_ >= 0) places[static_cast<std::size_t>(place_)].kind = nothing;
}

void remove_leftovers() noexcept {
    for (const Place& place : places) {
        const int kind = place.kind;
        if (kind == Leftover::a_file) ::unlinkat(place.folder, place.path, 0);
        if (kind == Leftover::an_empty_folder) ::unlinkat(place.folder, place.path, AT_REMOVEDIR);
        if (kind == Leftover::a_process) ::kill(place.id, SIGKILL);
    }
}

std::string unguessable_name() {
    return fmt::format("{}{:08x}-{}-{:016x}", prefix, machine(), ::getpid(), random_bits());
}

std::string temporary_file_name() {
    return fmt::format(".{}{}", unguessable_name(), file_suffix);
}

std::vector<std::string> names_in(int folder) {
    std::vector<std::string> names;
    const int own = open_folder(".", folder); // which has a place of its own in the list
    DIR* const list = own < 0 ? nullptr : ::fdopendir(own);
    if (list == nullptr) {
        if (own >= 0) ::close(own);
        return names;
    }
    while (const dirent* const entry = ::readdir(list)) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") names.emplace_back(name);
    }
    ::closedir(list);
    return names;
}

void remove_stale_files(int folder) noexcept {
    try {
        for (const std::string& name : names_in(folder))
            if (is_stale(folder, name, S_IFREG)) ::unlinkat(folder, name.c_str(), 0);
    } catch (...) { // not worth failing for
    }
}

void remove_stale_files(const fs::path& path) noexcept {
    const int folder = open_folder(path);
    if (folder < 0) return;
    remove_stale_files(folder);
    ::close(folder);
}

void remove_stale_folders(const fs::path& path) noexcept {
    const int folder = open_folder(path);
    if (folder < 0) return;
    try {
        std::error_code ignored;
        for (const std::string& name : names_in(folder))
            if (is_stale(folder, name, S_IFDIR)) fs::remove_all(path / name, ignored);
    } catch (...) { // as above
    }
    ::close(folder);
}

} // namespace detreduce::program
