// Few results of tiles, 4 rows of lanes or fewer, are reduced by a warp each (reduce_short_rows of
// kernels/sequence/kernels.cuh): as many as there are on either side of each of its limits. The CPU
// gives the bits.
#include <algorithm>

#include <support/bits.hpp>
#include <support/catch.hpp>

#include "laws/on_cpu.hpp"
#include "laws/product_draws.hpp"
#include "laws/suite.hpp"
#include "laws/test_backend.hpp"

namespace detreduce::proptests {
namespace {

struct Reduction {
    Op op;
    Method method;
};
constexpr Reduction reductions[] = {
    {Op::sum, Method::tree},         {Op::sum, Method::kahan},        {Op::sum, Method::compensated},
    {Op::nrm2, Method::tree},        {Op::mean, Method::compensated}, {Op::prod, Method::tree},
    {Op::prod, Method::compensated}, {Op::variance, Method::tree},    {Op::moments, Method::tree}};

template <class T>
void check(const Request& shape, const std::vector<T>& x, const Launch& launch = {}) {
    for (const auto& [op, method] : reductions) {
        const bool any_block = op == Op::sum && method == Method::tree && shape.shape == Shape::flat;
        if (launch.block != 0 && !any_block) continue;
        Request r = shape;
        r.op = op;
        r.method = method;
        r.dtype = dtype_of<T>;
        r.output = DType::f64;
        CAPTURE(name(op), name(method), r.n, r.groups);
        const auto expected = on_cpu<double>(r, {x.data()});
        r.launch = launch;
        const auto got = TestBackend::results<double>(r, std::span<const T>(x));
        REQUIRE(got.size() == (op == Op::moments ? 2 : 1) * r.groups);
        REQUIRE(std::equal(got.begin(), got.end(), expected.begin(), expected.end(), same_bits<double>));
    }
}

/// Lanes of the level above the input.
template <class T>
constexpr std::size_t lanes_above = spec::TreeOrder<sizeof(fp::Arithmetic<T>)>::lanes;

} // namespace

TEMPLATE_TEST_CASE("few tiles: on either side of every limit", "[gpu][sanitizer]", DETREDUCE_ALL_TYPES) {
    constexpr std::size_t tile = spec::TreeOrder<sizeof(TestType)>::tile;
    const auto x = balanced<TestType>(5 * tile + 1, 3);
    for (const std::size_t n : {tile + 1, 2 * tile, 3 * tile - 1, 4 * tile, 5 * tile + 1})
        check<TestType>({.n = n}, x);
    check<TestType>({.n = 3 * tile + 1}, x, {.schedule = Schedule::two_pass, .block = 128});
    check<TestType>({.shape = Shape::rows, .n = tile + 77, .groups = 4}, x);
    check<TestType>({.shape = Shape::columns, .n = tile + 77, .groups = 4}, x);
}

TEMPLATE_TEST_CASE("few tiles: up to more than four rows of lanes", "[gpu]", DETREDUCE_ALL_TYPES) {
    constexpr std::size_t tile = spec::TreeOrder<sizeof(TestType)>::tile, lanes = lanes_above<TestType>;
    const auto x = balanced<TestType>((8 * lanes + 1) * tile, 5);
    for (const std::size_t tiles :
         {lanes - 1, lanes, lanes + 1, 2 * lanes, 2 * lanes + 3, 4 * lanes - 1, 4 * lanes, 4 * lanes + 1, 8 * lanes}) {
        check<TestType>({.n = tiles * tile}, x);
        check<TestType>({.n = tiles * tile + 5}, x);
    }
    check<TestType>({.n = (lanes + 1) * tile}, x, {.schedule = Schedule::two_pass, .block = 128});
    check<TestType>({.shape = Shape::rows, .n = (lanes / 4 + 1) * tile - 5, .groups = 19}, x);
    check<TestType>({.shape = Shape::rows, .n = (lanes / 4 + 1) * tile, .groups = 19}, x, {.grid = 1});
    check<TestType>({.shape = Shape::rows, .n = (lanes + 3) * tile - 5, .groups = 3}, x);
}

} // namespace detreduce::proptests
