// Text: one number a line, blank lines and # comments skipped, LF or CRLF; or one column of a
// table.
#include <cstring>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include <detreduce/fp/convert.hpp>

#include "columns.hpp"
#include "failure.hpp"
#include "input.hpp"
#include "lines.hpp"
#include "number_text.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

/// The largest number of T, with digits enough to be no smaller than that.
template <class T>
std::string largest() {
    return shortest_decimal(fp::widen(fp::from_bits<T>(fp::Format<T>::largest)));
}

template <class T, class Entries>
[[noreturn]] void reject(const Entries& lines, std::string_view text, Parsed why) {
    if (text.empty())
        throw Failure(fmt::format("{} is empty; allowed is a number, as nan for one that is missing", lines.place()));
    if (std::is_same_v<Entries, EntryReader> && text.find_first_of(blanks) != std::string_view::npos) {
        throw Failure(fmt::format("{}: {} is more than one number; allowed is one number a line, or --column",
                                  lines.place(), excerpt(text)));
    }
    if (why == Parsed::too_large) {
        throw Failure(fmt::format("{}: {} is too large for {}; allowed are -{max} to {max}{}", lines.place(),
                                  excerpt(text), name(dtype_of<T>), fp::Format<T>::has_inf ? ", inf and -inf" : "",
                                  fmt::arg("max", largest<T>())));
    }
    throw Failure(fmt::format("{}: {} is not a number; allowed are decimal (-1.5e3), hexadecimal (0x1.8p+1), {}{}",
                              lines.place(), excerpt(text), fp::Format<T>::has_inf ? "nan, inf and -inf" : "nan",
                              lines.advice()));
}

/// Numbers of T, one an entry.
template <class T, class Entries>
class TextFile : public NumberFile {
  public:
    template <class... More>
    explicit TextFile(std::unique_ptr<ByteSource> bytes, const More&... more)
        : bytes_(std::move(bytes)), entries_(*bytes_, more...) {}

    [[nodiscard]] DType dtype() const override { return dtype_of<T>; }

    [[nodiscard]] std::uint64_t read(void* to, std::uint64_t n) override {
        std::uint64_t done = 0;
        for (std::string_view text; done < n && entries_.next(text); ++done) {
            T value{};
            if (const Parsed parsed = parse_number(text, value); parsed != Parsed::ok)
                reject<T>(entries_, text, parsed);
            std::memcpy(static_cast<std::byte*>(to) + done * sizeof(T), &value, sizeof(T));
        }
        return done;
    }

  private:
    std::unique_ptr<ByteSource> bytes_;
    Entries entries_;
};

} // namespace

std::unique_ptr<NumberFile> open_text(std::unique_ptr<ByteSource> bytes, DType dtype) {
    return with_dtype(dtype, [&]<class T>(T) -> std::unique_ptr<NumberFile> {
        return std::make_unique<TextFile<T, EntryReader>>(std::move(bytes));
    });
}

std::unique_ptr<NumberFile> open_column(std::unique_ptr<ByteSource> bytes, DType dtype, Fields fields,
                                        const Column& column) {
    return with_dtype(dtype, [&]<class T>(T) -> std::unique_ptr<NumberFile> {
        return std::make_unique<TextFile<T, ColumnReader>>(std::move(bytes), fields, column);
    });
}

} // namespace detreduce::program
