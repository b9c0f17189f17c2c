// Files of offsets.
#include "segment_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return detreduce::fuzz::load_segments(
        data, size, [](auto& file, std::uint64_t n, std::uint64_t) { return file.load_offsets(n); });
}
