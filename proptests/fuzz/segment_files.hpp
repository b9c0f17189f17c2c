// Files of offsets and of ids: the first byte says how they are read, the second how many elements
// there are.
#pragma once

#include <offsets.hpp>

#include "memory_file.hpp"

namespace detreduce::fuzz {

/// load(IntegerFile, n, odd) of the bytes as a file and as a stream, .npy or text, which must
/// agree: offsets of segments of n elements.
template <class Load>
int load_segments(const std::uint8_t* data, std::size_t size, const Load& load) {
    static MemoryFile text, npy(".npy");
    if (size < 2) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
    const bool is_npy = data[0] % 2 == 1;
    const std::uint64_t n = data[1];
    const auto loaded = [&](const std::string& path) {
        return result_of([&] {
            program::IntegerFile file(path);
            return load(file, n, data[0] / 4);
        });
    };
    const auto offsets = loaded((is_npy ? npy : text).file(bytes));
    if (!is_npy && data[0] / 2 % 2 == 1) require(loaded(text.stream(bytes)) == offsets, "a stream is the file");
    if (!offsets) return 0;
    require(!offsets->empty(), "there is an offset");
    for (std::size_t i = 0; i < offsets->size(); ++i)
        require((*offsets)[i] <= n && (i == 0 || (*offsets)[i - 1] <= (*offsets)[i]), "offsets ascend, up to n");
    return 0;
}

} // namespace detreduce::fuzz
