#include "input.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <detreduce/plan.hpp>

#include "failure.hpp"
#include "npz.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

static_assert(std::endian::native == std::endian::little, "raw and .npy data are read as they lie in the file");

[[noreturn]] void fail_to_read(const std::string& name, int error) {
    throw Failure(fmt::format("cannot read {}: {}", name, std::generic_category().message(error)));
}

/// 0 for what has no size: a stream, a device, a file of /proc (regular and of size 0, whatever it
/// holds), and a standard input that was read before and so does not start at 0.
std::uint64_t size_of_whole_file(int descriptor, const std::string& name) {
    struct stat info {};
    if (::fstat(descriptor, &info) != 0) fail_to_read(name, errno);
    const bool whole = S_ISREG(info.st_mode) && ::lseek(descriptor, 0, SEEK_CUR) == 0;
    return whole ? static_cast<std::uint64_t>(info.st_size) : 0;
}

/// What memory for `size` bytes becomes when there are more: an eighth larger, as it is not copied.
std::uint64_t grown_size(std::uint64_t size, std::uint64_t limit) {
    constexpr std::uint64_t first = std::uint64_t{1} << 16; // a short stream takes no more
    return std::min(limit, size + std::max(first, size / 8));
}

constexpr std::string_view cut_short = "the input file became shorter or unreadable while it was being read";

/// A mapped file that shrinks, or whose disk fails, raises SIGBUS in whatever code reads it.
extern "C" void on_bus_error(int) {
    for (const std::string_view text : {std::string_view("detreduce: "), cut_short, std::string_view("\n")}) {
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    }
    ::_exit(1);
}

} // namespace

std::size_t ByteSource::read_fully(void* to, std::size_t size) {
    std::size_t done = 0;
    while (done < size) {
        const std::size_t got = read(static_cast<std::byte*>(to) + done, size - done);
        if (got == 0) break;
        done += got;
    }
    return done;
}

Bytes ByteSource::read_up_to(std::uint64_t limit) {
    const auto buffer = std::make_shared<GrowingBuffer>();
    std::uint64_t size = 0;
    while (size < limit) {
        if (size == buffer->size()) buffer->grow(grown_size(size, limit));
        const std::size_t got = read(buffer->data() + size, std::min(limit, buffer->size()) - size);
        if (got == 0) break;
        size += got;
    }
    return {buffer->data(), size, buffer};
}

void ByteSource::skip(std::uint64_t size) {
    std::byte block[4096];
    while (size > 0) {
        const std::size_t got = read(block, static_cast<std::size_t>(std::min<std::uint64_t>(size, sizeof block)));
        if (got == 0) return;
        size -= got;
    }
}

InputFile::InputFile(const std::string& path) : ByteSource(path == "-" ? "standard input" : in_quotes(path)) {
    descriptor_ = path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail_to_read(name(), errno);
    size_ = size_of_whole_file(descriptor_, name());
}

InputFile::~InputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<std::uint64_t> InputFile::bytes_left() const {
    if (size_ == 0) return std::nullopt;
    return size_ - std::min(size_, at_);
}

std::size_t InputFile::read(void* to, std::size_t size) {
    for (;;) {
        const ssize_t got = ::read(descriptor_, to, size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail_to_read(name(), errno); // a directory fails here, with EISDIR
        if (got == 0 && size > 0 && at_ < size_) throw Failure(std::string(cut_short));
        at_ += static_cast<std::uint64_t>(got);
        return static_cast<std::size_t>(got);
    }
}

void InputFile::skip(std::uint64_t size) {
    if (size_ == 0) return ByteSource::skip(size);
    if (::lseek(descriptor_, static_cast<off_t>(size), SEEK_CUR) < 0) fail_to_read(name(), errno);
    at_ += size;
}

Bytes InputFile::rest(std::uint64_t limit) {
    return size_ > 0 ? mapped() : read_up_to(limit);
}

Bytes InputFile::mapped() {
    const std::uint64_t size = size_;
    void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor_, 0);
    if (start == MAP_FAILED) {
        if (errno == ENOMEM) throw Failure(fmt::format("not enough memory to map the {} bytes of {}", size, name()));
        return read_up_to(no_limit); // a file system that cannot map
    }
    std::signal(SIGBUS, on_bus_error);
    ::madvise(start, size, MADV_SEQUENTIAL);
    const std::shared_ptr<const void> owner(start, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
    const std::uint64_t begin = std::min(size, at_);
    at_ = size;
    return {static_cast<const std::byte*>(start) + begin, size - begin, owner};
}

std::size_t MemoryBytes::read(void* to, std::size_t size) {
    const std::size_t got = std::min(size, left_.size());
    if (got > 0) std::memcpy(to, left_.data(), got);
    left_ = left_.subspan(got);
    return got;
}

Bytes MemoryBytes::rest(std::uint64_t) {
    const Bytes all{left_.data(), left_.size(), nullptr};
    left_ = {};
    return all;
}

Numbers NumberFile::all() {
    const std::uint64_t size = size_of(dtype());
    const auto buffer = std::make_shared<GrowingBuffer>();
    for (std::uint64_t n = 0;;) {
        if ((n + 1) * size > buffer->size()) buffer->grow(grown_size(n * size, ByteSource::no_limit));
        const std::uint64_t got = read(buffer->data() + n * size, buffer->size() / size - n);
        if (got == 0) return {dtype(), n, buffer->data(), buffer};
        n += got;
        require_countable(dtype(), n);
    }
}

void NumberFile::skip(std::uint64_t n) {
    const std::uint64_t most = Sink::block_bytes / size_of(dtype());
    std::vector<std::byte> block(Sink::block_bytes);
    while (n > 0) {
        const std::uint64_t got = read(block.data(), std::min(n, most));
        if (got == 0) return;
        n -= got;
    }
}

void NumberFile::pour_into(Sink& sink) {
    const std::uint64_t most = Sink::block_bytes / size_of(dtype());
    for (std::uint64_t n = 0;;) {
        const std::uint64_t got = read(sink.buffer(), most);
        if (got == 0) return;
        n += got;
        require_countable(dtype(), n);
        sink.add(dtype(), got);
    }
}

Numbers elements_of(const Bytes& bytes, DType dtype, std::uint64_t n) {
    const std::byte* const start = bytes.data;
    if (n == 0 || reinterpret_cast<std::uintptr_t>(start) % size_of(dtype) == 0) return {dtype, n, start, bytes.owner};
    const std::uint64_t size = n * size_of(dtype);
    require_memory(size);
    auto copy = std::make_shared<std::vector<std::byte>>(start, start + size);
    return {dtype, n, copy->data(), copy};
}

void require_countable(DType dtype, std::uint64_t n) {
    const Status status = make_plan({.dtype = dtype, .n = n, .device = cpu}).status();
    if (!status.ok()) throw Failure(to_string(status));
}

std::string lower_case_extension(const std::string& file) {
    const std::string base = file.substr(file.rfind('/') + 1); // npos + 1 is 0
    const std::size_t dot = base.rfind('.');
    std::string extension = dot == std::string::npos ? "" : base.substr(dot);
    for (char& c : extension)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return extension;
}

std::unique_ptr<NumberFile> open_numbers(std::unique_ptr<ByteSource> bytes, Format format, std::optional<DType> dtype,
                                         const Column& column) {
    switch (format) {
    case Format::npy:
    case Format::npz:
        return open_npy(std::move(bytes), dtype);
    case Format::raw:
        return open_raw(std::move(bytes), dtype.value());
    case Format::text:
        if (column.text.empty()) return open_text(std::move(bytes), dtype.value_or(DType::f64));
        return open_column(std::move(bytes), dtype.value_or(DType::f64), Fields::by_blanks, column);
    case Format::csv:
        return open_column(std::move(bytes), dtype.value_or(DType::f64), Fields::by_commas, column);
    }
    throw Failure("unknown format");
}

std::unique_ptr<NumberFile> open_numbers(const std::string& path, Format format, std::optional<DType> dtype,
                                         const Column& column) {
    auto bytes = format == Format::npz ? open_npz_member(path) : std::make_unique<InputFile>(path);
    return open_numbers(std::move(bytes), format, dtype, column);
}

} // namespace detreduce::program
