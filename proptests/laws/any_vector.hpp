// Arrays of which only a value says the dtype, as the tensors of a list are.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include <detreduce/types.hpp>

namespace detreduce::proptests {

/// An array of any dtype.
struct AnyVector {
    DType dtype;
    std::vector<std::byte> bytes;
    [[nodiscard]] std::size_t n() const { return bytes.size() / size_of(dtype); }
    template <class T>
    [[nodiscard]] std::vector<T> as() const {
        std::vector<T> x(n());
        if (!x.empty()) std::memcpy(x.data(), bytes.data(), bytes.size());
        return x;
    }
    template <class T>
    [[nodiscard]] static AnyVector of(const std::vector<T>& x) {
        AnyVector any{dtype_of<T>, std::vector<std::byte>(x.size() * sizeof(T))};
        if (!x.empty()) std::memcpy(any.bytes.data(), x.data(), any.bytes.size());
        return any;
    }
    friend bool operator==(const AnyVector&, const AnyVector&) = default; // bits
};

} // namespace detreduce::proptests
