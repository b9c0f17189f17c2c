// Text: one number a line, blank lines and # comments skipped, LF or CRLF.
#include <cstring>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <detreduce/fp/convert.hpp>

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
    const auto bits = static_cast<fp::Bits<T>>(fp::infinity_bits<T> - 1);
    return shortest_decimal(fp::widen(fp::from_bits<T>(bits)));
}

template <class T>
[[noreturn]] void reject(const EntryReader& lines, std::string_view text, Parsed why) {
    if (text.find_first_of(blanks) != std::string_view::npos) {
        throw Failure(
            fmt::format("{}: {} is more than one number; allowed is one number a line", lines.place(), excerpt(text)));
    }
    if (why == Parsed::too_large) {
        throw Failure(fmt::format("{}: {} is too large for {}; allowed are -{max} to {max}, inf and -inf",
                                  lines.place(), excerpt(text), name(dtype_of<T>), fmt::arg("max", largest<T>())));
    }
    throw Failure(
        fmt::format("{}: {} is not a number; allowed are decimal (-1.5e3), hexadecimal (0x1.8p+1), nan, inf and -inf",
                    lines.place(), excerpt(text)));
}

/// f(number) for every number of the file.
template <class T, class F>
void for_each_number(InputFile& file, const F& f) {
    EntryReader lines(file);
    for (std::string_view text; lines.next(text);) {
        T value{};
        if (const Parsed parsed = parse_number(text, value); parsed != Parsed::ok) reject<T>(lines, text, parsed);
        f(value);
    }
}

template <class T>
class TextFile : public NumberFile {
  public:
    explicit TextFile(const std::string& path) : file_(path) {}

    [[nodiscard]] DType dtype() const override { return dtype_of<T>; }

    [[nodiscard]] Numbers all() override {
        auto values = std::make_shared<std::vector<T>>();
        for_each_number<T>(file_, [&](T value) { append(*values, value); });
        return {dtype_of<T>, values->size(), values->data(), values};
    }

    void pour_into(Sink& sink) override {
        std::byte* block = sink.buffer();
        std::uint64_t in_block = 0, before = 0;
        const auto flush = [&] {
            before += in_block;
            require_countable(dtype_of<T>, before);
            sink.add(dtype_of<T>, in_block);
            in_block = 0;
        };
        for_each_number<T>(file_, [&](T value) {
            std::memcpy(block + in_block * sizeof(T), &value, sizeof(T));
            if (++in_block < Sink::block_bytes / sizeof(T)) return;
            flush();
            block = sink.buffer();
        });
        if (in_block > 0) flush();
    }

  private:
    InputFile file_;
};

} // namespace

std::unique_ptr<NumberFile> open_text(const std::string& path, DType dtype) {
    switch (dtype) {
    case DType::f16:
        return std::make_unique<TextFile<float16>>(path);
    case DType::bf16:
        return std::make_unique<TextFile<bfloat16>>(path);
    case DType::f32:
        return std::make_unique<TextFile<float>>(path);
    case DType::f64:
        return std::make_unique<TextFile<double>>(path);
    }
    throw Failure("unknown dtype");
}

} // namespace detreduce::program
