#include <algorithm>
#include <cmath>
#include <limits>

#include <support/bits.hpp>
#include <support/property.hpp>

#include <detreduce/accuracy/bounds.hpp>

using namespace detreduce;
using namespace detreduce::accuracy;
using namespace detreduce::proptests;

namespace {

using Depths = std::vector<std::uint64_t>;

std::uint64_t combine_pairs(Depths depths) {
    while (depths.size() > 1) {
        Depths next;
        for (std::size_t i = 0; i < depths.size(); i += 2)
            next.push_back(i + 1 < depths.size() ? std::max(depths[i], depths[i + 1]) + 1 : depths[i]);
        depths = next;
    }
    return depths[0];
}

/// The order of `tree` played through with depths in place of numbers: rows of a chunk in order, chunks of a tile in pairs, lanes in pairs.
std::uint64_t played_tree_depth(std::uint64_t n, std::size_t lanes) {
    Depths items(n, 0);
    const std::size_t chunk = 8 * lanes, tile = 8 * chunk;
    while (items.size() > 1) {
        Depths next;
        for (std::size_t t = 0; t < items.size(); t += tile) {
            Depths of_lanes;
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                Depths of_chunks;
                for (std::size_t c = t; c + lane < std::min(t + tile, items.size()); c += chunk) {
                    std::uint64_t depth = items[c + lane];
                    for (std::size_t i = c + lane + lanes; i < std::min(c + chunk, items.size()); i += lanes)
                        depth = std::max(depth, items[i]) + 1;
                    of_chunks.push_back(depth);
                }
                if (!of_chunks.empty()) of_lanes.push_back(combine_pairs(of_chunks));
            }
            next.push_back(combine_pairs(of_lanes));
        }
        items = next;
    }
    return items.empty() ? 0 : items[0];
}

template <class T>
T in_order_sum(std::span<const T> xs) {
    T sum = xs.empty() ? T{0} : xs[0];
    for (std::size_t i = 1; i < xs.size(); ++i)
        sum += xs[i];
    return sum;
}

} // namespace

TEST_CASE("rounding depth", "[bounds]") {
    for (const Method method : {Method::serial, Method::atomic, Method::tree}) {
        REQUIRE(rounding_depth(method, DType::f32, 0) == 0);
        REQUIRE(rounding_depth(method, DType::f32, 1) == 0);
        REQUIRE(rounding_depth(method, DType::f64, 2) == 1);
    }
    REQUIRE(rounding_depth(Method::serial, DType::f32, 1000) == 999);
    REQUIRE(rounding_depth(Method::atomic, DType::f64, std::uint64_t{1} << 40) == (std::uint64_t{1} << 40) - 1);
    for (std::uint64_t n = 0; n < 20000; n += n < 300 ? 1 : 97) {
        REQUIRE(rounding_depth(Method::tree, DType::f32, n) == played_tree_depth(n, 128));
        REQUIRE(rounding_depth(Method::tree, DType::f64, n) == played_tree_depth(n, 64));
    }
    REQUIRE(rounding_depth(Method::tree, DType::f64, 300'000) == played_tree_depth(300'000, 64)); // three rows of tiles
    REQUIRE(rounding_depth(Method::tree, DType::f32, std::uint64_t{1} << 40) < 70);
}

TEMPLATE_TEST_CASE("bounds grow with n and are ordered", "[bounds]", float, double) {
    constexpr DType dtype = dtype_of<TestType>;
    for (const Method method : {Method::serial, Method::atomic, Method::tree}) {
        double previous = 0.0;
        for (std::uint64_t n = 1; n < std::uint64_t{1} << 62; n *= 2) {
            const double bound = error_bound(method, dtype, n);
            REQUIRE(bound >= previous);
            previous = bound;
        }
        REQUIRE(error_bound(method, dtype, 1) == 0.0);
    }
    for (const std::uint64_t n : {100u, 10'000u, 1'000'000u}) {
        REQUIRE(error_bound(Method::tree, dtype, n) < error_bound(Method::serial, dtype, n));
        REQUIRE(probabilistic_bound(Method::serial, dtype, n, 1.0) < error_bound(Method::serial, dtype, n));
        REQUIRE(probabilistic_bound(Method::serial, dtype, n, 1.0) <
                probabilistic_bound(Method::serial, dtype, 4 * n, 1.0));
        REQUIRE(probabilistic_bound(Method::serial, dtype, n, 1.0) <
                probabilistic_bound(Method::serial, dtype, n, 2.0));
    }
}

TEST_CASE("gamma", "[bounds]") {
    // √d·u for the probabilistic one: 10^6 − 1 roundings, λ = 1
    REQUIRE(std::fabs(probabilistic_bound(Method::serial, DType::f32, 1'000'001, 1.0) / (1000 * 0x1p-24) - 1) < 1e-4);
    REQUIRE(gamma_bound(DType::f32, 0) == 0.0);
    REQUIRE(gamma_bound(DType::f32, (1u << 24) - 1) >= (1u << 24) - 1);
    REQUIRE(gamma_bound(DType::f32, 1u << 24) == HUGE_VAL);
    REQUIRE(gamma_bound(DType::f64, std::uint64_t{1} << 53) == HUGE_VAL);
    for (std::uint64_t d = 1; d < 1u << 24; d = d * 3 + 1) { // the double is not below d/(2^24 − d), and hardly above
        const cpp_int numerator = scaled_value(gamma_bound(DType::f32, d)) * ((1u << 24) - d);
        const cpp_int exact = cpp_int(d) << 1074u;
        REQUIRE(numerator >= exact);
        REQUIRE((numerator - exact) << 51u <= exact);
    }
}

TEMPLATE_TEST_CASE("within_bound decides exactly", "[bounds]", float, double) {
    using T = TestType;
    constexpr int p = fp::Format<T>::precision;
    const T one = 1, inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    const T above = std::nextafter(one, T{2}), below = std::nextafter(one, T{0}); // 1 + 2u, 1 − u
    ExactSum sum;
    sum.add(one);
    REQUIRE(within_bound(one, sum, 0));
    REQUIRE_FALSE(within_bound(below, sum, 0));
    REQUIRE(within_bound(below, sum, 1)); // u < γ_1 = u/(1−u)
    REQUIRE_FALSE(within_bound(above, sum, 1));
    REQUIRE(within_bound(above, sum, 2));
    REQUIRE_FALSE(within_bound(T{2}, sum, (std::uint64_t{1} << (p - 1)) - 1)); // γ_d = 1 exactly at d = 2^(p−1)
    REQUIRE(within_bound(T{2}, sum, std::uint64_t{1} << (p - 1)));
    REQUIRE(within_bound(std::numeric_limits<T>::max(), sum, std::uint64_t{1} << p));
    REQUIRE_FALSE(within_bound(inf, sum, std::uint64_t{1} << p));
    REQUIRE_FALSE(within_bound(nan, sum, 5));
    sum.add(inf);
    REQUIRE(within_bound(inf, sum, 1));
    REQUIRE_FALSE(within_bound(-inf, sum, 1));
    REQUIRE_FALSE(within_bound(one, sum, 1));
    sum.add(nan);
    REQUIRE(within_bound(fp::canonical(nan), sum, 1));
    REQUIRE_FALSE(within_bound(inf, sum, 1));
    REQUIRE(within_bound(-T{0}, ExactSum{}, 0));
}

TEMPLATE_TEST_CASE("in-order sums obey their bound, and a bound of one rounding they break", "[bounds]", float,
                   double) {
    using T = TestType;
    int broken = 0;
    property("in-order", [&] {
        const Values<T> xs = *values<T>(no_overflow<T>, {0, 1, 2, 10, 100, 1000});
        const ExactSum exact = exact_sum(xs.span());
        const T result = in_order_sum(xs.span());
        const std::uint64_t depth = rounding_depth(Method::serial, dtype_of<T>, xs.size());
        RC_ASSERT(cannot_overflow<T>(exact, depth));
        RC_ASSERT(within_bound(result, exact, depth));
        broken += !within_bound(result, exact, std::min<std::uint64_t>(depth, 1));
    });
    REQUIRE(broken > 0);
}

TEMPLATE_TEST_CASE("cannot_overflow is exact at the edge", "[bounds]", float, double) {
    using T = TestType;
    const T max = std::numeric_limits<T>::max();
    ExactSum sum;
    REQUIRE(cannot_overflow<T>(sum, 5));
    sum.add(max);
    REQUIRE(cannot_overflow<T>(sum, 0));
    REQUIRE_FALSE(cannot_overflow<T>(sum, 1));
    sum.add(std::numeric_limits<T>::denorm_min());
    REQUIRE_FALSE(cannot_overflow<T>(sum, 0));
    ExactSum half;
    half.add(max / 2);
    half.add(-max / 4);
    REQUIRE(cannot_overflow<T>(half, 100));
    REQUIRE_FALSE(cannot_overflow<T>(half, std::uint64_t{1} << fp::Format<T>::precision));
    half.add(-max / 2);
    REQUIRE_FALSE(cannot_overflow<T>(half, 1)); // the sum of magnitudes counts
}
