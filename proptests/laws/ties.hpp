// Vectors of few different elements, most of them special, for ops that compare or count.
#pragma once

#include "laws/suite.hpp"

namespace detreduce::proptests {

constexpr Op count_ops[] = {Op::count_nonzero, Op::count_unique};

/// NaN of both signs and several payloads, infinities, zeros, the ends of the range: elements that
/// a wrong comparison mixes up.
template <class T>
T special(std::uint64_t word) {
    constexpr fp::Bits<T> infinite = fp::to_bits(fp::beyond<T>(false));
    const fp::Bits<T> magnitudes[] = {0,
                                      1,
                                      static_cast<fp::Bits<T>>(infinite >> 1),
                                      static_cast<fp::Bits<T>>(infinite - 1),
                                      infinite,
                                      fp::Format<T>::canonical_nan,
                                      static_cast<fp::Bits<T>>(infinite + 1),
                                      static_cast<fp::Bits<T>>(~fp::sign_mask<T>)};
    const fp::Bits<T> sign = word % 2 != 0 ? fp::sign_mask<T> : fp::Bits<T>{0};
    return fp::from_bits<T>(static_cast<fp::Bits<T>>(magnitudes[accuracy::hash(word, 1) % 8] | sign));
}

/// n elements of which there are only a few different ones, so most are equal to others. In every
/// other vector one is alone.
template <class T>
std::vector<T> full_of_ties(std::size_t n, std::uint64_t seed) {
    using accuracy::hash;
    const std::uint64_t kinds = 1 + hash(seed, 1) % 4;
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i)
        x[i] = special<T>(hash(seed, 2 + hash(seed, i + 1000) % kinds));
    if (n > 0 && seed % 2 == 0) x[hash(seed, 3) % n] = special<T>(hash(seed, 4));
    return x;
}

/// Draws of tree, which has all blocks of threads; the schedule is the only one that there is.
inline Draw order_draw(std::uint64_t word) {
    Draw draw = draw_from(Method::tree, word);
    draw.launch.schedule = word % 2 != 0 ? Schedule::two_pass : Schedule::automatic;
    return draw;
}

} // namespace detreduce::proptests
