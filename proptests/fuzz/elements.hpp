// Arrays for the targets that reduce: a few bytes make many elements, and memory ends where the
// array does.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include <sanitizer/asan_interface.h>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/fp/convert.hpp>
#include <long_sum.hpp>

#include "fuzz.hpp"

namespace detreduce::fuzz {

/// A few bit patterns, over and over, in which some bits differ from element to element.
class Pattern {
  public:
    Pattern(FuzzedDataProvider& in, std::size_t most_patterns) {
        vary_ = static_cast<Vary>(in.ConsumeIntegralInRange<int>(0, 5));
        ordinary_ = in.ConsumeBool();
        seed_ = in.ConsumeIntegral<std::uint8_t>();
        patterns_.resize(in.ConsumeIntegralInRange<std::size_t>(1, most_patterns));
        for (std::uint64_t& pattern : patterns_)
            pattern = in.ConsumeIntegral<std::uint64_t>();
    }

    template <class T>
    [[nodiscard]] std::vector<T> elements(std::size_t n) const {
        std::vector<T> x(n);
        for (std::size_t i = 0; i < n; ++i) {
            const auto bits = static_cast<fp::Bits<T>>(patterns_[i % patterns_.size()] >> (64 - 8 * sizeof(T)));
            const std::uint64_t varied = bits ^ (accuracy::hash(seed_, i) & mask<T>());
            x[i] = fp::from_bits<T>(static_cast<fp::Bits<T>>(ordinary_ ? near_one<T>(varied) : varied));
        }
        return x;
    }

  private:
    enum class Vary { nothing, sign, fraction, near, sign_and_near, all };
    template <class T>
    [[nodiscard]] std::uint64_t mask() const {
        constexpr int fraction = fp::Format<T>::precision - 1;
        constexpr std::uint64_t low = (std::uint64_t{1} << fraction) - 1, near = 8 * low + 7; // eight binades
        switch (vary_) {
        case Vary::nothing:
            return 0;
        case Vary::sign:
            return fp::sign_mask<T>;
        case Vary::fraction:
            return low;
        case Vary::near:
            return near;
        case Vary::sign_and_near:
            return fp::sign_mask<T> | near;
        case Vary::all:
            break;
        }
        return ~std::uint64_t{0};
    }

    /// The same fraction and sign, and one of eight exponents around that of 1: numbers whose sums
    /// and products round, and seldom do more.
    template <class T>
    [[nodiscard]] static std::uint64_t near_one(std::uint64_t bits) {
        constexpr int fraction = fp::Format<T>::precision - 1;
        constexpr std::uint64_t low = (std::uint64_t{1} << fraction) - 1, lowest = fp::Format<T>::max_exponent - 4;
        return (bits & (fp::sign_mask<T> | low)) | ((lowest + (bits >> fraction) % 8) << fraction);
    }

    Vary vary_;
    bool ordinary_;
    std::uint64_t seed_;
    std::vector<std::uint64_t> patterns_;
};

/// As doubles, which all elements are.
template <class T>
std::vector<double> as_doubles(std::span<const T> x) {
    std::vector<double> wide;
    for (const T v : x)
        wide.push_back(reference::value_of(v));
    return wide;
}

/// Memory that begins `skew` bytes after a boundary of 64 and has not a byte more on either side.
class Placed {
  public:
    Placed(std::size_t bytes, std::size_t skew, unsigned char fill) : size_(bytes), skew_(skew) {
        void* room = nullptr;
        require(::posix_memalign(&room, 64, bytes + skew) == 0, "there is memory for an array");
        room_.reset(static_cast<std::byte*>(room));
        if (bytes > 0) std::memset(data(), fill, bytes);
        if (skew > 0) ASAN_POISON_MEMORY_REGION(room_.get(), skew);
    }
    Placed(const void* from, std::size_t bytes, std::size_t skew) : Placed(bytes, skew, static_cast<unsigned char>(0)) {
        if (bytes > 0) std::memcpy(data(), from, bytes);
    }
    [[nodiscard]] void* data() const { return room_.get() + skew_; }
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    struct Free {
        void operator()(std::byte* room) const { std::free(room); }
    };
    std::unique_ptr<std::byte, Free> room_;
    std::size_t size_, skew_;
};

} // namespace detreduce::fuzz
