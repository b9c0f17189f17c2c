// Golden bits of math.hpp: fingerprints of the results for `golden_count` inputs,
// drawn<T>(golden_seed, i). They change only with a new spec_version.
#pragma once

#include <cstdint>
#include <vector>

#include <detreduce/math/functions.hpp>

#include "golden/fingerprint.hpp"
#include "math/inputs.hpp"

namespace detreduce::proptests {

struct GoldenMath {
    math::Function function;
    std::uint64_t f32, f64;
};
inline constexpr GoldenMath golden_math[] = {
    {math::Function::exp, 0x082482ee2a6bd50cu, 0x604234c20514cc93u},
    {math::Function::expm1, 0x3c0c19c0a34e599eu, 0x1688b2f77e57d428u},
    {math::Function::log, 0x15cd729bc7d22e2au, 0x9f8b0de15f58d2ceu},
    {math::Function::log1p, 0xb17bbe7b161dc1eeu, 0x571e9be6e6c8357eu},
    {math::Function::sigmoid, 0x4d283cd24a3e8f15u, 0xf486218d33ce1e42u},
    {math::Function::softplus, 0xe5aac74152f0141au, 0xa8dafab038e5a48au},
    {math::Function::tanh, 0x9bd6209f915416aau, 0x84a9916f815f50d9u},
    {math::Function::rsqrt, 0xda21f02335dfe1e1u, 0x94abdf2fc01a0b74u},
};

template <class T>
[[nodiscard]] constexpr std::uint64_t golden_fingerprint(const GoldenMath& golden) {
    return fp::is_f32<T> ? golden.f32 : golden.f64;
}

inline constexpr std::uint64_t golden_seed = 20261122, golden_count = 1 << 16;

template <class T>
std::vector<T> golden_inputs() {
    std::vector<T> x(golden_count);
    for (std::uint64_t i = 0; i < golden_count; ++i)
        x[i] = drawn<T>(golden_seed, i);
    return x;
}

template <class T>
std::uint64_t fingerprint_of(const std::vector<T>& y) {
    std::uint64_t fingerprint = golden::empty_fingerprint;
    for (const T v : y)
        fingerprint = golden::fingerprint_with(fingerprint, fp::to_bits(v), sizeof(T));
    return fingerprint;
}

} // namespace detreduce::proptests
