// Vectors of numbers for properties: lengths gather around the boundaries of the order under test,
// contents take one of many styles, and shrinking removes and simplifies blocks of elements before
// single ones.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <detreduce/spec/tree_order.hpp>

#include <support/numbers.hpp>

namespace detreduce::proptests {

/// What the elements of a vector have to do with each other.
enum class Style : std::uint8_t {
    stratified,      ///< independent numbers, exponents equally likely over the scope
    near,            ///< independent numbers, exponents within ±4 of each other
    cancelling,      ///< pairs x, −x, shuffled, and a few small ones left over
    ties,            ///< one large number, and halves and quarters of its last place
    ill_conditioned, ///< accuracy::Family::ill_conditioned
    sparse,          ///< zeros of both signs and here and there a number
    sorted,          ///< ascending
    constant,        ///< one number
    integers,        ///< −16 … 16
    boundary,        ///< mantissas of all ones, 1.0…01 and the like
    negative_zeros,  ///< nothing but −0
};
inline constexpr int styles = 11;

/// n numbers of the scope, a function of the arguments. Where the scope has NaN and infinities,
/// half of the seeds put one to three of them in.
template <class T>
[[nodiscard]] std::vector<T> vector_from(Style style, std::size_t n, std::uint64_t seed, const Scope& scope);

/// Lengths where `tree` changes its behaviour, up to `most`: 0, 1, lanes, rows, chunks, tiles and
/// several tiles.
template <class T>
[[nodiscard]] std::vector<std::size_t> tree_boundaries(std::size_t most = 5 * spec::TreeOrder<sizeof(T)>::tile) {
    using Order = spec::TreeOrder<sizeof(T)>;
    constexpr std::size_t lanes = Order::lanes, chunk = Order::chunk, tile = Order::tile;
    std::vector<std::size_t> sizes;
    for (const std::size_t n :
         {std::size_t{0}, std::size_t{1}, lanes / 2, lanes, 2 * lanes, chunk - lanes, chunk, chunk + lanes, 2 * chunk,
          3 * chunk, tile - chunk, tile, tile + lanes, tile + chunk, 2 * tile, 3 * tile, 5 * tile})
        if (n <= most) sizes.push_back(n);
    return sizes;
}

/// A length from 64 random bits: half of them a boundary or up to two next to it, a quarter
/// below 16, a quarter anywhere up to the largest boundary, short ones more often. `boundaries`
/// must not be empty.
[[nodiscard]] std::size_t length_from(std::uint64_t word, std::span<const std::size_t> boundaries);

/// A vector as an argument of a property.
template <class T>
struct Values {
    std::vector<T> xs;
    operator std::span<const T>() const { return xs; }
    [[nodiscard]] std::span<const T> span() const { return xs; }
    [[nodiscard]] std::size_t size() const { return xs.size(); }
};

/// Vectors that are simpler than xs and in scope: shorter ones first, then with blocks set to 0
/// or 1, then single numbers simplified. Blocks are at least 1/256 of a vector, so that long
/// vectors that cannot get shorter still shrink in seconds.
template <class T>
[[nodiscard]] rc::Seq<Values<T>> simpler(const Values<T>& values, const Scope& scope);

template <class T>
void showValue(const Values<T>& values, std::ostream& os) {
    constexpr std::size_t shown = 64;
    os << values.size() << " values [";
    for (std::size_t i = 0; i < values.size() && i < shown; ++i)
        os << (i ? ", " : "") << hexadecimal(values.xs[i]);
    os << (values.size() > shown ? ", …]" : "]");
}

template <class T>
[[nodiscard]] rc::Gen<Values<T>> values(const Scope& scope,
                                        std::vector<std::size_t> boundaries = tree_boundaries<T>()) {
    return rc::Gen<Values<T>>([scope, boundaries = std::move(boundaries)](const rc::Random& random, int) {
        const std::uint64_t seed = rc::Random(random).next();
        const auto style = static_cast<Style>(accuracy::hash(seed, 0) % styles);
        const std::size_t n = length_from(accuracy::hash(seed, 1), boundaries);
        return rc::shrinkable::shrinkRecur(Values<T>{vector_from<T>(style, n, accuracy::hash(seed, 2), scope)},
                                           [scope](const Values<T>& v) { return simpler(v, scope); });
    });
}

} // namespace detreduce::proptests

namespace rc {
template <class T>
struct Arbitrary<detreduce::proptests::Values<T>> {
    static Gen<detreduce::proptests::Values<T>> arbitrary() {
        return detreduce::proptests::values<T>(detreduce::proptests::any_bits<T>);
    }
};
} // namespace rc
