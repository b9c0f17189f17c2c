// NumPy's .npy, versions 1 to 3: magic, version, length of the header, header (a Python dictionary literal), data.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include <algorithm>
#include <cstring>
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

NpyHeader read_header(InputFile& file) {
    check_magic(file);
    Bytes bytes;
    return parse_npy_header(take_header(file, bytes, read_header_length(file)), file.name());
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

std::uint64_t one_dimension(const InputFile& file, const NpyHeader& header) {
    if (header.fortran_order) {
        throw Failure(fmt::format("{} is in Fortran order (fortran_order is True); allowed is C order", file.name()));
    }
    if (header.shape.size() != 1) {
        throw Failure(fmt::format("{} has {} dimensions, shape {}; allowed is one dimension", file.name(),
                                  header.shape.size(), shape_text(header.shape)));
    }
    const std::uint64_t n = header.shape[0];
    if (n > max_n) { // here, so that nobody waits for a stream that could not be summed
        throw Failure(fmt::format("invalid argument 'n': {} promises {} elements; allowed are 0 to 2^40 elements",
                                  file.name(), n));
    }
    return n;
}

/// A .npy file past its header.
class NpyFile : public NumberFile {
  public:
    NpyFile(const std::string& path, std::optional<DType> expected) : file_(path) {
        const NpyHeader header = read_header(file_);
        dtype_ = dtype_of_descr(file_, header.descr);
        if (expected && *expected != dtype_) {
            throw Failure(fmt::format("{} holds {}, but --dtype says {}; leave --dtype out or give the file's own",
                                      file_.name(), name(dtype_), name(*expected)));
        }
        n_ = one_dimension(file_, header);
    }

    [[nodiscard]] DType dtype() const override { return dtype_; }

    [[nodiscard]] Numbers all() override {
        const bool to_the_end = file_.bytes_left().has_value();
        const Bytes data = file_.rest(promised() + 1); // of a stream one byte too many tells that there is more
        check_size(data.size, to_the_end);
        return elements_of(data, dtype_, n_);
    }

    void pour_into(Sink& sink) override {
        if (file_.bytes_left())
            check_size(*file_.bytes_left(), true); // what is known to be wrong fails before it is read
        const std::uint64_t poured = pour_bytes(file_, dtype_, promised(), sink);
        check_size(poured + (file_.bytes_left() ? 0 : file_.read_up_to(1).size), false);
    }

  private:
    [[nodiscard]] std::uint64_t promised() const { return n_ * size_of(dtype_); }

    /// Are there the n elements that the header promises, and nothing else?
    void check_size(std::uint64_t data_bytes, bool to_the_end) const {
        const std::uint64_t size = size_of(dtype_);
        if (n_ > data_bytes / size) {
            throw Failure(
                fmt::format("{} is truncated: its header promises {} elements of {} bytes, and {} bytes follow",
                            file_.name(), n_, size, data_bytes));
        }
        if (promised() != data_bytes) {
            const std::string surplus = to_the_end ? fmt::format("{} bytes", data_bytes - promised()) : "bytes";
            throw Failure(fmt::format("{} holds {} more than the {} elements of {} bytes that its header promises",
                                      file_.name(), surplus, n_, size));
        }
    }

    InputFile file_;
    DType dtype_ = DType::f64;
    std::uint64_t n_ = 0;
};

} // namespace

std::unique_ptr<NumberFile> open_npy(const std::string& path, std::optional<DType> dtype) {
    return std::make_unique<NpyFile>(path, dtype);
}

} // namespace detreduce::program
