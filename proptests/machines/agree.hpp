// One line a result: what was computed, and a fingerprint of its bits. Every instruction set of
// this processor must give the same; that every processor and compiler does is seen by comparing
// lines.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/detreduce.hpp>
#include <detreduce/fp/bits.hpp>

#include "golden/fingerprint.hpp"

namespace detreduce::machines {

/// Of all bytes that are put in.
class Fingerprint {
  public:
    /// Numbers, and whatever has numbers in a row.
    template <class... Values>
    void put(const Values&... values) {
        (put_one(values), ...);
    }
    [[nodiscard]] std::uint64_t value() const { return value_; }

  private:
    template <class V>
    void put_one(const V& v) {
        if constexpr (std::ranges::contiguous_range<V>) {
            for (const auto& each : v)
                put_one(each);
        } else {
            std::uint64_t bits = 0;
            std::memcpy(&bits, &v, sizeof v);
            value_ = golden::fingerprint_with(value_, bits, sizeof v);
        }
    }
    std::uint64_t value_ = golden::empty_fingerprint;
};

/// Numbers drawn one after the other, the same everywhere.
struct Draw {
    std::uint64_t seed, drawn = 0;

    [[nodiscard]] std::uint64_t word() { return accuracy::hash(seed, drawn++); }
    [[nodiscard]] std::uint64_t below(std::uint64_t n) { return word() % n; }
    template <class T, std::size_t N>
    [[nodiscard]] T of(const T (&list)[N]) {
        return list[below(N)];
    }
};

/// Any bits of T: NaN of all kinds, infinities, subnormals; in between numbers near 1.
template <class T>
[[nodiscard]] std::vector<T> any_bits(Draw& draw, std::size_t n) {
    constexpr int width = fp::Format<T>::precision - 1;
    std::vector<T> x(n);
    for (T& v : x) {
        const std::uint64_t word = draw.word();
        auto bits = static_cast<fp::Bits<T>>(word);
        if (word >> 62 != 0) { // an exponent of −8 … 7 in the place of the drawn one
            const auto exponent = static_cast<std::uint64_t>(fp::Format<T>::max_exponent) - 8 + (word >> 58 & 15);
            bits = static_cast<fp::Bits<T>>((word & ((std::uint64_t{1} << width) - 1)) | exponent << width);
            if ((word >> 57 & 1) != 0) bits |= fp::sign_mask<T>;
        }
        v = fp::from_bits<T>(bits);
    }
    return x;
}

/// n elements, where n may be drawn too: before the seed, as a compiler may not choose.
template <class T>
[[nodiscard]] std::vector<T> elements(Draw& draw, accuracy::Family family, std::size_t n) {
    return accuracy::generate<T>(family, n, draw.word());
}
/// Of a family that is drawn, or any bits.
template <class T>
[[nodiscard]] std::vector<T> elements(Draw& draw, std::size_t n) {
    const auto families = accuracy::families();
    const std::uint64_t k = draw.below(families.size() + 2);
    return k < families.size() ? elements<T>(draw, families[k], n) : any_bits<T>(draw, n);
}

/// f(T{}) for every dtype of row ops and losses.
template <class F>
void with_each_dtype(const F& f) {
    for (const DType dtype : dtypes()) {
        if (!has_8_bits(dtype)) with_dtype_from_16_bits(dtype, f);
    }
}

/// Where lines go, and whether everything agreed.
class Agreement {
  public:
    [[nodiscard]] bool failed() const { return failed_; }

    void fail(const std::string& why) {
        std::fprintf(stderr, "%s\n", why.c_str());
        failed_ = true;
    }
    static void line(const std::string& what, std::uint64_t fingerprint) {
        std::printf("%s: %016llx\n", what.c_str(), static_cast<unsigned long long>(fingerprint));
    }

    /// Prints what `compute(launch)` puts into a fingerprint, which must be the same for each
    /// instruction set and number of threads.
    template <class Compute>
    void check(const std::string& what, const Compute& compute) {
        std::uint64_t first = 0;
        for (const Isa isa : available_isas()) {
            Fingerprint f;
            compute(Launch{.threads = isa == Isa::baseline ? 1u : 3u, .isa = isa}, f);
            if (isa == Isa::baseline) {
                first = f.value();
            } else if (f.value() != first) {
                fail(what + ": " + std::string(name(isa)) + " gives other bits than baseline");
            }
        }
        line(what, first);
    }

  private:
    bool failed_ = false;
};

void golden_results(Agreement& to, std::uint64_t largest);
void drawn_reductions(Agreement& to);
void states_and_transforms(Agreement& to);
void functions(Agreement& to);
void losses_and_clipping(Agreement& to);
void row_ops(Agreement& to);
/// Results in a caller's rounding modes, flushed subnormals and whatever else the control word has.
void environments(Agreement& to);

} // namespace detreduce::machines
