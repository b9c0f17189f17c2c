// The oracle against MPFR, against hand-made ties and edges, and across carry passes.
#include <cmath>

#include <support/bits.hpp>
#include <support/property.hpp>

#include <detreduce/accuracy/moments_oracle.hpp>
#include <detreduce/accuracy/oracle.hpp>
#include <detreduce/accuracy/second_oracle.hpp>

using namespace detreduce;
using namespace detreduce::accuracy;
using namespace detreduce::proptests;

namespace {

template <class T>
bool same_bits(T a, T b) {
    return fp::to_bits(fp::canonical(a)) == fp::to_bits(fp::canonical(b));
}

template <class T>
T rounded(std::initializer_list<T> xs) {
    return correctly_rounded_sum(std::span<const T>(xs.begin(), xs.size()));
}

} // namespace

TEMPLATE_TEST_CASE("the oracle agrees with MPFR", "[oracle]", float16, bfloat16, float, double) {
    using T = TestType;
    const std::vector<std::size_t> lengths{0, 1, 2, 3, 40, 300};
    property("any numbers", [&] {
        const Values<T> xs = *values<T>(any_bits<T>, lengths);
        RC_ASSERT(same_bits(correctly_rounded_sum(xs.span()), mpfr_sum(xs.span())));
    });
    property("finite numbers", [&] {
        const Values<T> xs = *values<T>(finite_bits<T>, lengths);
        RC_ASSERT(same_bits(correctly_rounded_sum(xs.span()), mpfr_sum(xs.span())));
    });
    property("sums that nearly vanish", [&] {
        const Values<T> xs = *values<T>(no_overflow<T>, lengths);
        std::vector<T> ys = xs.xs;
        for (const T x : xs.xs)
            ys.push_back(fp::negated(x));
        ys.push_back(*value<T>(no_overflow<T>));
        RC_ASSERT(same_bits(correctly_rounded_sum(std::span<const T>(ys)), mpfr_sum(std::span<const T>(ys))));
    });
}

TEMPLATE_TEST_CASE("the oracle agrees with MPFR on raw random bits", "[oracle]", float16, bfloat16, float, double) {
    using T = TestType;
    int checked = 0;
    for (std::uint64_t seed = 0; seed < 20000; ++seed) {
        std::vector<T> xs(1 + seed % 7);
        for (std::size_t i = 0; i < xs.size(); ++i)
            xs[i] = fp::from_bits<T>(static_cast<fp::Bits<T>>(accuracy::hash(seed, i)));
        const std::span<const T> view(xs);
        if (!same_bits(correctly_rounded_sum(view), mpfr_sum(view))) FAIL("seed " << seed);
        ++checked;
    }
    REQUIRE(checked == 20000);
}

TEMPLATE_TEST_CASE("a sum of any mix of formats rounds once", "[oracle]", float16, bfloat16, float, double) {
    using T = TestType;
    constexpr fp::Format<T> format;
    const Scope around_range{format.min_exponent - 30, format.max_exponent + 3, false, false};
    const Scope scope = fp::is_f64<T> ? finite_bits<double> : around_range;
    property("mixed formats", [&] {
        const Values<double> xs = *values<double>(scope, {0, 1, 2, 50});
        const Values<float16> ys = *values<float16>(finite_bits<float16>, {0, 1, 5});
        const Values<bfloat16> zs = *values<bfloat16>(finite_bits<bfloat16>, {0, 1, 5});
        ExactSum sum;
        MpfrSum second;
        const auto add = [&](auto span) {
            sum.add(span);
            second.add(span);
        };
        add(xs.span());
        if (xs.size() % 2) add(ys.span());
        if (xs.size() % 3) add(zs.span());
        RC_ASSERT(same_bits(sum.round<T>(), second.round<T>()));
    });
}

TEMPLATE_TEST_CASE("both oracles give every 16-bit number back", "[oracle]", float16, bfloat16) {
    using T = TestType;
    std::uint32_t numbers = 0;
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        const T x = fp::from_bits<T>(static_cast<fp::Bits<T>>(bits));
        const std::span<const T> one(&x, 1);
        if (!same_bits(correctly_rounded_sum(one), x) || !same_bits(mpfr_sum(one), x)) FAIL(bits);
        numbers += !fp::is_nan(x);
    }
    REQUIRE(numbers == 65536 - 2 * ((1u << (fp::Format<T>::precision - 1)) - 1));
}

TEMPLATE_TEST_CASE("between two neighbours, the middle goes to the even one and all else to the nearer", "[oracle]",
                   float16, bfloat16, float, double) {
    using T = TestType;
    property("neighbours", [] {
        const T drawn = *value<T>(finite_bits<T>), x = magnitude(drawn);
        const T next = next_up(x);
        const cpp_int below = scaled_value(x) * 4; // in quarters of 2^-1074
        const cpp_int above =
            is_finite(next) ? cpp_int(scaled_value(next) * 4) : cpp_int(2 * below - scaled_value(next_down(x)) * 4);
        const cpp_int middle = (below + above) / 2;
        const T even = fp::to_bits(x) % 2 == 0 ? x : next;
        RC_ASSERT(same_bits(round_scaled<T>(below, -1076), x));
        RC_ASSERT(same_bits(round_scaled<T>(middle, -1076), even));
        RC_ASSERT(same_bits(round_scaled<T>(middle - 1, -1076), x));
        RC_ASSERT(same_bits(round_scaled<T>(middle + 1, -1076), next));
        RC_ASSERT(same_bits(round_scaled<T>(-middle, -1076), fp::negated(even)));
    });
}

TEMPLATE_TEST_CASE("special values of a sum", "[oracle]", float16, bfloat16, float, double) {
    using T = TestType;
    const T inf = infinity<T>, nan = quiet_nan<T>, max = largest<T>, tiny = smallest<T>;
    const T zero = number<T>(0), one = number<T>(1);
    const auto minus = [](T x) { return fp::negated(x); };
    const auto bits = [](T x) { return fp::to_bits(x); };
    REQUIRE(bits(rounded<T>({})) == bits(zero));
    REQUIRE(bits(rounded<T>({minus(zero)})) == bits(minus(zero)));
    REQUIRE(bits(rounded<T>({minus(zero), minus(zero)})) == bits(minus(zero)));
    REQUIRE(bits(rounded<T>({minus(zero), zero})) == bits(zero));
    REQUIRE(bits(rounded<T>({minus(tiny), tiny})) == bits(zero));
    REQUIRE(bits(rounded<T>({minus(tiny), minus(zero)})) == bits(minus(tiny)));
    REQUIRE(bits(rounded<T>({inf, one})) == bits(inf));
    REQUIRE(bits(rounded<T>({minus(inf), max, max})) == bits(minus(inf)));
    REQUIRE(bits(rounded<T>({inf, minus(inf)})) == fp::Format<T>::canonical_nan);
    REQUIRE(bits(rounded<T>({minus(nan), one})) == fp::Format<T>::canonical_nan);
    REQUIRE(bits(rounded<T>({nan, inf})) == fp::Format<T>::canonical_nan);
    REQUIRE(bits(rounded<T>({max, max})) == bits(inf));
    REQUIRE(bits(rounded<T>({minus(max), minus(max)})) == bits(minus(inf)));
    REQUIRE(bits(rounded<T>({max, max, minus(max)})) == bits(max));
    // Overflow starts at the largest number plus half of its last place, where the tie goes to the
    // even 2^emax+1.
    const T half_place = number<T>(std::ldexp(1.0, fp::Format<T>::max_exponent - fp::Format<T>::precision));
    REQUIRE(bits(rounded<T>({max, half_place})) == bits(inf));
    REQUIRE(bits(rounded<T>({max, half_place, minus(tiny)})) == bits(max));
    REQUIRE(bits(rounded<T>({max, half_place, minus(tiny), tiny})) == bits(inf));
}

TEST_CASE("subnormal results of double sums are rounded once", "[oracle]") {
    // Rounding to 24 bits first and to the subnormal grid second would give another float.
    ExactSum sum;
    sum.add(0x1.000001p-140); // 2^-140 is 512 smallest subnormals; 2^-164 is far below half of one
    REQUIRE(fp::to_bits(sum.round<float>()) == 512);
    sum.add(0x1p-150); // half of one, and the bit below decides
    REQUIRE(fp::to_bits(sum.round<float>()) == 513);
    sum.add(-0x1p-164);
    REQUIRE(fp::to_bits(sum.round<float>()) == 512); // the tie, to even
}

TEMPLATE_TEST_CASE("the exact sum does not depend on the order and knows the sum of magnitudes", "[oracle]", float16,
                   bfloat16, float, double) {
    using T = TestType;
    property("shuffled", [] {
        const Values<T> xs = *values<T>(finite_bits<T>, {0, 1, 30});
        std::vector<T> shuffled = xs.xs, magnitudes = xs.xs;
        accuracy::shuffle(std::span<T>(shuffled), 7);
        for (T& x : magnitudes)
            x = magnitude(x);
        const ExactSum a = exact_sum(xs.span()), b = exact_sum(std::span<const T>(shuffled));
        RC_ASSERT(a.scaled() == b.scaled());
        RC_ASSERT(a.scaled_abs() == exact_sum(std::span<const T>(magnitudes)).scaled());
        cpp_int naive = 0;
        for (const T x : xs.xs)
            naive += scaled_value(x);
        RC_ASSERT(a.scaled() == naive);
    });
}

TEMPLATE_TEST_CASE("the spread is half of the sum of all squared differences", "[oracle]", float16, bfloat16, float,
                   double) {
    using T = TestType;
    property("pairs", [] {
        const Values<T> xs = *values<T>(finite_bits<T>, {1, 2, 30});
        RC_PRE(!xs.xs.empty());
        MomentsOracle oracle;
        oracle.add(xs.span());
        cpp_int pairs = 0;
        for (std::size_t i = 0; i < xs.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                const cpp_int difference = scaled_value(xs.xs[i]) - scaled_value(xs.xs[j]);
                pairs += difference * difference;
            }
        }
        RC_ASSERT(oracle.spread() == pairs);
    });
}

TEST_CASE("variances are rounded once", "[oracle]") {
    const auto variance = [](std::vector<double> x, std::uint64_t ddof, bool root) {
        MomentsOracle oracle;
        oracle.add(std::span<const double>(x));
        return oracle.round_variance<double>(ddof, root);
    };
    REQUIRE(variance({1, 2, 3, 4}, 0, false) == 1.25);
    REQUIRE(variance({1, 2, 3, 4}, 1, false) == 5.0 / 3);
    REQUIRE(variance({1, 2, 3, 4, 5, 6}, 1, true) == std::sqrt(3.5));
    REQUIRE(variance({5, 5, 5}, 0, false) == 0);
    REQUIRE(variance({1e300, -1e300}, 0, true) == 1e300);
    REQUIRE(std::isinf(variance({1e300, -1e300}, 0, false)));
    REQUIRE(std::isnan(variance({1, HUGE_VAL}, 0, false)));
    // 1 + 2^-53, between 1 and the next double, and a little more or less: (a² + b²)/2 of ±a, ±b.
    REQUIRE(variance({1, -1, 1, -1}, 0, false) == 1);
    REQUIRE(variance({1, -1, 0x1p-26, -0x1p-26}, 0, false) == 0.5 * (1 + 0x1p-52));
    REQUIRE(variance({1, -1, 0x1p-27, -0x1p-27}, 0, false) == 0.5);
    REQUIRE(variance({1, -1, 0x1.6a09e7p-27, -0x1.6a09e7p-27}, 0, false) == 0.5 * (1 + 0x1p-52));
    REQUIRE(variance({1, -1, 0x1.6a09e6p-27, -0x1.6a09e6p-27}, 0, false) == 0.5);
}

TEST_CASE("carry passes change nothing", "[oracle]") {
    FixedPoint<-1074, 1024> rare;
    FixedPoint<-1074, 1024, 1> always;
    FixedPoint<-1074, 1024, 7> often;
    cpp_int naive = 0;
    for (std::uint64_t i = 0; i < 5000; ++i) {
        const std::uint64_t mantissa = accuracy::hash(1, i) >> (i % 64);
        const int exponent = static_cast<int>(accuracy::hash(2, i) % 2035) - 1074;
        rare.add(mantissa, exponent);
        always.add(mantissa, exponent);
        often.add(mantissa, exponent);
        REQUIRE(often.adds_since_carry() == i % 7 + 1); // carried as often as lanes need it
        naive += scaled_value(Parts{mantissa, exponent, false});
    }
    REQUIRE(rare.scaled() == naive);
    REQUIRE(always.scaled() == naive);
    REQUIRE(often.scaled() == naive);
}

// Seconds, so only when asked for: detreduce_accuracy_tests "[slow]". A static_assert says the
// same.
TEST_CASE("3·2^30 of the worst terms do not overflow a lane", "[.][slow]") {
    FixedPoint<-1074, 1024> sum;
    const std::uint64_t terms = std::uint64_t{3}
                                << 30; // without the carry pass on the way, the second lane would overflow
    for (std::uint64_t i = 0; i < terms; ++i)
        sum.add(~std::uint64_t{0}, -1074 + 31);
    cpp_int expected = ~std::uint64_t{0};
    expected *= terms;
    expected <<= 31u;
    REQUIRE((sum.scaled() == expected));
}

TEST_CASE("huge counts: the sum of 2^22 + 1 equal terms is one product", "[oracle]") {
    ExactSum sum;
    const std::uint64_t terms = (std::uint64_t{1} << 22) + 1;
    for (std::uint64_t i = 0; i < terms; ++i)
        sum.add(0.1f);
    REQUIRE(sum.count() == terms);
    const cpp_int expected = scaled_value(0.1f) * terms;
    REQUIRE((sum.scaled() == expected));
}
