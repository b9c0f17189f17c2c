// What an instruction set gives to the CPU backend: the first level of the methods with a fixed order, one tile at a time, and the
// digits of `exact`.
#pragma once

#include <cstdint>

#include <detreduce/acc/exact.hpp>
#include <detreduce/acc/rounded.hpp>
#include <detreduce/acc/two_fold.hpp>
#include <detreduce/types.hpp>

namespace detreduce::host {

/// For elements of type T.
template <class T>
struct IsaFunctions {
    using V = fp::Arithmetic<T>;
    /// Reduces the m items at x, 1 ≤ m ≤ TreeOrder<sizeof(T)>::tile, in the order of SPEC.md.
    template <class Acc>
    using TileFn = Acc (*)(const T* x, std::uint32_t m);
    TileFn<acc::Rounded<V>> rounded;
    TileFn<acc::Kahan<V>> kahan;
    TileFn<acc::Compensated<V>> compensated;

    /// Adds n elements to the words of a state. What comes out is normalized if what went in was.
    void (*exact)(const T* x, std::uint64_t n, acc::exact::Word* words);

    [[nodiscard]] TileFn<acc::Rounded<V>> tile(const acc::Rounded<V>*) const { return rounded; }
    [[nodiscard]] TileFn<acc::Kahan<V>> tile(const acc::Kahan<V>*) const { return kahan; }
    [[nodiscard]] TileFn<acc::Compensated<V>> tile(const acc::Compensated<V>*) const { return compensated; }
};

struct IsaTable : IsaFunctions<float16>, IsaFunctions<bfloat16>, IsaFunctions<float>, IsaFunctions<double> {
    template <class T>
    [[nodiscard]] const IsaFunctions<T>& of() const {
        return *this;
    }
};

namespace baseline {
extern const IsaTable isa_table;
}
namespace avx2 {
extern const IsaTable isa_table;
}
namespace avx512 {
extern const IsaTable isa_table;
}

/// The table of `isa`, which must be one of available_isas() or automatic (the best of them).
[[nodiscard]] const IsaTable& isa_table(Isa isa) noexcept;

} // namespace detreduce::host
