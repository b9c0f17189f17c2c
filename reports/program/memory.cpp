// How much memory there is. Linux hands out more than it has and then kills whoever uses it, so
// bad_alloc comes too late; where nothing is known about the memory, bad_alloc is what remains.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

#include <sys/mman.h>

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

/// The limit of a container, not what remains of it: that includes file caches, which make room
/// when asked.
std::uint64_t limit_of_container() {
    for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        std::uint64_t bytes = 0;
        if (std::ifstream(path) >> bytes) return bytes;
    }
    return unknown;
}

} // namespace

void require_memory(std::uint64_t bytes, std::uint64_t already) {
    constexpr std::uint64_t small = std::uint64_t{64} << 20; // not worth a look at three files
    if (bytes <= small) return;
    const std::uint64_t machine = available_of_machine();
    const std::uint64_t available =
        std::min(machine > unknown - already ? unknown : machine + already, limit_of_container());
    if (bytes <= available) return;
    throw Failure(fmt::format("not enough memory: {} bytes are needed and {} are available", bytes, available));
}

GrowingBuffer::~GrowingBuffer() {
    if (data_ != nullptr) ::munmap(data_, size_);
}

void GrowingBuffer::grow(std::uint64_t size) {
    if (size <= size_) return;
    constexpr std::uint64_t page = 4096, most = std::uint64_t{1} << 62;
    if (size > most) throw Failure(fmt::format("not enough memory for {} bytes", size));
    const std::uint64_t rounded = (size + page - 1) / page * page;
    require_memory(rounded, size_);
    void* const at = data_ == nullptr
                         ? ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                         : ::mremap(data_, size_, rounded, MREMAP_MAYMOVE);
    if (at == MAP_FAILED) throw Failure(fmt::format("not enough memory for {} bytes", rounded));
    data_ = static_cast<std::byte*>(at);
    size_ = rounded;
}

} // namespace detreduce::program
