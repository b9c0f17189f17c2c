// Long inputs whose sums are known without adding them all: a block of elements, over and over.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <detreduce/accuracy/oracle.hpp>
#include <detreduce/spec/tree_order.hpp>
#include <spec_reference.hpp>

#include <support/bits.hpp>

namespace detreduce::proptests {

template <class T>
class Repeating {
  public:
    static constexpr std::size_t tile = spec::TreeOrder<sizeof(T)>::tile;
    std::size_t n;
    std::vector<T> block; ///< element i is block[i % block.size()]

    /// Exponents far enough apart that the errors of f32 are rounded, too, so that their order
    /// shows in f64.
    Repeating(std::size_t count, std::size_t block_tiles)
        : n(count), block(vector_from<T>(Style::stratified, block_tiles * tile, 11, {-12, 12, false, false})) {}

    [[nodiscard]] std::vector<T> all() const {
        std::vector<T> x(n);
        for (std::size_t i = 0; i < n; ++i)
            x[i] = block[i % block.size()];
        return x;
    }

    /// The result that SPEC.md gives.
    template <class Out>
    [[nodiscard]] Out expected(Method method) const {
        if (method == Method::exact) return exact<Out>();
        if (method == Method::serial) return serial<Out>();
        using V = reference::Sum<T>;
        return reference::with_item<V>(method, [this]<template <class> class Kind>(Kind<V>, reference::Rows rows) {
            return reference::finished<Out>(root<Kind>(rows));
        });
    }

    /// All elements as one item: the tiles of one block, which repeat, are items of the level
    /// above.
    template <template <class> class Kind>
    [[nodiscard]] auto root(reference::Rows rows) const {
        using Item = Kind<reference::Sum<T>>;
        const auto items = reference::items_of<Kind>(std::span<const T>(block));
        const auto sum_of = [&](std::size_t first, std::size_t count) {
            return reference::tile_sum(std::span<const Item>(items).subspan(first, count),
                                       reference::lanes_of(sizeof(T)), rows);
        };
        std::vector<Item> once, level;
        for (std::size_t first = 0; first < block.size(); first += tile)
            once.push_back(sum_of(first, tile));
        for (std::size_t i = 0; i < n / tile; ++i)
            level.push_back(once[i % once.size()]);
        const std::size_t rest = n % tile;
        if (rest != 0) level.push_back(sum_of((n - rest) % block.size(), rest));
        const std::size_t lanes = reference::lanes_of(sizeof(reference::Sum<T>));
        return reference::tree_of(std::span<const Item>(level), lanes, lanes, rows);
    }

  private:
    template <class Out>
    [[nodiscard]] Out exact() const {
        const std::span<const T> once(block);
        const accuracy::cpp_int whole = accuracy::exact_sum(once).scaled() * (n / block.size());
        const accuracy::cpp_int rest = accuracy::exact_sum(once.first(n % block.size())).scaled();
        return accuracy::round_scaled<Out>(accuracy::cpp_int(whole + rest), accuracy::ExactSum::lowest_exponent);
    }

    template <class Out>
    [[nodiscard]] Out serial() const {
        reference::Sum<T> sum = fp::widen(block[0]);
        for (std::size_t i = 1; i < n; ++i)
            sum = sum + fp::widen(block[i % block.size()]);
        return reference::converted<Out>(sum);
    }
};

/// More than 2^32 elements, in room for 3 · 512 tiles of them.
template <class T>
Repeating<T> beyond_32_bits() {
    return {(std::size_t{1} << 32) + 5 * Repeating<T>::tile + 77, 3 * 512};
}

} // namespace detreduce::proptests
