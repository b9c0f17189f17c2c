// What a row op gives, and its bits.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include <detreduce/fp/bits.hpp>

#include <support/catch.hpp>

namespace detreduce::proptests {

template <class T>
bool is_bits(T x, T y) {
    return fp::to_bits(x) == fp::to_bits(y);
}

template <class Out, class V>
struct RowResults {
    std::vector<Out> out;
    std::vector<V> mean, rstd, weight; ///< a number a row, or none
    std::vector<V> exp_sums = {};      ///< two numbers a row, or none
};

/// All bits, so that a comparison says at which number of which array two results differ.
template <class Out, class V>
std::vector<std::uint64_t> bits_of(const RowResults<Out, V>& results) {
    std::vector<std::uint64_t> bits;
    for (const Out x : results.out)
        bits.push_back(fp::to_bits(x));
    for (const auto* numbers : {&results.mean, &results.rstd, &results.weight, &results.exp_sums}) {
        for (const V x : *numbers)
            bits.push_back(fp::to_bits(x));
    }
    return bits;
}

/// Compares in a moment what is the same, as nearly all is.
template <class Out, class V>
void require_same(const RowResults<Out, V>& got, const RowResults<Out, V>& expected) {
    const auto same = []<class N>(const std::vector<N>& a, const std::vector<N>& b) {
        return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(N)) == 0);
    };
    if (same(got.out, expected.out) && same(got.mean, expected.mean) && same(got.rstd, expected.rstd) &&
        same(got.weight, expected.weight) && same(got.exp_sums, expected.exp_sums)) {
        SUCCEED();
    } else {
        REQUIRE(bits_of(got) == bits_of(expected));
    }
}

} // namespace detreduce::proptests
