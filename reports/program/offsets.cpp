#include "offsets.hpp"

#include <charconv>
#include <cstring>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <detreduce/segments.hpp>

#include "failure.hpp"
#include "lines.hpp"
#include "npy_header.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

/// What a file holds, in words.
struct Words {
    std::string_view one, many;
};
constexpr Words of_offsets{"offset", "offsets"}, of_ids{"id", "ids"};

/// Numbers that are checked as they come, while it is known where each came from. `place` says it
/// when asked.
class Checked {
  public:
    /// Numbers less than `end`; of others it is said that they are past the end, and what is
    /// `allowed`.
    Checked(const Words& its_words, std::uint64_t end, std::string allowed)
        : words(its_words), end_(end), allowed_(std::move(allowed)) {}

    template <class Place>
    void add(std::uint64_t number, const Place& place) {
        if (number >= end_) {
            throw Failure(
                fmt::format("{}: the {} {} is past the end; allowed are {}", place(), words.one, number, allowed_));
        }
        if (!numbers_.empty() && number < numbers_.back()) {
            throw Failure(fmt::format("{}: the {} {} is less than the one before it, {}; {} must not descend", place(),
                                      words.one, number, numbers_.back(), words.many));
        }
        append(numbers_, number);
    }

    [[nodiscard]] std::vector<std::uint64_t> take() { return std::move(numbers_); }

    const Words words;

  private:
    std::uint64_t end_;
    std::string allowed_;
    std::vector<std::uint64_t> numbers_;
};

std::uint64_t parse_number(std::string_view text, const EntryReader& lines, const Words& words) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc{} && stop == end) return number;
    throw Failure(fmt::format("{}: {} is not an {}; allowed is one whole number a line, 0 or more", lines.place(),
                              excerpt(text), words.one));
}

void load_text(ByteSource& file, Checked& numbers) {
    EntryReader lines(file);
    for (std::string_view text; lines.next(text);)
        numbers.add(parse_number(text, lines, numbers.words), [&] { return lines.place(); });
}

void check_header(const ByteSource& file, const NpyHeader& header, const Words& words) {
    const bool integers =
        header.descr == "<u8" || header.descr == "<i8" || header.descr == "<u4" || header.descr == "<i4";
    if (!integers) {
        throw Failure(fmt::format("{} holds dtype {}; allowed for {} are '<u8', '<i8', '<u4' and '<i4'", file.name(),
                                  excerpt(header.descr), words.many));
    }
    if (header.shape.size() != 1) {
        throw Failure(
            fmt::format("{} has {} dimensions; allowed for {} is one", file.name(), header.shape.size(), words.many));
    }
}

/// The numbers of an array of Integer.
template <class Integer>
void load_array(ByteSource& file, std::uint64_t count, Checked& numbers) {
    const Bytes data = read_npy_data(file, count, sizeof(Integer));
    for (std::uint64_t i = 0; i < count; ++i) {
        Integer number = 0;
        std::memcpy(&number, data.data + i * sizeof number, sizeof number);
        const auto place = [&] { return fmt::format("{}, entry [{}]", file.name(), i); };
        if (std::is_signed_v<Integer> && static_cast<std::int64_t>(number) < 0) {
            throw Failure(
                fmt::format("{}: {} is not an {}; allowed are 0 and more", place(), number, numbers.words.one));
        }
        numbers.add(static_cast<std::uint64_t>(number), place);
    }
}

void load_npy(ByteSource& file, Checked& numbers) {
    const NpyHeader header = read_npy_header(file);
    check_header(file, header, numbers.words);
    const std::uint64_t count = count_elements(file, header);
    if (header.descr == "<u8") return load_array<std::uint64_t>(file, count, numbers);
    if (header.descr == "<i8") return load_array<std::int64_t>(file, count, numbers);
    if (header.descr == "<u4") return load_array<std::uint32_t>(file, count, numbers);
    load_array<std::int32_t>(file, count, numbers);
}

} // namespace

IntegerFile::IntegerFile(const std::string& path)
    : IntegerFile(std::make_unique<InputFile>(path), lower_case_extension(path) == ".npy") {}

IntegerFile::IntegerFile(std::unique_ptr<ByteSource> bytes, bool npy) : file_(std::move(bytes)), npy_(npy) {}

std::vector<std::uint64_t> IntegerFile::load_offsets(std::uint64_t n) {
    Checked checked(of_offsets, n + 1, fmt::format("0 to {}, as there are {} numbers", n, n));
    npy_ ? load_npy(*file_, checked) : load_text(*file_, checked);
    auto offsets = checked.take();
    if (!offsets.empty()) return offsets;
    throw Failure(fmt::format("{} has no offsets; allowed are one or more: where each segment begins, and where "
                              "the last one ends",
                              file_->name()));
}

std::vector<std::uint64_t> IntegerFile::load_ids(std::uint64_t n, std::optional<std::uint64_t> groups) {
    const std::uint64_t end = groups.value_or(max_groups);
    Checked checked(of_ids, end,
                    groups ? fmt::format("those less than {}, the number of segments", end)
                           : fmt::format("those less than {}", end));
    npy_ ? load_npy(*file_, checked) : load_text(*file_, checked);
    const auto ids = checked.take();
    if (ids.size() != n) {
        throw Failure(fmt::format("{} has {} ids, but there are {} numbers; each number must have one", file_->name(),
                                  ids.size(), n));
    }
    const std::uint64_t count = groups.value_or(ids.empty() ? 0 : ids.back() + 1);
    require_memory((count + 1) * sizeof(std::uint64_t));
    return offsets_of_ids(ids, count);
}

} // namespace detreduce::program
