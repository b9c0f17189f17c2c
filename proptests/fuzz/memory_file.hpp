// Files without a disk, for readers that take a path, and the law of such readers: a file and a
// stream of the same bytes hold the same.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

#include <input.hpp>

#include "failure.hpp"
#include "fuzz.hpp"

namespace detreduce::fuzz {

/// A file of /proc/self/fd; or, as standard input that was read before, a stream, whose size nobody
/// knows.
class MemoryFile {
  public:
    /// `extension`: for readers that look at the name, which is then that of a link in a folder of
    /// this process.
    explicit MemoryFile(std::string_view extension = "")
        : descriptor_(::memfd_create("fuzz", 0)), path_("/proc/self/fd/" + std::to_string(descriptor_)) {
        require(descriptor_ >= 0, "there is memory for a file");
        if (extension.empty()) return;
        std::string folder = (std::filesystem::temp_directory_path() / "detreduce-fuzz-XXXXXX").string();
        require(::mkdtemp(folder.data()) != nullptr, "there is a temporary folder");
        folder_ = folder;
        const std::filesystem::path link = folder_ / ("link" + std::string(extension));
        std::filesystem::create_symlink(path_, link);
        path_ = link.string();
    }
    ~MemoryFile() {
        ::close(descriptor_);
        std::error_code ignored;
        if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
    }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;

    /// The path of a file of these bytes.
    [[nodiscard]] const std::string& file(std::string_view bytes) {
        put(bytes, 0);
        return path_;
    }
    /// The path of a stream of these bytes.
    [[nodiscard]] std::string stream(std::string_view bytes) {
        put(bytes, 1);
        ::lseek(descriptor_, 1, SEEK_SET);
        require(::dup2(descriptor_, STDIN_FILENO) == STDIN_FILENO, "standard input can be replaced");
        return "-";
    }

  private:
    void put(std::string_view bytes, ::off_t at) {
        const auto size = static_cast<::off_t>(bytes.size());
        const bool written =
            ::ftruncate(descriptor_, at + size) == 0 && ::pwrite(descriptor_, bytes.data(), bytes.size(), at) == size;
        require(written, "there is memory for the bytes");
    }

    int descriptor_;
    std::string path_;
    std::filesystem::path folder_;
};

/// read(), or nothing where it throws a Failure, which must say something.
template <class Read>
auto result_of(const Read& read) -> std::optional<decltype(read())> {
    try {
        return read();
    } catch (const program::Failure& failure) {
        require(*failure.what() != '\0', "a failure says what failed");
        return std::nullopt;
    }
}

/// Puts the blocks of a file together again.
class Collected : public program::Sink {
  public:
    [[nodiscard]] std::byte* buffer() override {
        static std::byte* const block = new (std::align_val_t{64}) std::byte[block_bytes];
        return last_ = block;
    }
    void add(DType dtype, std::uint64_t n) override {
        require(n > 0 && n <= block_bytes / size_of(dtype), "a block holds what is said to be in it");
        bytes.append(reinterpret_cast<const char*>(last_), n * size_of(dtype));
    }
    std::string bytes;

  private:
    std::byte* last_ = nullptr;
};

/// The elements' bytes.
inline std::string bytes_of(const program::Numbers& numbers) {
    if (numbers.n == 0) return "";
    const auto address = reinterpret_cast<std::uintptr_t>(numbers.data);
    require(address % size_of(numbers.dtype) == 0, "elements are aligned");
    return {static_cast<const char*>(numbers.data), numbers.n * size_of(numbers.dtype)};
}

/// The law: all at once or poured, of a file or a stream, these bytes are the same elements, or
/// fail. open(path) gives a NumberFile.
template <class Open>
std::optional<std::string> require_one_reading(MemoryFile& memory, std::string_view bytes, int way, const Open& open) {
    const auto all = [&](const std::string& path) { return bytes_of(open(path)->all()); };
    const auto poured = [&](const std::string& path) {
        Collected sink;
        open(path)->pour_into(sink);
        return sink.bytes;
    };
    const auto first = result_of([&] { return all(memory.file(bytes)); });
    switch (way) {
    case 0:
        require(first == result_of([&] { return poured(memory.file(bytes)); }), "a file poured is the file");
        break;
    case 1:
        require(first == result_of([&] { return all(memory.stream(bytes)); }), "a stream is the file");
        break;
    case 2:
        require(first == result_of([&] { return poured(memory.stream(bytes)); }), "a stream poured is the file");
        break;
    default:
        break;
    }
    return first;
}

} // namespace detreduce::fuzz
