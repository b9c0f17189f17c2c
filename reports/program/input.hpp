// The numbers of a file, ready to be reduced. Every way in which a file can be wrong is a Failure of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <detreduce/types.hpp>

namespace detreduce::program {

enum class Format { npy, raw, text };

struct Numbers {
    DType dtype = DType::f64;
    std::uint64_t n = 0;
    const void* data = nullptr;        ///< n elements of dtype, aligned to the element
    std::shared_ptr<const void> owner; ///< keeps `data` alive
};

struct Bytes {
    const std::byte* data = nullptr;
    std::uint64_t size = 0;
    std::shared_ptr<const void> owner;
};

/// An open file; `-` is standard input. Closed when it goes away.
class InputFile {
  public:
    explicit InputFile(const std::string& path);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    /// How messages call it: `'data.npy'` or `standard input`.
    [[nodiscard]] const std::string& name() const { return name_; }

    /// Reads up to `size` bytes to `to`; 0 at the end.
    [[nodiscard]] std::size_t read(void* to, std::size_t size);

    /// All of it: mapped if it is a regular file, so that it may be larger than the memory; otherwise read.
    [[nodiscard]] Bytes bytes();

    /// Is it a regular file that nobody has read from? Only of such a file is the size known.
    [[nodiscard]] bool is_whole_file() const;

    /// The next `limit` bytes, or what is left: read, with memory for what came and not for what was promised.
    [[nodiscard]] Bytes read_up_to(std::uint64_t limit);

  private:
    [[nodiscard]] Bytes mapped(std::uint64_t size);
    int descriptor_ = -1;
    std::string name_;
};

/// Reads `path` as `format`. `dtype` is what the user said: needed for raw, f64 when absent for text, checked for npy.
[[nodiscard]] Numbers read_numbers(const std::string& path, Format format, std::optional<DType> dtype);

/// The readers behind it.
[[nodiscard]] Numbers read_npy(InputFile& file, std::optional<DType> dtype);
[[nodiscard]] Numbers read_raw(InputFile& file, DType dtype);
[[nodiscard]] Numbers read_text(InputFile& file, DType dtype);

/// The n elements that begin `offset` bytes into `bytes`: in place where they are aligned, else a copy.
[[nodiscard]] Numbers elements_of(const Bytes& bytes, std::uint64_t offset, DType dtype, std::uint64_t n);

/// Throws Failure when `bytes` more of memory cannot be had: better than being killed for it later.
void require_memory(std::uint64_t bytes);

} // namespace detreduce::program
