// What the functions are tried on.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <numbers>
#include <string>
#include <thread>
#include <vector>

#include <detreduce/accuracy/generators.hpp>

#include <support/numbers.hpp>

namespace detreduce::proptests {

/// The number in an environment variable, or `otherwise`.
inline std::uint64_t count_asked_for(const char* variable, std::uint64_t otherwise) {
    const char* const text = std::getenv(variable);
    return text ? std::stoull(text) : otherwise;
}

/// work(i) for i < n, on all processors. It must not throw.
template <class Work>
void in_parallel(std::uint64_t n, const Work& work) {
    std::atomic<std::uint64_t> next{0};
    std::vector<std::thread> threads;
    for (unsigned t = std::max(1u, std::thread::hardware_concurrency()); t > 0; --t) {
        threads.emplace_back([&] {
            for (std::uint64_t i = next++; i < n; i = next++)
                work(i);
        });
    }
    for (std::thread& thread : threads)
        thread.join();
}

/// Special values; powers of two; multiples of ln 2 / 2, where the reduced argument changes its
/// sign or k changes; where results over- and underflow; where one branch of a function ends. Each
/// with its 2 · `reach` neighbours, and negated.
template <class T>
std::vector<T> neighbourhoods(int reach) {
    using Bits = fp::Bits<T>;
    std::vector<Bits> centres{0, fp::infinity_bits<T>, fp::Format<T>::canonical_nan, fp::infinity_bits<T> - 1};
    const auto add = [&](double x) { centres.push_back(fp::magnitude_bits(static_cast<T>(x))); };
    for (Bits exponent = 1; exponent < 2 * static_cast<Bits>(largest_exponent<T>) + 2; ++exponent)
        centres.push_back(exponent << (fp::Format<T>::precision - 1));
    for (int bit = 0; bit < fp::Format<T>::precision - 1; ++bit)
        centres.push_back(Bits{1} << bit);
    for (int k = 1; k < (fp::is_f32<T> ? 310 : 2160); ++k)
        add(k * (std::numbers::ln2 / 2));
    for (const double x : {1.5, 10.0, 20.0, 30.0, 60.0, 17.0, 18.0, 38.0, 87.0, 88.7228, 89.0, 103.97, 104.0, 708.4,
                           709.7827, 710.0, 745.13, 746.0})
        add(x);
    for (const double x : {0.5, 2.0, 0.25, 0.125, 8.0})
        for (const double root : {std::numbers::sqrt2, std::numbers::sqrt2 - 1, std::numbers::sqrt3})
            add(x * root), add(x * root / 2);
    std::vector<T> xs;
    for (const Bits centre : centres) {
        for (int i = -reach; i <= reach; ++i) {
            const T x = fp::from_bits<T>(static_cast<Bits>(centre + static_cast<Bits>(i)));
            xs.push_back(x);
            xs.push_back(fp::negated(x));
        }
    }
    return xs;
}

/// Number i of a sequence: in turn any bits, and numbers of exponents from −24 to 10, where the
/// functions bend, and near 1.
template <class T>
T drawn(std::uint64_t seed, std::uint64_t i) {
    constexpr int width = fp::Format<T>::precision - 1;
    const std::uint64_t word = accuracy::hash(seed, i);
    if (i % 2 == 0) return fp::from_bits<T>(static_cast<fp::Bits<T>>(word));
    const int exponent = i % 8 == 1 ? -1 + static_cast<int>(i / 8 % 2) : -24 + static_cast<int>(i / 2 % 35);
    return from_fields<T>({(word >> 63) != 0, exponent, word & ((std::uint64_t{1} << width) - 1)});
}

} // namespace detreduce::proptests
