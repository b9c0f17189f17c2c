#include "golden/input.hpp"

#include <array>
#include <stdexcept>

#include <detreduce/fp/convert.hpp>

#include "golden/boundaries.hpp"

namespace detreduce::golden {
namespace {

using accuracy::hash;

constexpr std::uint64_t seed_of_y = 1000000; // from that of x: far from the seeds of other cases, and of tensors

template <class T>
std::shared_ptr<const void> shared(std::vector<T> elements) {
    const auto all = std::make_shared<std::vector<T>>(std::move(elements));
    return {all, all->data()};
}

/// Every second element is one divided by the one before it, unless that is zero: otherwise long
/// products are all 0 or infinite.
template <class T>
std::vector<T> balanced(std::vector<T> x) {
    for (std::size_t i = 1; i < x.size(); i += 2) {
        const double before = fp::widen(x[i - 1]);
        x[i] = before == 0 ? x[i - 1] : fp::round_to<T>(1 / before);
    }
    return x;
}

std::uint64_t elements_of(const Case& c) {
    if (c.shape != Shape::rows && c.shape != Shape::columns) return c.n;
    const std::uint64_t rows = c.shape == Shape::rows ? c.groups : c.n,
                        length = c.shape == Shape::rows ? c.n : c.groups;
    return rows == 0 ? 0 : (rows - 1) * (c.stride == 0 ? length : c.stride) + length;
}

std::shared_ptr<const void> generated(const Case& c, std::uint64_t elements, std::uint64_t seed) {
    return with_dtype(c.dtype, [&]<class T>(T) {
        auto x = accuracy::generate<T>(c.family, elements, seed);
        return shared(c.op == Op::prod ? balanced(std::move(x)) : std::move(x));
    });
}

/// A length beside a boundary, or a short one, or none.
std::uint64_t length_of_group(const Boundaries& b, std::uint64_t word) {
    const std::array near{b.lanes - 1, b.lanes, b.lanes + 1, b.chunk - 1, b.chunk + 1, b.tile - 1, b.tile, b.tile + 1};
    if (word % 4 == 0) return 0;
    return word % 4 == 1 ? near[hash(word, 0) % near.size()] : 1 + hash(word, 1) % 100;
}

/// Tensor i has the dtype that is i after the case's, of those of 16 bits and more, and elements of
/// seed + i, those of y of seed_of_y more.
Input tensors_of(const Case& c) {
    const auto offsets = offsets_of(c);
    const auto memory = std::make_shared<std::vector<std::shared_ptr<const void>>>();
    Input in{.elements = c.n, .x = memory};
    for (std::uint64_t i = 0; i < c.groups; ++i) {
        Case one = c;
        one.dtype = dtypes()[(static_cast<std::size_t>(c.dtype) + i) % 4];
        const std::uint64_t n = offsets[i + 1] - offsets[i];
        const auto tensor = [&](std::uint64_t seed) -> Tensor {
            memory->push_back(generated(one, n, seed + i));
            return {memory->back().get(), n, one.dtype};
        };
        in.tensors.push_back(tensor(c.seed));
        in.second_tensors.push_back(tensor(c.seed + seed_of_y)); // whatever the op: others share the elements
    }
    return in;
}

} // namespace

std::vector<std::uint64_t> offsets_of(const Case& c) {
    const bool list = c.shape == Shape::tensors;
    const std::uint64_t before = list ? 0 : c.seed % 4, after = list ? 0 : c.seed % 3;
    std::vector<std::uint64_t> lengths;
    std::uint64_t left = c.n - before - after;
    for (std::uint64_t g = 0; g < c.groups; ++g) {
        lengths.push_back(g == c.seed % c.groups ? 0 : length_of_group(boundaries_of(c.dtype), hash(c.seed, g)));
        if (lengths.back() > left) throw std::logic_error("too few elements for so many groups");
        left -= lengths.back();
    }
    if (c.groups > 0) lengths[c.seed % c.groups] = left;
    std::vector<std::uint64_t> offsets{before};
    for (const std::uint64_t length : lengths)
        offsets.push_back(offsets.back() + length);
    return offsets;
}

Input input_of(const Case& c) {
    if (c.shape == Shape::tensors) return tensors_of(c);
    Input in{.elements = elements_of(c)};
    in.x = generated(c, in.elements, c.seed);
    if (!is_flat_sum(c) && c.op != Op::prod) in.y = generated(c, in.elements, c.seed + seed_of_y);
    if (c.shape == Shape::segments) in.offsets = offsets_of(c);
    return in;
}

Inputs inputs_of(const Case& c, const Input& in) {
    if (c.shape == Shape::tensors)
        return {in.tensors.data(), info(c.op).inputs == 2 ? in.second_tensors.data() : nullptr};
    return {in.x.get(), info(c.op).inputs == 2 ? in.y.get() : nullptr,
            c.shape == Shape::segments ? in.offsets.data() : nullptr};
}

} // namespace detreduce::golden
