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
    char path[PATH_MAX] = "";
};
static_assert(std::atomic<int>::is_always_lock_free, "a handler of signals reads it");

std::array<Place, 16> places; // more than ever live at once; what finds none stays for remove_stale()

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

// Of what unguessable_name() or temporary_file_name() gave; nothing of any other name.
std::optional<Author> author_of(std::string_view name, Stale what) {
    if (what == Stale::files) {
        if (!name.starts_with('.') || !name.ends_with(file_suffix)) return std::nullopt;
        name = name.substr(1, name.size() - 1 - file_suffix.size());
    }
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

void remove_if_stale(const fs::path& path, Stale what) {
    const auto author = author_of(path.filename().native(), what);
    struct stat info {};
    if (!author || ::lstat(path.c_str(), &info) != 0 || info.st_uid != ::geteuid() || !is_stale(*author, info.st_mtime))
        return;
    std::error_code ignored;
    if (what == Stale::files && S_ISREG(info.st_mode)) ::unlink(path.c_str());
    if (what == Stale::folders && S_ISDIR(info.st_mode)) fs::remove_all(path, ignored);
}

} // namespace

Leftover::Leftover(Kind kind, const std::string& path, pid_t id) : place_(-1) {
    watch_signals();
    if (path.size() >= PATH_MAX) return;
    for (std::size_t i = 0; i < places.size(); ++i) {
        int expected = nothing;
        if (!places[i].kind.compare_exchange_strong(expected, being_written)) continue;
        std::memcpy(places[i].path, path.c_str(), path.size() + 1);
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
        if (kind == Leftover::a_file) ::unlink(place.path);
        if (kind == Leftover::an_empty_folder) ::rmdir(place.path);
        if (kind == Leftover::a_process) ::kill(place.id, SIGKILL);
    }
}

std::string unguessable_name() {
    return fmt::format("{}{:08x}-{}-{:016x}", prefix, machine(), ::getpid(), random_bits());
}

std::string temporary_file_name() {
    return fmt::format(".{}{}", unguessable_name(), file_suffix);
}

void remove_stale(const fs::path& folder, Stale what) noexcept {
    try {
        std::error_code error;
        for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
            remove_if_stale(at->path(), what);
    } catch (...) { // not worth failing for
    }
}

} // namespace detreduce::program
