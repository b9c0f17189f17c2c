#include "offsets.hpp"

#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "failure.hpp"
#include "lines.hpp"
#include "npy_header.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

/// Offsets that are checked as they come, while it is known where each came from. `place` says it when asked.
class Checked {
  public:
    explicit Checked(std::uint64_t n) : n_(n) {}

    template <class Place>
    void add(std::uint64_t offset, const Place& place) {
        if (offset > n_)
            throw Failure(fmt::format("{}: the offset {} is past the end; allowed are 0 to {}, as there are {} numbers",
                                      place(), offset, n_, n_));
        if (!offsets_.empty() && offset < offsets_.back()) {
            throw Failure(fmt::format("{}: the offset {} is less than the one before it, {}; offsets must not descend",
                                      place(), offset, offsets_.back()));
        }
        append(offsets_, offset);
    }

    [[nodiscard]] std::vector<std::uint64_t> take(const std::string& file) {
        if (!offsets_.empty()) return std::move(offsets_);
        throw Failure(fmt::format("{} has no offsets; allowed are one or more: where each segment begins, and where "
                                  "the last one ends",
                                  file));
    }

  private:
    std::uint64_t n_;
    std::vector<std::uint64_t> offsets_;
};

std::uint64_t parse_offset(std::string_view text, const EntryReader& lines) {
    std::uint64_t offset = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, offset);
    if (error == std::errc{} && stop == end) return offset;
    throw Failure(fmt::format("{}: {} is not an offset; allowed is one whole number a line, 0 or more", lines.place(),
                              excerpt(text)));
}

void load_text(InputFile& file, Checked& offsets) {
    EntryReader lines(file);
    for (std::string_view text; lines.next(text);)
        offsets.add(parse_offset(text, lines), [&] { return lines.place(); });
}

/// Is it a file of signed integers?
bool check_header(const InputFile& file, const NpyHeader& header) {
    if (header.descr != "<u8" && header.descr != "<i8") {
        throw Failure(fmt::format("{} holds dtype {}; allowed for offsets are '<u8' and '<i8'", file.name(),
                                  excerpt(header.descr)));
    }
    if (header.shape.size() != 1) {
        throw Failure(
            fmt::format("{} has {} dimensions; allowed for offsets is one", file.name(), header.shape.size()));
    }
    return header.descr == "<i8";
}

void load_npy(InputFile& file, Checked& offsets) {
    const NpyHeader header = read_npy_header(file);
    const bool has_sign = check_header(file, header);
    const std::uint64_t count = count_elements(file, header);
    const Bytes data = read_npy_data(file, count, sizeof(std::uint64_t));
    for (std::uint64_t i = 0; i < count; ++i) {
        std::uint64_t offset = 0;
        std::memcpy(&offset, data.data + i * sizeof offset, sizeof offset);
        const auto place = [&] { return fmt::format("{}, entry [{}]", file.name(), i); };
        const auto with_sign = static_cast<std::int64_t>(offset);
        if (has_sign && with_sign < 0)
            throw Failure(fmt::format("{}: {} is not an offset; allowed are 0 and more", place(), with_sign));
        offsets.add(offset, place);
    }
}

} // namespace

OffsetsFile::OffsetsFile(const std::string& path) : file_(path), npy_(lower_case_extension(path) == ".npy") {}

std::vector<std::uint64_t> OffsetsFile::load(std::uint64_t n) {
    Checked offsets(n);
    npy_ ? load_npy(file_, offsets) : load_text(file_, offsets);
    return offsets.take(file_.name());
}

} // namespace detreduce::program
