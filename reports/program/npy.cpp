// NumPy's .npy, versions 1 to 3: magic, version, length of the header, header (a Python dictionary literal), data.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include <cstring>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "command.hpp"
#include "input.hpp"
#include "npy_header.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct Prefix {
    std::string_view header;
    std::uint64_t data_offset = 0;
};

/// Finds the header behind magic, version and length.
Prefix read_prefix(const InputFile& file, const Bytes& bytes) {
    const std::string_view all(reinterpret_cast<const char*>(bytes.data), bytes.size);
    if (all.empty()) throw Failure(fmt::format("{} is empty; allowed is a .npy file", file.name()));
    if (!all.starts_with(magic.substr(0, all.size()))) {
        throw Failure(fmt::format("{} is not a .npy file: it does not begin with \\x93NUMPY", file.name()));
    }
    const auto truncated = [&] {
        return Failure(fmt::format("{} is truncated: it ends within its .npy header", file.name()));
    };
    if (all.size() < magic.size() + 2) throw truncated();
    const int major = static_cast<unsigned char>(all[6]), minor = static_cast<unsigned char>(all[7]);
    if (major < 1 || major > 3 || minor != 0) {
        throw Failure(
            fmt::format("{} has .npy version {}.{}; allowed are 1.0, 2.0 and 3.0", file.name(), major, minor));
    }
    const std::size_t length_size = major == 1 ? 2 : 4;
    const std::size_t start = magic.size() + 2 + length_size;
    if (all.size() < start) throw truncated();
    std::uint32_t length = 0; // little-endian, as this machine is (input.cpp asserts it)
    std::memcpy(&length, all.data() + magic.size() + 2, length_size);
    if (all.size() - start < length) throw truncated();
    return {all.substr(start, length), start + length};
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
    return header.shape[0];
}

/// Does the file hold the n elements that its header promises, and nothing else?
void check_size(const InputFile& file, std::uint64_t data_bytes, DType dtype, std::uint64_t n) {
    const std::uint64_t size = size_of(dtype);
    if (n > data_bytes / size) {
        throw Failure(fmt::format("{} is truncated: its header promises {} elements of {} bytes, and {} bytes follow",
                                  file.name(), n, size, data_bytes));
    }
    if (n * size != data_bytes) {
        throw Failure(fmt::format("{} holds {} bytes more than the {} elements of {} bytes that its header promises",
                                  file.name(), data_bytes - n * size, n, size));
    }
}

} // namespace

Numbers read_npy(InputFile& file, std::optional<DType> dtype) {
    const Bytes bytes = file.bytes();
    const Prefix prefix = read_prefix(file, bytes);
    const NpyHeader header = parse_npy_header(prefix.header, file.name());
    const DType found = dtype_of_descr(file, header.descr);
    if (dtype && *dtype != found) {
        throw Failure(fmt::format("{} holds {}, but --dtype says {}; leave --dtype out or give the file's own",
                                  file.name(), name(found), name(*dtype)));
    }
    const std::uint64_t n = one_dimension(file, header);
    check_size(file, bytes.size - prefix.data_offset, found, n);
    return elements_of(bytes, prefix.data_offset, found, n);
}

} // namespace detreduce::program
