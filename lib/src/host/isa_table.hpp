// What an instruction set gives to the CPU backend: the first level of the methods with a fixed order, one tile at a time, the terms of
// the ops, the digits of `exact`, the keys of what is compared, what is counted, and losses.
#pragma once

#include <cstdint>

#include <detreduce/acc/exact.hpp>
#include <detreduce/acc/moments.hpp>
#include <detreduce/acc/product.hpp>
#include <detreduce/acc/rounded.hpp>
#include <detreduce/acc/two_fold.hpp>
#include <detreduce/loss_words.hpp>
#include <detreduce/spec/order_key.hpp>
#include <detreduce/types.hpp>

namespace detreduce::host {

/// Which function of an element and its target: the term of a loss, or its derivative.
template <class V>
struct LossMap {
    Loss loss;
    V parameter;
    bool slopes;
};

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

    [[nodiscard]] TileFn<acc::Rounded<V>> tile(const acc::Rounded<V>*) const { return rounded; }
    [[nodiscard]] TileFn<acc::Kahan<V>> tile(const acc::Kahan<V>*) const { return kahan; }
    [[nodiscard]] TileFn<acc::Compensated<V>> tile(const acc::Compensated<V>*) const { return compensated; }

    /// The same of m terms that were computed, and, where the accumulator keeps errors, their errors. Both arrays have room for, and are filled
    /// up to, a multiple of TreeOrder<sizeof(T)>::lanes.
    template <class Acc>
    using ComputedFn = Acc (*)(V* values, V* errors, std::uint32_t m);
    ComputedFn<acc::Rounded<V>> computed_rounded;
    ComputedFn<acc::Kahan<V>> computed_kahan;
    ComputedFn<acc::Compensated<V>> computed_compensated;

    [[nodiscard]] ComputedFn<acc::Rounded<V>> computed(const acc::Rounded<V>*) const { return computed_rounded; }
    [[nodiscard]] ComputedFn<acc::Kahan<V>> computed(const acc::Kahan<V>*) const { return computed_kahan; }
    [[nodiscard]] ComputedFn<acc::Compensated<V>> computed(const acc::Compensated<V>*) const {
        return computed_compensated;
    }

    /// The terms of m elements; `errors` may be null, then they are rounded, else they are split.
    void (*terms)(Term term, const T* x, const T* y, std::uint32_t m, V* values, V* errors);

    /// Adds n elements to the words of a state. What comes out is normalized if what went in was.
    void (*exact)(const T* x, std::uint64_t n, acc::exact::Word* words);

    /// Adds the terms of n elements to acc::exact::product_states states.
    void (*exact_terms)(Term term, const T* x, const T* y, std::uint64_t n, acc::exact::Word* states);

    /// The largest of the keys of n ≥ 1 elements, not settled.
    typename spec::KeyMap<T>::Key (*largest_key)(const spec::KeyMap<T>& map, const T* x, std::uint64_t n);

    /// Mean and M2 of the m elements at x, 1 ≤ m ≤ TreeOrder<sizeof(T)>::tile, in the order of SPEC.md.
    acc::Moments<V> (*moments)(const T* x, std::uint32_t m);
    /// The same of two maps at once: largest[0] and largest[1].
    void (*largest_keys)(const spec::KeyMap<T>& first, const spec::KeyMap<T>& second, const T* x, std::uint64_t n,
                         typename spec::KeyMap<T>::Key* largest);

    /// Multiplies the m items at x as `rounded` and `compensated` add them.
    TileFn<acc::Product<V, false>> product;
    TileFn<acc::Product<V, true>> compensated_product;

    [[nodiscard]] TileFn<acc::Product<V, false>> tile(const acc::Product<V, false>*) const { return product; }
    [[nodiscard]] TileFn<acc::Product<V, true>> tile(const acc::Product<V, true>*) const { return compensated_product; }

    /// How many of n elements are not zero.
    std::uint64_t (*nonzeros)(const T* x, std::uint64_t n);

    /// The terms of m elements less `reference` (spec/exp_term.hpp).
    void (*exp_terms)(const T* x, std::uint32_t m, V reference, V* terms);

    /// `map` of m elements at x with their targets, each times its weight unless w is null.
    void (*losses)(const LossMap<V>& map, const T* x, const T* t, const T* w, std::uint32_t m, V* values);
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
namespace neon {
extern const IsaTable isa_table;
}

/// The table of `isa`, which must be one of available_isas() or automatic (the best of them).
[[nodiscard]] const IsaTable& isa_table(Isa isa) noexcept;

} // namespace detreduce::host
