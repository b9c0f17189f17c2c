// One number of a dtype that is known only when the program runs.
#pragma once

#include <cstddef>
#include <cstring>

#include <detreduce/types.hpp>

namespace detreduce::program {

struct Value {
    DType dtype = DType::f64;
    alignas(8) std::byte bytes[8] = {};
};

/// f(the number as what it is).
template <class F>
auto visit(const Value& value, const F& f) {
    return with_dtype(value.dtype, [&](auto number) {
        std::memcpy(&number, value.bytes, sizeof number);
        return f(number);
    });
}

} // namespace detreduce::program
