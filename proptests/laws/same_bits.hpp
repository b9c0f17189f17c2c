// Have both the same bits?
#pragma once

#include <detreduce/fp/bits.hpp>

namespace detreduce::proptests {

template <class T>
bool same_bits(T a, T b) {
    return fp::to_bits(a) == fp::to_bits(b);
}

} // namespace detreduce::proptests
