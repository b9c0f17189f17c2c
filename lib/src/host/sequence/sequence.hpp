// The sequence engine: what is reduced in the order of lib/SPEC.md, section 3, by any accumulator,
// from any source.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <detreduce/transform_reduce.hpp>

#include "host/groups.hpp"
#include "host/isa/isa_table.hpp"
#include "host/sequence/tree.hpp"

namespace detreduce::host {

/// Terms that write(values, errors) computes, at most a tile of them, as one accumulator.
template <class Acc, class T, class Write>
[[nodiscard]] Acc reduce_terms(const IsaFunctions<T>& isa, std::uint32_t m, const Write& write) {
    using V = typename Acc::Value;
    constexpr std::uint32_t room = spec::TreeOrder<sizeof(T)>::tile;
    const Buffer<V> values(room), errors(Acc::keeps_errors ? room : 0);
    write(values.data(), Acc::keeps_errors ? errors.data() : nullptr);
    return isa.tiles.template of<Acc>().terms(values.data(), errors.data(), m);
}

/// A source: elements, each of which is transformed before it is added.
template <class T>
struct Elements {
    using Element = T;
    using V = fp::Arithmetic<T>;
    const IsaFunctions<T>& isa;
    Transform transform;
    const Arrays<T>& in;

    [[nodiscard]] std::uint64_t size() const { return in.n; }
    /// Terms first … first + m − 1; their errors, too, unless there is no room for them.
    void write(std::uint64_t first, std::uint32_t m, V* values, V* errors) const {
        const Neighbours<T> part(in.part(first, m));
        isa.terms(transform, part.in.x, part.in.y, m, values, errors);
    }
    /// The same terms, at most a tile of them, as one accumulator.
    template <class Acc>
    [[nodiscard]] Acc tile(std::uint64_t first, std::uint32_t m) const {
        const auto& tiles = isa.tiles.template of<Acc>();
        if (transform != Transform::element)
            return reduce_terms<Acc>(isa, m, [&](V* values, V* errors) { write(first, m, values, errors); });
        if (in.step == 1) return tiles.elements(in.x + first, m);
        const Neighbours<T> part(in.part(first, m));
        return tiles.elements(part.in.x, m);
    }
};

/// The same of terms that a function of the caller's computes, in the order of elements of T.
template <class T>
struct ComputedTerms {
    using Element = T;
    using V = fp::Arithmetic<T>;
    const IsaFunctions<T>& isa;
    const detail::TermSource& source;
    std::uint64_t n;

    [[nodiscard]] std::uint64_t size() const { return n; }
    void write(std::uint64_t first, std::uint32_t m, V* values, V* errors) const {
        source.write(source, first, m, values);
        if (errors) std::fill_n(errors, m, -V{}); // absent: a term is what it is
    }
    template <class Acc>
    [[nodiscard]] Acc tile(std::uint64_t first, std::uint32_t m) const {
        if constexpr (std::is_same_v<T, V>) {
            const Buffer<V> values(spec::TreeOrder<sizeof(T)>::tile);
            write(first, m, values.data(), nullptr);
            return isa.tiles.template of<Acc>().elements(values.data(), m);
        } else {
            return reduce_terms<Acc>(isa, m, [&](V* values, V* errors) { write(first, m, values, errors); });
        }
    }
};

/// A source of 1 or more terms in the order of SPEC.md.
template <class Acc, class Source>
[[nodiscard]] Acc tree(const Source& source, std::uint32_t threads) {
    return reduce_tiles<Acc, typename Source::Element>(
        source.size(), threads,
        [&](std::uint64_t first, std::uint32_t m) { return source.template tile<Acc>(first, m); });
}

} // namespace detreduce::host
