// Files of ids, of which the number of segments may be known.
#include "segment_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return detreduce::fuzz::load_segments(data, size, [](auto& file, std::uint64_t n, std::uint64_t groups) {
        const auto offsets = file.load_ids(n, groups > 0 ? std::optional(groups) : std::nullopt);
        detreduce::fuzz::require(offsets.front() == 0 && offsets.back() == n, "each element is in a segment");
        return offsets;
    });
}
