// NumPy's .npy, versions 1 to 3: magic, version, length of the header, header (a Python dictionary literal), data.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <detreduce/plan.hpp>

#include "failure.hpp"
#include "input.hpp"
#include "npy_header.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

constexpr std::uint32_t longest_header = std::uint32_t{64} << 20; // bytes; NumPy writes about 100

/// The next `size` bytes of the header. `what` keeps them alive.
std::string_view take_header(InputFile& file, Bytes& what, std::uint64_t size) {
    what = file.read_up_to(size);
    if (what.size < size) throw Failure(fmt::format("{} is truncated: it ends within its .npy header", file.name()));
    return {reinterpret_cast<const char*>(what.data), size};
}

void check_magic(InputFile& file) {
    const Bytes bytes = file.read_up_to(magic.size());
    const std::string_view found(reinterpret_cast<const char*>(bytes.data), bytes.size);
    if (found.empty()) throw Failure(fmt::format("{} is empty; allowed is a .npy file", file.name()));
    if (!magic.starts_with(found))
        throw Failure(fmt::format("{} is not a .npy file: it does not begin with \\x93NUMPY", file.name()));
    if (found != magic) throw Failure(fmt::format("{} is truncated: it ends within its .npy header", file.name()));
}

std::uint32_t read_header_length(InputFile& file) {
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

DType dtype_of_descr(const InputFile& file, const std::string& descr) {
    if (descr == "<f2") return DType::f16;
    if (descr == "<f4") return DType::f32;
    if (descr == "<f8") return DType::f64;
    const bool big_endian = descr.starts_with('>');
    throw Failure(fmt::format("{} holds dtype {}{}; allowed are '<f2', '<f4' and '<f8'", file.name(), excerpt(descr),
                              big_endian ? ", which is big-endian" : ""));
}

/// The shape as Python writes it.
std::string shape_text(const std::vector<std::uint64_t>& shape) {
    return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

/// Nothing for one dimension.
std::optional<Matrix> matrix_of(const InputFile& file, const NpyHeader& header) {
    const std::size_t dimensions = header.shape.size();
    if (dimensions < 1 || dimensions > 2) {
        throw Failure(fmt::format("{} has {} dimensions, shape {}; allowed are one and two dimensions", file.name(),
                                  dimensions, shape_text(header.shape)));
    }
    if (dimensions == 2) return Matrix{header.shape[0], header.shape[1], header.fortran_order};
    if (!header.fortran_order) return std::nullopt;
    throw Failure(fmt::format("{} is in Fortran order (fortran_order is True); allowed is C order", file.name()));
}

/// A .npy file past its header.
class NpyFile : public NumberFile {
  public:
    NpyFile(const std::string& path, std::optional<DType> expected, bool flat = false) : file_(path) {
        const NpyHeader header = read_npy_header(file_);
        dtype_ = dtype_of_descr(file_, header.descr);
        if (expected && *expected != dtype_) {
            throw Failure(fmt::format("{} holds {}, but --dtype says {}; leave --dtype out or give the file's own",
                                      file_.name(), name(dtype_), name(*expected)));
        }
        if (!flat) matrix_ = matrix_of(file_, header);
        n_ = count_elements(file_, header);
    }

    [[nodiscard]] DType dtype() const override { return dtype_; }

    [[nodiscard]] std::optional<Matrix> matrix() const override { return matrix_; }

    [[nodiscard]] Numbers all() override { return elements_of(read_npy_data(file_, n_, size_of(dtype_)), dtype_, n_); }

    void pour_into(Sink& sink) override {
        if (file_.bytes_left())
            check_size(*file_.bytes_left(), true); // what is known to be wrong fails before it is read
        const std::uint64_t poured = pour_bytes(file_, dtype_, promised(), sink);
        check_size(poured + (file_.bytes_left() ? 0 : file_.read_up_to(1).size), false);
    }

  private:
    [[nodiscard]] std::uint64_t promised() const { return n_ * size_of(dtype_); }

    void check_size(std::uint64_t data_bytes, bool to_the_end) const {
        check_npy_size(file_, n_, size_of(dtype_), data_bytes, to_the_end);
    }

    InputFile file_;
    DType dtype_ = DType::f64;
    std::uint64_t n_ = 0;
    std::optional<Matrix> matrix_;
};

} // namespace

NpyHeader read_npy_header(InputFile& file) {
    check_magic(file);
    Bytes bytes;
    return parse_npy_header(take_header(file, bytes, read_header_length(file)), file.name());
}

std::uint64_t count_elements(const InputFile& file, const NpyHeader& header) {
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

void check_npy_size(const InputFile& file, std::uint64_t n, std::uint64_t size, std::uint64_t data_bytes,
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

Bytes read_npy_data(InputFile& file, std::uint64_t n, std::uint64_t size) {
    const bool to_the_end = file.bytes_left().has_value();
    Bytes data = file.rest(n * size + 1); // of a stream one byte too many tells that there is more
    check_npy_size(file, n, size, data.size, to_the_end);
    return data;
}

std::unique_ptr<NumberFile> open_npy(const std::string& path, std::optional<DType> dtype) {
    return std::make_unique<NpyFile>(path, dtype);
}

std::unique_ptr<NumberFile> open_flat_npy(const std::string& path) {
    return std::make_unique<NpyFile>(path, std::nullopt, true);
}

} // namespace detreduce::program
