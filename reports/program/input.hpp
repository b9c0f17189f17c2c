// The numbers of a file: all of them at once, or block after block. Every way in which a file can be wrong is a Failure of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <detreduce/types.hpp>

namespace detreduce::program {

enum class Format { npy, raw, text };

struct Numbers {
    DType dtype = DType::f64;
    std::uint64_t n = 0;
    const void* data = nullptr;        ///< n elements of dtype, aligned to the element
    std::shared_ptr<const void> owner; ///< keeps `data` alive
};

/// What a file of two dimensions holds.
struct Matrix {
    std::uint64_t rows = 0, columns = 0;
    bool by_columns = false; ///< Fortran order: the elements of a column lie side by side
    friend bool operator==(const Matrix&, const Matrix&) = default;
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

/// An open file; `-` is standard input. Closed when it goes away.
class InputFile {
  public:
    static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

    explicit InputFile(const std::string& path);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    /// How messages call it: `'data.npy'` or `standard input`.
    [[nodiscard]] const std::string& name() const { return name_; }

    /// The bytes that are left; nothing when nobody knows, as of a stream.
    [[nodiscard]] std::optional<std::uint64_t> bytes_left() const;

    /// Reads up to `size` bytes to `to`; 0 at the end.
    [[nodiscard]] std::size_t read(void* to, std::size_t size);

    /// The same, but fewer than `size` bytes only at the end.
    [[nodiscard]] std::size_t read_fully(void* to, std::size_t size);

    /// The next `limit` bytes, or what is left: read, with memory for what came and not for what was promised.
    [[nodiscard]] Bytes read_up_to(std::uint64_t limit);

    /// All that is left: mapped where bytes_left() is known, so that it may be larger than the memory; otherwise read, up to `limit` bytes.
    [[nodiscard]] Bytes rest(std::uint64_t limit = no_limit);

  private:
    [[nodiscard]] Bytes mapped();
    int descriptor_ = -1;
    std::uint64_t size_ = 0; ///< 0: not known
    std::uint64_t at_ = 0;   ///< bytes that were read
    std::string name_;
};

/// A file of numbers, of which the header has been read.
class NumberFile {
  public:
    NumberFile() = default;
    virtual ~NumberFile() = default;
    NumberFile(const NumberFile&) = delete;
    NumberFile& operator=(const NumberFile&) = delete;
    [[nodiscard]] virtual DType dtype() const = 0;
    /// Nothing where the numbers have one dimension, or none that anybody knows of.
    [[nodiscard]] virtual std::optional<Matrix> matrix() const { return std::nullopt; }
    /// All numbers at once: a mapped file where there is one, otherwise they are in memory.
    [[nodiscard]] virtual Numbers all() = 0;
    /// Hands all numbers to `sink`, block after block. Nothing is kept. What was handed over before a Failure is of no use.
    virtual void pour_into(Sink& sink) = 0;
};

/// Opens `path` as `format`. `dtype` is what the user said: needed for raw, f64 when absent for text, checked for npy.
[[nodiscard]] std::unique_ptr<NumberFile> open_numbers(const std::string& path, Format format,
                                                       std::optional<DType> dtype);

/// What is behind it.
[[nodiscard]] std::unique_ptr<NumberFile> open_npy(const std::string& path, std::optional<DType> dtype);
/// The same with any number of dimensions, whose elements are taken in the order in which they lie in the file.
[[nodiscard]] std::unique_ptr<NumberFile> open_flat_npy(const std::string& path);
[[nodiscard]] std::unique_ptr<NumberFile> open_raw(const std::string& path, DType dtype);
[[nodiscard]] std::unique_ptr<NumberFile> open_text(const std::string& path, DType dtype);

/// The n elements that `bytes` begins with: in place where they are aligned, else a copy.
[[nodiscard]] Numbers elements_of(const Bytes& bytes, DType dtype, std::uint64_t n);

/// Pours the elements that the next `limit` bytes hold, or as many bytes as come, and returns how many came. A file whose size is known
/// and that ends before them is a Failure.
[[nodiscard]] std::uint64_t pour_bytes(InputFile& file, DType dtype, std::uint64_t limit, Sink& sink);

/// Throws Failure when there are more elements than a sum may have.
void require_countable(DType dtype, std::uint64_t n);

/// Throws Failure when `bytes` more of memory cannot be had: better than being killed for it later.
void require_memory(std::uint64_t bytes);

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
