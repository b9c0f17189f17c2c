// When count_unique takes two elements for one (lib/SPEC.md, section 13), for host and device.
#pragma once

#include <detreduce/config.hpp>
#include <detreduce/fp/bits.hpp>

namespace detreduce::spec {

/// Equal bits for elements that count as one, and only for those: −0 becomes +0, and every NaN the
/// canonical one.
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr fp::Bits<T> unique_key(T x) {
    const fp::Bits<T> bits = fp::to_bits(fp::canonical(x));
    return fp::magnitude_bits(x) == 0 ? fp::Bits<T>{0} : bits;
}

} // namespace detreduce::spec
