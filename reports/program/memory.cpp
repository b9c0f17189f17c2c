// How much memory there is. Linux hands out more than it has and then kills whoever uses it, so bad_alloc comes too late;
// where nothing is known about the memory, bad_alloc is what is left.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "failure.hpp"
#include "input.hpp"

namespace detreduce::program {
namespace {

constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();

std::uint64_t available_of_machine() {
    std::ifstream file("/proc/meminfo");
    std::string key, unit;
    std::uint64_t kib = 0;
    while (file >> key >> kib) {
        if (key == "MemAvailable:") return kib * 1024;
        std::getline(file, unit);
    }
    return unknown;
}

/// The limit of a container, not what is left of it: that includes file caches, which make room when asked.
std::uint64_t limit_of_container() {
    for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        std::uint64_t bytes = 0;
        if (std::ifstream(path) >> bytes) return bytes;
    }
    return unknown;
}

} // namespace

void require_memory(std::uint64_t bytes) {
    constexpr std::uint64_t small = std::uint64_t{64} << 20; // not worth a look at three files
    if (bytes <= small) return;
    const std::uint64_t available = std::min(available_of_machine(), limit_of_container());
    if (bytes <= available) return;
    throw Failure(fmt::format("not enough memory: {} bytes are needed and {} are available", bytes, available));
}

} // namespace detreduce::program
