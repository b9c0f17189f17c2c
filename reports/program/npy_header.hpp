// The header of a .npy file: {'descr': '<f8', 'fortran_order': False, 'shape': (3,), }
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace detreduce::program {

struct NpyHeader {
    std::string descr; ///< of a structured dtype, its text from [ to ]
    bool fortran_order = false;
    std::vector<std::uint64_t> shape;
};

/// Parses the dictionary; throws Failure, naming `file`, when it is not exactly such a dictionary with these three keys.
[[nodiscard]] NpyHeader parse_npy_header(std::string_view text, const std::string& file);

} // namespace detreduce::program
