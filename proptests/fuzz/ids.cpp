// Files of ids, of which the number of segments may be known.
#include "segment_files.hpp"

namespace {

/// Text whose numbers have at most six digits: where nobody says how many segments there are, each
/// id up to the last takes 8 bytes.
bool is_small_text(const std::uint8_t* data, std::size_t size) {
    const auto is_digit = [](std::uint8_t c) { return c >= '0' && c <= '9'; };
    for (std::size_t i = 2, digits = 0; i < size; ++i) {
        digits = is_digit(data[i]) ? digits + 1 : 0;
        if (digits > 6) return false;
    }
    return size >= 2 && data[0] % 2 == 0;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const bool may_be_unknown = is_small_text(data, size);
    return detreduce::fuzz::load_segments(data, size, [&](auto& file, std::uint64_t n, std::uint64_t groups) {
        const auto offsets = file.load_ids(n, groups > 0 || !may_be_unknown ? std::optional(groups) : std::nullopt);
        detreduce::fuzz::require(offsets.front() == 0 && offsets.back() == n, "each element is in a segment");
        return offsets;
    });
}
