// NumPy's .npy, versions 1 to 3: magic, version, length of the header, header (a Python dictionary
// literal), data.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <detreduce/plan.hpp>

#include "element_type.hpp"
#include "failure.hpp"
#include "input.hpp"
#include "npy_header.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

constexpr std::uint32_t longest_header = std::uint32_t{64} << 20; // bytes; NumPy writes about 100

/// The next `size` bytes of the header. `what` keeps them alive.
std::string_view take_header(ByteSource& file, Bytes& what, std::uint64_t size) {
    what = file.read_up_to(size);
    if (what.size < size) throw Failure(fmt::format("{} is truncated: it ends within its .npy header", file.name()));
    return {reinterpret_cast<const char*>(what.data), size};
}

void check_magic(ByteSource& file) {
    const Bytes bytes = file.read_up_to(magic.size());
    const std::string_view found(reinterpret_cast<const char*>(bytes.data), bytes.size);
    if (found.empty()) throw Failure(fmt::format("{} is empty; allowed is a .npy file", file.name()));
    if (!magic.starts_with(found))
        throw Failure(fmt::format("{} is not a .npy file: it does not begin with \\x93NUMPY", file.name()));
    if (found != magic) throw Failure(fmt::format("{} is truncated: it ends within its .npy header", file.name()));
}

std::uint32_t read_header_length(ByteSource& file) {
    Bytes bytes;
    const std::string_view version = take_header(file, bytes, 2);
    const int major = static_cast<unsigned char>(version[0]), minor = static_cast<unsigned char>(version[1]);
    if (major < 1 || major > 3 || minor != 0) {
        throw Failure(
            fmt::format("{} has .npy version {}.{}; allowed are 1.0, 2.0 and 3.0", file.name(), major, minor));
    }
    const std::size_t length_size = major == 1 ? 2 : 4;
    std::uint32_t length = 0; // little-endian, as this machine is (input.cpp asserts it)
    std::memcpy(&length, take_header(file, bytes, length_size).data(), length_size);
    if (length > longest_header) {
        throw Failure(fmt::format("{} has a .npy header of {} bytes; allowed are at most {}", file.name(), length,
                                  longest_header));
    }
    return length;
}

/// A .npy file past its header.
class NpyFile : public NumberFile {
  public:
    NpyFile(std::unique_ptr<ByteSource> bytes, std::optional<DType> wanted, bool plain_only = false)
        : bytes_(std::move(bytes)) {
        NpyHeader header = read_npy_header(*bytes_);
        stored_ = stored_type(*bytes_, header.descr);
        if (plain_only && !stored_.is_plain()) {
            throw Failure(fmt::format("{} holds dtype {}; allowed are '<f2', '<f4', '<f8' and '|V1'", bytes_->name(),
                                      excerpt(header.descr)));
        }
        const DType its_own = stored_.natural_dtype();
        const bool floating = stored_.kind == StoredType::Kind::floating, float8 = floating && stored_.size == 1;
        if (float8 && !(wanted && has_8_bits(*wanted))) {
            std::vector<std::string_view> names;
            for (const DType dtype : dtypes()) {
                if (has_8_bits(dtype)) names.push_back(name(dtype));
            }
            throw Failure(fmt::format("{} does not say which float8 it holds: --dtype is needed; allowed are {}",
                                      bytes_->name(), fmt::join(names, ", ")));
        }
        if (wanted && *wanted != its_own && floating && !float8) {
            throw Failure(fmt::format("{} holds {}, but --dtype says {}; leave --dtype out or give the file's own "
                                      "(--output {}: the dtype of the result)",
                                      bytes_->name(), name(its_own), name(*wanted), name(*wanted)));
        }
        dtype_ = wanted.value_or(its_own);
        n_ = count_elements(*bytes_, header);
        layout_ = {std::move(header.shape), header.fortran_order};
    }

    [[nodiscard]] DType dtype() const override { return dtype_; }

    [[nodiscard]] std::optional<Layout> layout() const override { return layout_; }

    [[nodiscard]] Numbers all() override {
        if (!stored_.is_plain()) return NumberFile::all();
        return elements_of(read_npy_data(*bytes_, n_, stored_.size), dtype_, n_);
    }

    [[nodiscard]] std::optional<std::uint64_t> count() const override {
        const auto left = bytes_->bytes_left();
        if (!left) return std::nullopt;
        check_size(*left, true);
        return n_;
    }

    void skip(std::uint64_t n) override {
        bytes_->skip(n * stored_.size);
        at_ += n;
    }

    [[nodiscard]] std::uint64_t read(void* to, std::uint64_t n) override {
        const auto left = bytes_->bytes_left();
        if (at_ == 0 && left) check_size(*left, true); // what is known to be wrong fails before it is read
        const std::uint64_t wanted = std::min(n, n_ - at_);
        if (wanted == 0) {
            if (!left) check_size(n_ * stored_.size + bytes_->read_up_to(1).size, false);
            return 0;
        }
        std::size_t rest = 0;
        const std::uint64_t got = ElementReader(stored_, dtype_).read(*bytes_, to, wanted, at_, rest);
        at_ += got;
        if (got < wanted) check_size(at_ * stored_.size + rest, false);
        return got;
    }

  private:
    void check_size(std::uint64_t data_bytes, bool to_the_end) const {
        check_npy_size(*bytes_, n_, stored_.size, data_bytes, to_the_end);
    }

    std::unique_ptr<ByteSource> bytes_;
    StoredType stored_;
    DType dtype_ = DType::f64;
    std::uint64_t n_ = 0, at_ = 0; ///< elements in all, and those that were read
    Layout layout_;
};

} // namespace

NpyHeader read_npy_header(ByteSource& file) {
    check_magic(file);
    Bytes bytes;
    return parse_npy_header(take_header(file, bytes, read_header_length(file)), file.name());
}

std::uint64_t count_elements(const ByteSource& file, const NpyHeader& header) {
    constexpr std::size_t most_dimensions = 64; // as NumPy has it
    if (header.shape.size() > most_dimensions) {
        throw Failure(fmt::format("{} has {} dimensions; allowed are at most {}", file.name(), header.shape.size(),
                                  most_dimensions));
    }
    if (std::find(header.shape.begin(), header.shape.end(), 0U) != header.shape.end()) return 0;
    std::uint64_t n = 1;
    for (const std::uint64_t length : header.shape) {
        // here, so that nobody waits for a stream that could not be summed
        if (n > max_n / length) {
            throw Failure(fmt::format("invalid argument 'n': {} promises {} elements; allowed are 0 to 2^40 elements",
                                      file.name(), fmt::join(header.shape, " x ")));
        }
        n *= length;
    }
    return n;
}

void check_npy_size(const ByteSource& file, std::uint64_t n, std::uint64_t size, std::uint64_t data_bytes,
                    bool to_the_end) {
    if (n > data_bytes / size) {
        throw Failure(fmt::format("{} is truncated: its header promises {} elements of {} bytes, and {} bytes follow",
                                  file.name(), n, size, data_bytes));
    }
    const std::uint64_t promised = n * size;
    if (promised != data_bytes) {
        const std::string surplus = to_the_end ? fmt::format("{} bytes", data_bytes - promised) : "bytes";
        throw Failure(fmt::format("{} holds {} more than the {} elements of {} bytes that its header promises",
                                  file.name(), surplus, n, size));
    }
}

Bytes read_npy_data(ByteSource& file, std::uint64_t n, std::uint64_t size) {
    const bool to_the_end = file.bytes_left().has_value();
    Bytes data = file.rest(n * size + 1); // of a stream one byte too many tells that there is more
    check_npy_size(file, n, size, data.size, to_the_end);
    return data;
}

std::unique_ptr<NumberFile> open_npy(std::unique_ptr<ByteSource> bytes, std::optional<DType> dtype) {
    return std::make_unique<NpyFile>(std::move(bytes), dtype);
}

std::unique_ptr<NumberFile> open_flat_npy(const std::string& path) {
    return std::make_unique<NpyFile>(std::make_unique<InputFile>(path), std::nullopt, true);
}

} // namespace detreduce::program
