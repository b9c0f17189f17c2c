#include <cmath>
#include <limits>

#include <support/bits.hpp>
#include <support/property.hpp>

#include <detreduce/accuracy/metrics.hpp>

using namespace detreduce;
using namespace detreduce::accuracy;
using namespace detreduce::proptests;

namespace {

constexpr std::uint64_t far_away = std::numeric_limits<std::uint64_t>::max();

template <class T>
ExactSum sum_of(std::initializer_list<T> xs) {
    return exact_sum(std::span<const T>(xs.begin(), xs.size()));
}

} // namespace

TEMPLATE_TEST_CASE("ulp distance counts steps to the neighbour", "[metrics]", float16, bfloat16, float, double) {
    using T = TestType;
    const T inf = infinity<T>, nan = quiet_nan<T>, one = number<T>(1), zero = number<T>(0);
    REQUIRE(ulp_distance(one, one) == 0);
    REQUIRE(ulp_distance(one, next_up(one)) == 1);
    REQUIRE(ulp_distance(one, next_down(one)) == 1);
    REQUIRE(ulp_distance(one, number<T>(2)) == std::uint64_t{1} << (fp::Format<T>::precision - 1));
    REQUIRE(ulp_distance(zero, fp::negated(zero)) == 1);
    REQUIRE(ulp_distance(smallest<T>, fp::negated(smallest<T>)) == 3);
    REQUIRE(ulp_distance(largest<T>, inf) == 1);
    REQUIRE(ulp_distance(fp::negated(inf), inf) == 2 * std::uint64_t{fp::to_bits(inf)} + 1);
    REQUIRE(ulp_distance(nan, fp::negated(nan)) == 0);
    REQUIRE(ulp_distance(nan, one) == far_away);
    REQUIRE(ulp_distance(fp::negated(inf), nan) == far_away);
}

TEMPLATE_TEST_CASE("ulp distance is a distance", "[metrics]", float16, bfloat16, float, double) {
    using T = TestType;
    property("symmetric, zero only for equal bits, additive along the line", [] {
        T a = *value<T>(finite_bits<T>), b = *value<T>(finite_bits<T>), c = *value<T>(finite_bits<T>);
        RC_ASSERT(ulp_distance(a, b) == ulp_distance(b, a));
        RC_ASSERT((ulp_distance(a, b) == 0) == (fp::to_bits(a) == fp::to_bits(b)));
        const auto above = [](T x, T y) { return fp::widen(x) > fp::widen(y); };
        if (above(a, b)) std::swap(a, b);
        if (above(b, c)) std::swap(b, c);
        if (above(a, b)) std::swap(a, b);
        RC_PRE(above(b, a) && above(c, b));
        RC_ASSERT(ulp_distance(a, c) == ulp_distance(a, b) + ulp_distance(b, c));
    });
}

TEST_CASE("error in ulps", "[metrics]") {
    REQUIRE(error_in_ulps(3.0f, sum_of<float>({1, 2})) == 0.0);
    REQUIRE(error_in_ulps(1.0f, sum_of<float>({1, 0x1p-24f})) == 0.5); // a tie
    REQUIRE(error_in_ulps(1.0f, sum_of<float>({1, 0x1p-25f})) == 0.25);
    REQUIRE(error_in_ulps(1.0f, sum_of<double>({2})) == 0x1p22); // in places of the exact sum, 2, not of the result
    REQUIRE(error_in_ulps(-1.0, sum_of<double>({1})) == 0x1p53);
    REQUIRE(error_in_ulps(0x1p-149f, sum_of<float>({1, -1})) ==
            1.0); // zero has the smallest subnormal as its last place
    REQUIRE(error_in_ulps(0x1p-149f, sum_of<float>({0x1p-148f})) == 1.0);
    const float inf = infinity<float>, nan = quiet_nan<float>, max = largest<float>;
    REQUIRE(error_in_ulps(inf, sum_of<float>({1})) == HUGE_VAL);
    REQUIRE(error_in_ulps(inf, sum_of<float>({max, max})) == 0.0);
    REQUIRE(error_in_ulps(-inf, sum_of<float>({max, max})) == HUGE_VAL);
    REQUIRE(error_in_ulps(max, sum_of<float>({max, max})) == 0x1p23 - 0.5); // 2·max has its own binade: places of 2^105
    REQUIRE(error_in_ulps(nan, sum_of<float>({inf, -inf})) == 0.0);
    REQUIRE(error_in_ulps(1.0f, sum_of<float>({nan})) == HUGE_VAL);
}

TEMPLATE_TEST_CASE("the correctly rounded sum is within half an ulp, its neighbours are not nearer", "[metrics]",
                   float16, bfloat16, float, double) {
    using T = TestType;
    property("half an ulp", [] {
        const Values<T> xs = *values<T>(no_overflow<T>, {0, 1, 2, 50});
        const ExactSum exact = exact_sum(xs.span());
        const T r = exact.round<T>();
        RC_PRE(is_finite(r)); // float16: such sums fit the format in which they are made, float
        RC_ASSERT(error_in_ulps(r, exact) <= 0.5);
        RC_ASSERT(error_in_ulps(next_up(r), exact) >= 0.5);
        RC_ASSERT(error_in_ulps(next_down(r), exact) >= error_in_ulps(r, exact));
    });
}

TEST_CASE("error of 16-bit results, which need not have the format of the inputs", "[metrics]") {
    REQUIRE(error_in_ulps(number<bfloat16>(1), sum_of<float>({1, 0x1p-8f})) == 0.5);
    REQUIRE(error_in_ulps(number<float16>(1), sum_of<float>({1, 0x1p-12f})) == 0.25);
    REQUIRE(error_in_ulps(smallest<float16>, sum_of<double>({0x1p-25})) == 0.5);
    REQUIRE(error_in_ulps(infinity<float16>, sum_of<float16>({largest<float16>, largest<float16>})) == 0.0);
    REQUIRE(error_in_ulps(131008.0f, sum_of<float16>({largest<float16>, largest<float16>})) == 0.0);
    REQUIRE(relative_error(number<bfloat16>(3), sum_of<float16>({number<float16>(4)})) == 0.25);
}

TEST_CASE("relative error and condition number", "[metrics]") {
    REQUIRE(relative_error(1.0f, sum_of<float>({1})) == 0.0);
    REQUIRE(relative_error(2.0f, sum_of<float>({1, 3})) == 0.5);
    REQUIRE(relative_error(-4.0f, sum_of<float>({4})) == 2.0);
    REQUIRE(relative_error(1.0, sum_of<double>({3})) == 2.0 / 3.0);
    REQUIRE(relative_error(0.0f, sum_of<float>({1, -1})) == 0.0);
    REQUIRE(relative_error(-0.0f, sum_of<float>({1, -1})) == 0.0);
    REQUIRE(relative_error(1.0f, sum_of<float>({1, -1})) == HUGE_VAL);
    REQUIRE(relative_error(1e308, sum_of<double>({5e-324})) == HUGE_VAL); // beyond double
    REQUIRE(condition_number(sum_of<float>({1, 2, 3})) == 1.0);
    REQUIRE(condition_number(sum_of<float>({-1, -2})) == 1.0);
    REQUIRE(condition_number(sum_of<float>({3, -1})) == 2.0);
    REQUIRE(condition_number(sum_of<double>({1, 0x1p-1074, -1})) == HUGE_VAL); // 2^1075 is beyond double
    REQUIRE(condition_number(sum_of<double>({1, 0x1p-1000, -1})) == 0x1p1001);
    REQUIRE(condition_number(sum_of<float>({1, -1})) == HUGE_VAL);
    REQUIRE(condition_number(sum_of<float>({})) == HUGE_VAL);
    REQUIRE(std::isnan(condition_number(sum_of<float>({HUGE_VALF}))));
}

TEST_CASE("quotients are correctly rounded", "[metrics]") {
    property("as the hardware divides", [] {
        const double a = std::fabs((*value<double>(Scope{-400, 400, false, false})).x);
        const double b = std::fabs((*value<double>(Scope{-400, 400, false, false})).x);
        RC_PRE(b != 0);
        RC_ASSERT(round_quotient(scaled_value(a), scaled_value(b)) == a / b);
    });
    REQUIRE(round_quotient(1, cpp_int(1) << 1074u) == 0x1p-1074);
    REQUIRE(round_quotient(1, cpp_int(1) << 1075u) == 0.0);                              // a tie, to even
    REQUIRE(round_quotient((cpp_int(1) << 200u) + 1, cpp_int(1) << 1275u) == 0x1p-1074); // just above that tie
}

TEMPLATE_TEST_CASE("distinct bit patterns", "[metrics]", float16, bfloat16, float, double) {
    using T = TestType;
    BitPatterns<T> patterns;
    REQUIRE(patterns.distinct() == 0);
    REQUIRE(patterns.max_ulp_distance() == 0);
    const T one = number<T>(1), next = next_up(one), minus_one = number<T>(-1);
    for (const T x : {one, next, one, one})
        patterns.add(x);
    REQUIRE(patterns.distinct() == 2);
    REQUIRE(patterns.total() == 4);
    REQUIRE(patterns.counts().at(fp::to_bits(one)) == 3);
    REQUIRE(patterns.max_ulp_distance() == 1);
    patterns.add(minus_one);
    REQUIRE(patterns.max_ulp_distance() == ulp_distance(minus_one, next));
    patterns.add(quiet_nan<T>);
    REQUIRE(patterns.distinct() == 4);
    REQUIRE(patterns.max_ulp_distance() == far_away);
    BitPatterns<T> zeros;
    zeros.add(number<T>(0));
    zeros.add(number<T>(-0.0));
    REQUIRE(zeros.distinct() == 2);
    REQUIRE(zeros.max_ulp_distance() == 1);
}
