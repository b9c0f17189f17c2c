#include "element_type.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include <detreduce/fp/convert.hpp>

#include "failure.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

template <class Bits>
void swap_all(std::byte* at, std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i, at += sizeof(Bits)) {
        std::reverse(at, at + sizeof(Bits)); // compiles to bswap
    }
}

void swap_bytes(std::byte* at, std::uint64_t n, std::size_t size) {
    if (size == 2) swap_all<std::uint16_t>(at, n);
    if (size == 4) swap_all<std::uint32_t>(at, n);
    if (size == 8) swap_all<std::uint64_t>(at, n);
}

template <class Integer>
std::uint64_t magnitude_of(Integer value) {
    const auto bits = static_cast<std::uint64_t>(value);
    return value < 0 ? 0 - bits : bits;
}

/// Does T hold this magnitude? Its bits, from the highest to the lowest that is set, must fit the
/// precision, and the highest the range.
template <class T>
bool holds(std::uint64_t magnitude) {
    using F = fp::Format<T>;
    const int high = 64 - std::countl_zero(magnitude), low = magnitude == 0 ? 0 : std::countr_zero(magnitude);
    return high - low <= F::precision && high <= F::max_exponent + 1 &&
           fp::is_finite(fp::round_to<T>(static_cast<double>(magnitude)));
}

template <class T, class Integer>
void convert_integers(const ByteSource& bytes, const std::byte* from, T* to, std::uint64_t n, std::uint64_t first) {
    for (std::uint64_t i = 0; i < n; ++i) {
        Integer value{};
        std::memcpy(&value, from + i * sizeof value, sizeof value);
        if (holds<T>(magnitude_of(value))) {
            to[i] = fp::round_to<T>(static_cast<double>(value)); // 53 bits hold what T does
            continue;
        }
        const bool widest = dtype_of<T> == DType::f64;
        throw Failure(fmt::format(
            "{}, element {}: {} is not exact as {}; allowed {}", bytes.name(), first + i, value, name(dtype_of<T>),
            widest ? "are integers that f64 holds, as all up to 2^53 are" : "is a wider --dtype"));
    }
}

template <class T>
void convert_booleans(const std::byte* from, T* to, std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i)
        to[i] = fp::round_to<T>(from[i] == std::byte{0} ? 0.0 : 1.0);
}

constexpr const char* allowed = "floats f2, f4 and f8, float8 as V1 or f1, integers i1 to i8 and u1 to u8, and bool";

} // namespace

DType StoredType::natural_dtype() const {
    if (kind == Kind::floating)
        return size == 1 ? DType::f8e4m3 : size == 2 ? DType::f16 : size == 4 ? DType::f32 : DType::f64;
    return size <= 2 ? DType::f32 : DType::f64;
}

StoredType stored_type(const ByteSource& bytes, const std::string& descr) {
    using Kind = StoredType::Kind;
    const auto refuse = [&] {
        throw Failure(fmt::format("{} holds dtype {}; allowed are {}", bytes.name(), excerpt(descr), allowed));
    };
    if (descr.size() != 3) refuse();
    const char order = descr[0], kind = descr[1];
    const auto size = static_cast<std::size_t>(descr[2] - '0');
    const bool ordered = order == '<' || order == '>', one_byte = size == 1 && (ordered || order == '|');
    const bool several = ordered && (size == 2 || size == 4 || size == 8);
    if ((kind == 'f' || kind == 'V') && one_byte) return {Kind::floating, size, false}; // as ml_dtypes writes float8
    if (kind == 'f' && several) return {Kind::floating, size, order == '>'};
    if (kind == 'i' && (several || one_byte)) return {Kind::signed_integer, size, order == '>'};
    if (kind == 'u' && (several || one_byte)) return {Kind::unsigned_integer, size, order == '>'};
    if (kind != 'b' || !one_byte) refuse();
    return {Kind::boolean, size, false};
}

void ElementReader::convert(const ByteSource& bytes, const std::byte* from, void* to, std::uint64_t n,
                            std::uint64_t first) const {
    with_dtype(to_, [&]<class T>(T) {
        T* const out = static_cast<T*>(to);
        if (from_.kind == StoredType::Kind::boolean) return convert_booleans(from, out, n);
        const auto integers = [&](auto as_signed) {
            using Signed = decltype(as_signed);
            if (from_.kind == StoredType::Kind::signed_integer)
                return convert_integers<T, Signed>(bytes, from, out, n, first);
            convert_integers<T, std::make_unsigned_t<Signed>>(bytes, from, out, n, first);
        };
        if (from_.size == 1) return integers(std::int8_t{});
        if (from_.size == 2) return integers(std::int16_t{});
        if (from_.size == 4) return integers(std::int32_t{});
        integers(std::int64_t{});
    });
}

std::uint64_t ElementReader::read(ByteSource& bytes, void* to, std::uint64_t n, std::uint64_t first,
                                  std::size_t& rest) const {
    const std::size_t size = from_.size;
    if (from_.kind == StoredType::Kind::floating) {
        const std::size_t got = bytes.read_fully(to, n * size);
        if (from_.big_endian) swap_bytes(static_cast<std::byte*>(to), got / size, size);
        rest = got % size;
        return got / size;
    }
    constexpr std::size_t at_once = 65536; // bytes
    std::byte block[at_once];
    for (std::uint64_t done = 0; done < n;) {
        const std::uint64_t wanted = std::min<std::uint64_t>(n - done, at_once / size);
        const std::size_t got = bytes.read_fully(block, wanted * size);
        if (from_.big_endian) swap_bytes(block, got / size, size);
        convert(bytes, block, static_cast<std::byte*>(to) + done * size_of(to_), got / size, first + done);
        done += got / size;
        rest = got % size;
        if (got < wanted * size) return done;
    }
    return n;
}

} // namespace detreduce::program
