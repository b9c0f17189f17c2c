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
    const auto as = [&]<class T>(T number) {
        std::memcpy(&number, value.bytes, sizeof number);
        return f(number);
    };
    switch (value.dtype) {
    case DType::f16:
        return as(float16{});
    case DType::bf16:
        return as(bfloat16{});
    case DType::f32:
        return as(float{});
    case DType::f64:
        break;
    }
    return as(double{});
}

} // namespace detreduce::program
