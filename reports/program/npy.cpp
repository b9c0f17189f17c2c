// NumPy's .npy, versions 1 to 3: magic, version, length of the header, header (a Python dictionary literal), data.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include <algorithm>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include <detreduce/plan.hpp>

#include "command.hpp"
#include "input.hpp"
#include "npy_header.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

constexpr std::uint32_t longest_header = std::uint32_t{64} << 20; // bytes; NumPy writes about 100

/// The file from front to back. Of a stream no more is read than is asked for: it may never end.
class Source {
  public:
    explicit Source(InputFile& file) : file_(file) {
        if (file.is_whole_file()) whole_ = file.bytes();
    }

    /// The next `size` bytes, or as many as there are.
    Bytes take(std::uint64_t size) {
        if (!whole_) return file_.read_up_to(size);
        const std::uint64_t start = at_;
        at_ += std::min(size, whole_->size - at_);
        return {whole_->data + start, at_ - start, whole_->owner};
    }

    /// The data: all that is left of a file, at most one byte too many of a stream.
    Bytes take_data(std::uint64_t promised) { return take(whole_ ? whole_->size - at_ : promised + 1); }

    [[nodiscard]] const std::string& name() const { return file_.name(); }

  private:
    InputFile& file_;
    std::optional<Bytes> whole_; // a regular file, mapped
    std::uint64_t at_ = 0;
};

/// The next `size` bytes of the header. `what` keeps them alive.
std::string_view take_header(Source& source, Bytes& what, std::uint64_t size) {
    what = source.take(size);
    if (what.size < size) throw Failure(fmt::format("{} is truncated: it ends within its .npy header", source.name()));
    return {reinterpret_cast<const char*>(what.data), size};
}

void check_magic(Source& source) {
    const Bytes bytes = source.take(magic.size());
    const std::string_view found(reinterpret_cast<const char*>(bytes.data), bytes.size);
    if (found.empty()) throw Failure(fmt::format("{} is empty; allowed is a .npy file", source.name()));
    if (!magic.starts_with(found))
        throw Failure(fmt::format("{} is not a .npy file: it does not begin with \\x93NUMPY", source.name()));
    if (found != magic) throw Failure(fmt::format("{} is truncated: it ends within its .npy header", source.name()));
}

std::uint32_t read_header_length(Source& source) {
    Bytes bytes;
    const std::string_view version = take_header(source, bytes, 2);
    const int major = static_cast<unsigned char>(version[0]), minor = static_cast<unsigned char>(version[1]);
    if (major < 1 || major > 3 || minor != 0) {
        throw Failure(
            fmt::format("{} has .npy version {}.{}; allowed are 1.0, 2.0 and 3.0", source.name(), major, minor));
    }
    const std::size_t length_size = major == 1 ? 2 : 4;
    std::uint32_t length = 0; // little-endian, as this machine is (input.cpp asserts it)
    std::memcpy(&length, take_header(source, bytes, length_size).data(), length_size);
    if (length > longest_header) {
        throw Failure(fmt::format("{} has a .npy header of {} bytes; allowed are at most {}", source.name(), length,
                                  longest_header));
    }
    return length;
}

NpyHeader read_header(Source& source) {
    check_magic(source);
    Bytes bytes;
    return parse_npy_header(take_header(source, bytes, read_header_length(source)), source.name());
}

DType dtype_of_descr(const InputFile& file, const std::string& descr) {
    if (descr == "<f4") return DType::f32;
    if (descr == "<f8") return DType::f64;
    const bool big_endian = descr.starts_with('>');
    throw Failure(fmt::format("{} holds dtype {}{}; allowed are '<f4' and '<f8'", file.name(), excerpt(descr),
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

/// Does the file hold the n elements that its header promises, and nothing else?
void check_size(const InputFile& file, std::uint64_t data_bytes, DType dtype, std::uint64_t n, bool all_read) {
    const std::uint64_t size = size_of(dtype);
    if (n > data_bytes / size) {
        throw Failure(fmt::format("{} is truncated: its header promises {} elements of {} bytes, and {} bytes follow",
                                  file.name(), n, size, data_bytes));
    }
    if (n * size != data_bytes) {
        const std::string surplus = all_read ? fmt::format("{} bytes", data_bytes - n * size) : "bytes";
        throw Failure(fmt::format("{} holds {} more than the {} elements of {} bytes that its header promises",
                                  file.name(), surplus, n, size));
    }
}

} // namespace

Numbers read_npy(InputFile& file, std::optional<DType> dtype) {
    Source source(file);
    const NpyHeader header = read_header(source);
    const DType found = dtype_of_descr(file, header.descr);
    if (dtype && *dtype != found) {
        throw Failure(fmt::format("{} holds {}, but --dtype says {}; leave --dtype out or give the file's own",
                                  file.name(), name(found), name(*dtype)));
    }
    const std::uint64_t n = one_dimension(file, header);
    const Bytes data = source.take_data(n * size_of(found));
    check_size(file, data.size, found, n, file.is_whole_file());
    return elements_of(data, 0, found, n);
}

} // namespace detreduce::program
