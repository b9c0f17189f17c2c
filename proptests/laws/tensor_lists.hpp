// Lists of tensors for tests.
#pragma once

#include <algorithm>
#include <numeric>

#include "laws/any_vector.hpp"
#include "laws/group_cuts.hpp"

namespace detreduce::proptests {

/// Arrays, and as many beside them for ops of two inputs.
struct TensorLists {
    std::vector<AnyVector> x, y;

    [[nodiscard]] std::uint64_t n() const {
        return std::accumulate(x.begin(), x.end(), std::uint64_t{},
                               [](std::uint64_t sum, const AnyVector& t) { return sum + t.n(); });
    }
    /// f(x, y) for tensor i.
    template <class F>
    void with(std::size_t i, const F& f) const {
        with_dtype_from_16_bits(x[i].dtype, [&]<class T>(T) { f(x[i].as<T>(), y[i].as<T>()); });
    }
    void reverse() {
        std::reverse(x.begin(), x.end());
        std::reverse(y.begin(), y.end());
    }
};

inline TensorLists tensors_from(std::uint64_t word, std::size_t count) {
    TensorLists lists;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t draw = accuracy::hash(word, 200 + i);
        const DType dtype = word % 3 == 0 ? DType::f32 : dtypes()[draw % 4];
        with_dtype_from_16_bits(dtype, [&]<class T>(T) {
            const std::size_t n = draw % 16 == 0 && count < 40 ? group_length<T>(draw) : accuracy::hash(draw, 1) % 700;
            const auto x = vector_from<T>(static_cast<Style>(accuracy::hash(word, 44) % styles), n, draw, any_bits<T>);
            const Pair<T> pair = pair_of<T>(std::span<const T>(x), draw, any_bits<T>);
            const auto put = [&](std::vector<AnyVector>& list, const std::vector<T>& elements) {
                list.push_back(AnyVector::of(elements));
            };
            put(lists.x, pair.x);
            put(lists.y, pair.y);
        });
    }
    return lists;
}

/// Sometimes more than go to a device at a time.
inline TensorLists tensors_from(std::uint64_t word) {
    return tensors_from(word, accuracy::hash(word, 60) % 64 == 0 ? 1100 : accuracy::hash(word, 61) % 40);
}

} // namespace detreduce::proptests
