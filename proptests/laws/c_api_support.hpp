// What the tests of the C header have in common: numbers, and statuses as they expect them.
#pragma once

#include <cstring>
#include <string_view>
#include <vector>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/detreduce.h>
#include <detreduce/fp/bits.hpp>
#include <detreduce/fp/convert.hpp>

#include <support/catch.hpp>

#include "laws/same_bits.hpp"

namespace detreduce::proptests {

/// Numbers of every size, exponents by exponents; NaN and infinities where there are many.
template <class T>
std::vector<T> numbers(std::size_t n, std::uint64_t seed) {
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i)
        x[i] = fp::from_bits<T>(static_cast<fp::Bits<T>>(accuracy::hash(seed, i)));
    for (T& v : x) {
        if (!fp::is_finite(v) && n < 5000) v = fp::round_to<T>(0.75);
    }
    return x;
}

inline void expect(const detreduce_status& status, detreduce_status_code code, std::string_view argument) {
    char text[300];
    detreduce_status_message(&status, text, sizeof text);
    INFO(text);
    REQUIRE(status.code == code);
    REQUIRE(status.argument == argument);
    REQUIRE(std::strlen(status.allowed) > 0);
}
inline void expect_ok(const detreduce_status& status) {
    REQUIRE(status.code == DETREDUCE_OK);
    REQUIRE(status.argument == std::string_view());
    REQUIRE(status.allowed == std::string_view());
}

} // namespace detreduce::proptests
