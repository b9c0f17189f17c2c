// The numbers of a file: all of them at once, or block after block. Every way in which a file can
// be wrong is a Failure of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <detreduce/types.hpp>

namespace detreduce::program {

enum class Format { npy, npz, raw, text, csv };

struct Numbers {
    DType dtype = DType::f64;
    std::uint64_t n = 0;
    const void* data = nullptr;        ///< n elements of dtype, aligned to the element
    std::shared_ptr<const void> owner; ///< keeps `data` alive
};

/// The dimensions of an array, as NumPy has them, and how it lies in the file.
struct Layout {
    std::vector<std::uint64_t> shape;
    bool fortran = false; ///< the first index is the fastest
    friend bool operator==(const Layout&, const Layout&) = default;
};

struct Bytes {
    const std::byte* data = nullptr;
    std::uint64_t size = 0;
    std::shared_ptr<const void> owner;
};

/// Where numbers go that are read block after block.
class Sink {
  public:
    static constexpr std::size_t block_bytes = std::size_t{8} << 20;
    Sink() = default;
    virtual ~Sink() = default;
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;
    /// Memory for the next block: block_bytes bytes, aligned to every element.
    [[nodiscard]] virtual std::byte* buffer() = 0;
    /// Takes the first n elements of what buffer() gave last.
    virtual void add(DType dtype, std::uint64_t n) = 0;
};

/// Bytes that come one after the other: of a file, of memory, of a member of an archive.
class ByteSource {
  public:
    static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

    virtual ~ByteSource() = default;
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;

    /// How messages call it: `'data.npy'` or `standard input`.
    [[nodiscard]] const std::string& name() const { return name_; }

    /// The bytes that remain; nothing when nobody knows, as of a stream.
    [[nodiscard]] virtual std::optional<std::uint64_t> bytes_left() const { return std::nullopt; }

    /// Reads up to `size` bytes to `to`; 0 at the end, and for a size of 0. Throws Failure, also
    /// where the end comes before its time.
    [[nodiscard]] virtual std::size_t read(void* to, std::size_t size) = 0;

    /// The same, but fewer than `size` bytes only at the end.
    [[nodiscard]] std::size_t read_fully(void* to, std::size_t size);

    /// The next `limit` bytes, or what remains: read once, with memory for what came and not for
    /// what was promised.
    [[nodiscard]] Bytes read_up_to(std::uint64_t limit);

    /// All that remains: in place where it lies in memory or can be mapped, so that it may be
    /// larger than the memory; otherwise read, up to `limit` bytes.
    [[nodiscard]] virtual Bytes rest(std::uint64_t limit = no_limit) { return read_up_to(limit); }

    /// Passes over the next `size` bytes, which must be there.
    virtual void skip(std::uint64_t size);

  protected:
    explicit ByteSource(std::string name) : name_(std::move(name)) {}

  private:
    std::string name_;
};

/// An open file; `-` is standard input. Closed when it goes away.
class InputFile : public ByteSource {
  public:
    explicit InputFile(const std::string& path);
    ~InputFile() override;
    [[nodiscard]] std::optional<std::uint64_t> bytes_left() const override;
    [[nodiscard]] std::size_t read(void* to, std::size_t size) override;
    [[nodiscard]] Bytes rest(std::uint64_t limit = no_limit) override;
    void skip(std::uint64_t size) override;

  private:
    [[nodiscard]] Bytes mapped();
    int descriptor_ = -1;
    std::uint64_t size_ = 0; ///< 0: not known
    std::uint64_t at_ = 0;   ///< bytes that were read
};

/// Bytes in memory, which must outlive it.
class MemoryBytes : public ByteSource {
  public:
    MemoryBytes(std::string name, std::span<const std::byte> bytes) : ByteSource(std::move(name)), left_(bytes) {}
    [[nodiscard]] std::optional<std::uint64_t> bytes_left() const override { return left_.size(); }
    [[nodiscard]] std::size_t read(void* to, std::size_t size) override;
    [[nodiscard]] Bytes rest(std::uint64_t limit = no_limit) override;

  private:
    std::span<const std::byte> left_;
};

/// Memory that grows without being copied: by its pages, which cost nothing before they are written
/// to.
class GrowingBuffer {
  public:
    GrowingBuffer() = default;
    ~GrowingBuffer();
    GrowingBuffer(const GrowingBuffer&) = delete;
    GrowingBuffer& operator=(const GrowingBuffer&) = delete;
    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::uint64_t size() const { return size_; }
    /// To `size` bytes or more; what is in it stays, perhaps elsewhere. Throws Failure when there
    /// is not so much.
    void grow(std::uint64_t size);

  private:
    std::byte* data_ = nullptr;
    std::uint64_t size_ = 0;
};

/// A source of numbers of which the header, if it has one, has been read.
class NumberFile {
  public:
    NumberFile() = default;
    virtual ~NumberFile() = default;
    NumberFile(const NumberFile&) = delete;
    NumberFile& operator=(const NumberFile&) = delete;
    [[nodiscard]] virtual DType dtype() const = 0;
    /// Nothing where nobody knows of any dimensions.
    [[nodiscard]] virtual std::optional<Layout> layout() const { return std::nullopt; }
    /// Puts the next n numbers at `to`, fewer only at the end, which has been checked when 0 is
    /// returned. n ≥ 1. What came before a Failure is of no use.
    [[nodiscard]] virtual std::uint64_t read(void* to, std::uint64_t n) = 0;
    /// All numbers at once, before any was read: a mapped file where there is one, otherwise read
    /// into memory, once.
    [[nodiscard]] virtual Numbers all();
    /// How many there are, before any was read; nothing where nobody knows, as of a stream, or of
    /// text.
    [[nodiscard]] virtual std::optional<std::uint64_t> count() const { return std::nullopt; }
    /// Passes over the next n numbers, which must be there.
    virtual void skip(std::uint64_t n);
    /// Hands all numbers to `sink`, block after block. Nothing is kept.
    void pour_into(Sink& sink);
};

/// Which column of a table; an empty text stands for the only one.
struct Column {
    std::string text; ///< a number from 1, or a name in the first line
};

/// Opens `path` as `format`; of an .npz, `data.npz:x` is its member x. `dtype` is what the user
/// said: needed for raw, f64 when absent for text and csv, checked for npy, what integers are
/// converted to.
[[nodiscard]] std::unique_ptr<NumberFile> open_numbers(const std::string& path, Format format,
                                                       std::optional<DType> dtype, const Column& column = {});
/// The same of bytes, but of an .npz.
[[nodiscard]] std::unique_ptr<NumberFile> open_numbers(std::unique_ptr<ByteSource> bytes, Format format,
                                                       std::optional<DType> dtype, const Column& column = {});

/// What is behind it.
[[nodiscard]] std::unique_ptr<NumberFile> open_npy(std::unique_ptr<ByteSource> bytes, std::optional<DType> dtype);
/// The same of floats that can be taken as they lie in the file, in the order in which they do.
[[nodiscard]] std::unique_ptr<NumberFile> open_flat_npy(const std::string& path);
[[nodiscard]] std::unique_ptr<NumberFile> open_raw(std::unique_ptr<ByteSource> bytes, DType dtype);
[[nodiscard]] std::unique_ptr<NumberFile> open_text(std::unique_ptr<ByteSource> bytes, DType dtype);
/// One column of lines of fields: apart by commas, and in quotes where they must be, or by blanks.
enum class Fields { by_commas, by_blanks };
[[nodiscard]] std::unique_ptr<NumberFile> open_column(std::unique_ptr<ByteSource> bytes, DType dtype, Fields fields,
                                                      const Column& column);

/// The same of files.
[[nodiscard]] inline std::unique_ptr<NumberFile> open_npy(const std::string& path, std::optional<DType> dtype) {
    return open_npy(std::make_unique<InputFile>(path), dtype);
}
[[nodiscard]] inline std::unique_ptr<NumberFile> open_raw(const std::string& path, DType dtype) {
    return open_raw(std::make_unique<InputFile>(path), dtype);
}
[[nodiscard]] inline std::unique_ptr<NumberFile> open_text(const std::string& path, DType dtype) {
    return open_text(std::make_unique<InputFile>(path), dtype);
}

/// The n elements that `bytes` begins with: in place where they are aligned, else a copy.
[[nodiscard]] Numbers elements_of(const Bytes& bytes, DType dtype, std::uint64_t n);

/// Throws Failure when there are more elements than a sum may have.
void require_countable(DType dtype, std::uint64_t n);

/// Throws Failure when `bytes`, of which there are `already` some, cannot be had: better than being
/// killed for it later.
void require_memory(std::uint64_t bytes, std::uint64_t already = 0);

/// push_back() for vectors that may grow as long as a file.
template <class T>
void append(std::vector<T>& values, T value) {
    if (values.size() == values.capacity()) {
        const std::size_t capacity = std::max<std::size_t>(1024, 2 * values.capacity());
        require_memory(capacity * sizeof(T));
        values.reserve(capacity);
    }
    values.push_back(value);
}

/// `.npy` of `a/B.NPY`; nothing where there is none.
[[nodiscard]] std::string lower_case_extension(const std::string& file);

} // namespace detreduce::program
