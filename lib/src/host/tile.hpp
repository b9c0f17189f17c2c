// What an instruction set gives to the CPU backend: the first level of `tree`, one tile at a time.
#pragma once

#include <cstdint>

#include <detreduce/acc/rounded.hpp>
#include <detreduce/types.hpp>

namespace detreduce::host {

/// Reduces the m items at x, 1 ≤ m ≤ TreeOrder<sizeof(T)>::tile, in the order of SPEC.md.
template <class T>
using TileFn = acc::Rounded<T> (*)(const T* x, std::uint32_t m);

struct TileTable {
    TileFn<float> f32;
    TileFn<double> f64;
};

namespace baseline {
extern const TileTable tile_table;
}
namespace avx2 {
extern const TileTable tile_table;
}
namespace avx512 {
extern const TileTable tile_table;
}

/// The table of `isa`, which must be one of available_isas() or automatic (the best of them).
[[nodiscard]] const TileTable& tile_table(Isa isa) noexcept;

} // namespace detreduce::host
