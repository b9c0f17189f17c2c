// One number as text, of every dtype: rounded as MPFR rounds it, and what is written of it reads
// back.
#include <algorithm>
#include <cmath>
#include <limits>

#include <mpfr.h>

#include <detreduce/fp/convert.hpp>
#include <number_text.hpp>

#include "fuzz.hpp"

namespace detreduce::fuzz {
namespace {

using program::Parsed;

bool is_hexadecimal(std::string_view digits) {
    return digits.size() > 1 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
}

/// The same number to these formats with an exponent of at most 16 digits: MPFR 4 takes
/// 0.01e-99999999999999999999 for infinity, as its own exponent wraps.
std::string with_short_exponent(std::string text, bool hexadecimal) {
    std::size_t from = text.find_first_of(hexadecimal ? "pP" : "eE");
    if (from == std::string::npos) return text;
    if (++from < text.size() && (text[from] == '-' || text[from] == '+')) ++from;
    const std::size_t digits = std::min(text.find_first_not_of('0', from), text.size());
    if (text.size() - digits > 16) text.replace(from, std::string::npos, "1000000000000000");
    return text;
}

/// The finite number `text`, without a sign, rounded once to T's format, its subnormals included.
template <class T>
double rounded_by_mpfr(const std::string& text) {
    using F = fp::Format<T>;
    mpfr_t x;
    mpfr_init2(x, F::precision);
    mpfr_set_emin(F::min_exponent + 1);
    mpfr_set_emax(F::max_exponent + 1);
    const bool hexadecimal = is_hexadecimal(text);
    const int way = mpfr_strtofr(x, with_short_exponent(text, hexadecimal).c_str() + (hexadecimal ? 2 : 0), nullptr,
                                 hexadecimal ? 16 : 10, MPFR_RNDN);
    mpfr_subnormalize(x, way, MPFR_RNDN);
    const double value = mpfr_get_d(x, MPFR_RNDN);
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    mpfr_clear(x);
    return value;
}

template <class T>
void require_reads_back(const std::string& text, T value) {
    T again{};
    const bool read = program::parse_number(std::string_view(text), again) == Parsed::ok;
    const bool same = fp::is_nan(value) ? fp::is_nan(again) : fp::to_bits(again) == fp::to_bits(value);
    require(read && same, "what is written reads back", text);
}

template <class T>
void check(const std::string& text) {
    T value{};
    const Parsed parsed = program::parse_number(std::string_view(text), value);
    if (parsed == Parsed::not_a_number) return;
    const std::string digits = text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
    if (parsed == Parsed::too_large) {
        require(std::isinf(rounded_by_mpfr<T>(digits)), "what is too large rounds to infinity", text);
        return;
    }
    require(fp::is_negative(value) == text.starts_with('-'), "the sign is the text's", text);
    if (fp::is_finite(value)) {
        const double magnitude = std::fabs(static_cast<double>(fp::widen(value)));
        require(rounded_by_mpfr<T>(digits) == magnitude, "numbers are rounded to nearest, ties to even", text);
    }
    require_reads_back(program::shortest_decimal(value), value);
    require_reads_back(program::hexadecimal(value), value);
    require(program::bits_text(value).size() == 2 + 2 * sizeof(T), "bits have all of their digits", text);
}

} // namespace
} // namespace detreduce::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    detreduce::fuzz::check<detreduce::float16>(text);
    detreduce::fuzz::check<detreduce::bfloat16>(text);
    detreduce::fuzz::check<float>(text);
    detreduce::fuzz::check<double>(text);
    return 0;
}
