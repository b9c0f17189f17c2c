#include "input.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "command.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

static_assert(std::endian::native == std::endian::little, "raw and .npy data are read as they lie in the file");

[[noreturn]] void fail_to_read(const std::string& name, int error) {
    throw Failure(fmt::format("cannot read {}: {}", name, std::generic_category().message(error)));
}

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

/// 0 for what has no size: a stream, a device, a file of /proc (regular and of size 0, whatever it holds), and a standard
/// input that was read before and so does not start at 0.
std::uint64_t size_of_whole_file(int descriptor, const std::string& name) {
    struct stat info {};
    if (::fstat(descriptor, &info) != 0) fail_to_read(name, errno);
    const bool whole = S_ISREG(info.st_mode) && ::lseek(descriptor, 0, SEEK_CUR) == 0;
    return whole ? static_cast<std::uint64_t>(info.st_size) : 0;
}

/// A mapped file that shrinks, or whose disk fails, raises SIGBUS in whatever code reads it.
extern "C" void on_bus_error(int) {
    static constexpr char text[] = "detreduce: the input file became shorter or unreadable while it was being read\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, sizeof text - 1);
    ::_exit(1);
}

} // namespace

InputFile::InputFile(const std::string& path) : name_(path == "-" ? "standard input" : in_quotes(path)) {
    descriptor_ = path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail_to_read(name_, errno);
}

InputFile::~InputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

std::size_t InputFile::read(void* to, std::size_t size) {
    for (;;) {
        const ssize_t got = ::read(descriptor_, to, size);
        if (got >= 0) return static_cast<std::size_t>(got);
        if (errno != EINTR) fail_to_read(name_, errno); // a directory fails here, with EISDIR
    }
}

bool InputFile::is_whole_file() const {
    return size_of_whole_file(descriptor_, name_) > 0;
}

Bytes InputFile::bytes() {
    const std::uint64_t size = size_of_whole_file(descriptor_, name_);
    return size > 0 ? mapped(size) : read_up_to(no_limit);
}

Bytes InputFile::mapped(std::uint64_t size) {
    void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor_, 0);
    if (start == MAP_FAILED) {
        if (errno == ENOMEM) throw Failure(fmt::format("not enough memory to map the {} bytes of {}", size, name_));
        return read_up_to(no_limit); // a file system that cannot map
    }
    std::signal(SIGBUS, on_bus_error);
    ::madvise(start, size, MADV_SEQUENTIAL);
    const std::shared_ptr<const void> owner(start, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
    return {static_cast<const std::byte*>(start), size, owner};
}

Bytes InputFile::read_up_to(std::uint64_t limit) {
    constexpr std::uint64_t first = std::uint64_t{1} << 20;
    auto buffer = std::make_shared<std::vector<std::byte>>(std::min(limit, first));
    std::uint64_t size = 0;
    while (size < limit) {
        if (size == buffer->size()) {
            const std::uint64_t grown = std::min(limit, 2 * size);
            require_memory(grown);
            buffer->resize(grown);
        }
        const std::size_t got = read(buffer->data() + size, buffer->size() - size);
        if (got == 0) break;
        size += got;
    }
    return {buffer->data(), size, buffer};
}

Numbers elements_of(const Bytes& bytes, std::uint64_t offset, DType dtype, std::uint64_t n) {
    const std::byte* const start = bytes.data + offset;
    if (n == 0 || reinterpret_cast<std::uintptr_t>(start) % size_of(dtype) == 0) return {dtype, n, start, bytes.owner};
    const std::uint64_t size = n * size_of(dtype);
    require_memory(size);
    auto copy = std::make_shared<std::vector<std::byte>>(start, start + size);
    return {dtype, n, copy->data(), copy};
}

Numbers read_raw(InputFile& file, DType dtype) {
    const Bytes bytes = file.bytes();
    if (bytes.size % size_of(dtype) != 0) {
        throw Failure(fmt::format("{} holds {} bytes, which is not a multiple of the {} bytes of {}", file.name(),
                                  bytes.size, size_of(dtype), name(dtype)));
    }
    return elements_of(bytes, 0, dtype, bytes.size / size_of(dtype));
}

Numbers read_numbers(const std::string& path, Format format, std::optional<DType> dtype) {
    InputFile file(path);
    switch (format) {
    case Format::npy:
        return read_npy(file, dtype);
    case Format::raw:
        return read_raw(file, dtype.value());
    case Format::text:
        return read_text(file, dtype.value_or(DType::f64));
    }
    throw Failure("unknown format");
}

} // namespace detreduce::program
