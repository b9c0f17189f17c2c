// What a .npy file begins with: magic, version, and a header like {'descr': '<f8', 'fortran_order':
// False, 'shape': (3,), }
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "input.hpp"

namespace detreduce::program {

struct NpyHeader {
    std::string descr; ///< of a structured dtype, its text from [ to ]
    bool fortran_order = false;
    std::vector<std::uint64_t> shape;
};

/// Parses the dictionary; throws Failure, naming `file`, when it is not exactly such a dictionary
/// with these three keys.
[[nodiscard]] NpyHeader parse_npy_header(std::string_view text, const std::string& file);

/// Reads all that comes before the data. Throws Failure.
[[nodiscard]] NpyHeader read_npy_header(ByteSource& file);

/// The elements that the header promises; Failure when they are more than a reduction may have.
[[nodiscard]] std::uint64_t count_elements(const ByteSource& file, const NpyHeader& header);

/// Throws Failure unless `data_bytes` are n elements of `size` bytes, and nothing else.
/// `to_the_end`: nothing follows them.
void check_npy_size(const ByteSource& file, std::uint64_t n, std::uint64_t size, std::uint64_t data_bytes,
                    bool to_the_end);

/// All n elements of `size` bytes that follow the header. Throws Failure when there are fewer or
/// more.
[[nodiscard]] Bytes read_npy_data(ByteSource& file, std::uint64_t n, std::uint64_t size);

} // namespace detreduce::program
