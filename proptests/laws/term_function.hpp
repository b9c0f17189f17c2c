// A caller's function with members, for host and device: one type for many functions, so that it is
// compiled once for each dtype.
#pragma once

#include <cstdint>

#include <detreduce/config.hpp>
#include <detreduce/fp/bits.hpp>

// A call, for a kernel computes its terms in hundreds of places: as many copies of all these
// functions take a minute to compile.
#if defined(__CUDACC__)
#define DETREDUCE_TERM_CALL __host__ __device__ __noinline__
#else
#define DETREDUCE_TERM_CALL
#endif

namespace detreduce::proptests {

enum class TermKind : std::uint8_t {
    first,      ///< x
    square,     ///< x²
    product,    ///< x·y, or x² of one input
    line,       ///< a·x + b, two roundings
    loss,       ///< w·d²/2 near 0 and w·|d| farther off, d = x − y: a Huber loss
    reciprocal, ///< a / x: infinite at zero
    constant,   ///< a, whatever the elements are
    scattered, ///< x times a power of two that the bits of x choose: terms far apart where elements are near each other
};
inline constexpr int term_kinds = 8;

template <class V>
struct TermFunction {
    TermKind kind;
    V a, b;

    DETREDUCE_TERM_CALL V operator()(V x, V y) const {
        switch (kind) {
        case TermKind::first:
            return x;
        case TermKind::square:
            return x * x;
        case TermKind::product:
            return x * y;
        case TermKind::line:
            return a * x + b;
        case TermKind::loss: {
            const V d = x - y, m = d < 0 ? -d : d;
            return m < 1 ? a * (V(0.5) * (d * d)) : a * (m - V(0.5));
        }
        case TermKind::reciprocal:
            return a / x;
        case TermKind::constant:
            return a;
        case TermKind::scattered:
            break;
        }
        const auto bits = static_cast<std::uint32_t>(fp::to_bits(x)) >> (fp::is_f64<V> ? 0 : 13);
        return bits % 3 == 0 ? x * V(0x1p-60) : bits % 3 == 1 ? x * V(0x1p50) : x;
    }
    DETREDUCE_HD V operator()(V x) const { return (*this)(x, x); }
};

} // namespace detreduce::proptests
