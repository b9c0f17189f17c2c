#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <support/catch.hpp>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/accuracy/metrics.hpp>

using namespace detreduce;
using namespace detreduce::accuracy;

namespace {

template <class T>
std::uint64_t fingerprint(Family family, std::size_t n = 1000, std::uint64_t seed = 42) {
    std::uint64_t h = 0;
    for (const T x : generate<T>(family, n, seed))
        h = mix(h ^ fp::to_bits(x)) + 1;
    return h;
}

template <class T>
ExactSum exact(const std::vector<T>& xs) {
    return exact_sum(std::span<const T>(xs));
}

template <class T>
bool all_of(const std::vector<T>& xs, bool (*holds)(T)) {
    return std::all_of(xs.begin(), xs.end(), holds);
}

struct Moments {
    double mean, variance;
};
template <class T>
Moments moments(const std::vector<T>& xs) {
    double sum = 0, squares = 0;
    for (const T x : xs) {
        sum += x;
        squares += static_cast<double>(x) * x;
    }
    const double n = static_cast<double>(xs.size()), mean = sum / n;
    return {mean, squares / n - mean * mean};
}

} // namespace

/// fingerprint<float> and fingerprint<double> of 1000 elements of seed 42. A change here changes everybody's test data.
struct Golden {
    Family family;
    std::uint64_t f32, f64;
};
constexpr Golden golden[]{
    {Family::uniform, 0x8700607e73abc73au, 0x8f692fad279ffe1bu},
    {Family::normal, 0x5499380c64d68e57u, 0x197cc4ff03b5f679u},
    {Family::lognormal, 0xf975fbf34dc94f94u, 0x8472b4ca35e1413cu},
    {Family::constant, 0x528ee69f6bbb4cb0u, 0xa6faf61c0bd7b7c9u},
    {Family::alternating, 0x8531a40bdc4836ccu, 0x7b8194497feec9e5u},
    {Family::sorted, 0xde59bc6e37e572a3u, 0xac8cfe3a160bcd36u},
    {Family::subnormal, 0x4c836541e0dc730eu, 0x7fded483591f4bau},
    {Family::boundary_mantissas, 0xf5ef37c950a39376u, 0xe0565e07ac12df17u},
    {Family::specials, 0x2e3ff9a211ff20f9u, 0xa67cf416d6aa1465u},
    {Family::nonfinite, 0xc3e2dd85eb89884cu, 0xe80b7d0cb66efd4u},
    {Family::integers, 0xec48f84c274e8590u, 0x96b630c0ab2f12c3u},
    {Family::wide, 0x47ddad4fd9e87187u, 0x749bbc2a525354c7u},
    {Family::ill_conditioned, 0xa79dbbcd42190f07u, 0x19d36c3d6423268fu},
};

TEST_CASE("generated bits are the same for ever", "[generators]") {
    REQUIRE(std::size(golden) == families().size());
    for (const Golden& g : golden) {
        INFO(name(g.family) << " {0x" << std::hex << fingerprint<float>(g.family) << "u, 0x"
                            << fingerprint<double>(g.family) << "u}");
        CHECK(fingerprint<float>(g.family) == g.f32);
        CHECK(fingerprint<double>(g.family) == g.f64);
    }
}

TEST_CASE("families have names that parse back", "[generators]") {
    std::set<std::string_view> names;
    for (const Family family : families()) {
        REQUIRE(parse_family(name(family)) == family);
        names.insert(name(family));
    }
    REQUIRE(names.size() == families().size());
    REQUIRE_FALSE(parse_family("gaussian"));
}

TEMPLATE_TEST_CASE("seeds differ, lengths agree, prefixes stay", "[generators]", float, double) {
    using T = TestType;
    for (const Family family : families()) {
        INFO(name(family));
        for (const std::size_t n : {0u, 1u, 2u, 3u, 100u})
            REQUIRE(generate<T>(family, n, 1).size() == n);
        REQUIRE(fingerprint<T>(family, 100, 1) != fingerprint<T>(family, 100, 2));
        if (family == Family::ill_conditioned || family == Family::sorted || family == Family::nonfinite) continue;
        const auto shorter = generate<T>(family, 50, 3), longer = generate<T>(family, 90, 3);
        REQUIRE(std::equal(shorter.begin(), shorter.end(), longer.begin(),
                           [](T a, T b) { return fp::to_bits(a) == fp::to_bits(b); }));
    }
}

TEMPLATE_TEST_CASE("distributions", "[generators]", float, double) {
    using T = TestType;
    const auto uniform = generate<T>(Family::uniform, 100'000, 5);
    REQUIRE(all_of<T>(uniform, [](T x) { return x >= -1 && x < 1; }));
    REQUIRE(std::fabs(moments(uniform).mean) < 0.01);
    REQUIRE(std::fabs(moments(uniform).variance - 1.0 / 3) < 0.01);
    const auto normal = generate<T>(Family::normal, 100'000, 5);
    REQUIRE(all_of<T>(normal, [](T x) { return std::fabs(x) <= 6; }));
    REQUIRE(std::fabs(moments(normal).mean) < 0.02);
    REQUIRE(std::fabs(moments(normal).variance - 1) < 0.02);
    auto lognormal = generate<T>(Family::lognormal, 100'001, 5, {.sigma = 2});
    REQUIRE(all_of<T>(lognormal, [](T x) { return x > 0; }));
    std::sort(lognormal.begin(), lognormal.end());
    REQUIRE(std::fabs(lognormal[50'000] - 1) < 0.05); // median exp(0)
    REQUIRE(std::fabs(lognormal[84'134] / std::exp(2.0) - 1.03) <
            0.08); // one sigma up; the interpolation adds up to 6 %
    REQUIRE(all_of<T>(generate<T>(Family::lognormal, 1000, 5, {.sigma = 1e6}),
                      [](T x) { return x > 0 && std::isnormal(x); }));
}

TEMPLATE_TEST_CASE("mantissas are full", "[generators]", float, double) {
    for (const Family family : {Family::uniform, Family::normal, Family::lognormal, Family::wide, Family::constant}) {
        std::size_t odd = 0;
        for (std::uint64_t seed = 0; seed < 200; ++seed)
            odd += fp::to_bits(generate<TestType>(family, 1, seed)[0]) & 1;
        INFO(name(family));
        REQUIRE(odd > 30);
    }
}

TEMPLATE_TEST_CASE("patterns", "[generators]", float, double) {
    using T = TestType;
    const auto constant = generate<T>(Family::constant, 1000, 5);
    REQUIRE(all_of<T>(constant, [](T x) { return x >= 1 && x < 2; }));
    REQUIRE(std::count(constant.begin(), constant.end(), constant[0]) == 1000);
    const auto alternating = generate<T>(Family::alternating, 1000, 5);
    REQUIRE(exact(alternating).scaled() == 0);
    for (std::size_t i = 0; i < 1000; i += 2)
        REQUIRE(alternating[i] == -alternating[i + 1]);
    REQUIRE(alternating[0] != alternating[2]);
    const auto sorted = generate<T>(Family::sorted, 10'000, 5);
    REQUIRE(std::is_sorted(sorted.begin(), sorted.end(), [](T a, T b) { return std::fabs(a) < std::fabs(b); }));
    REQUIRE(std::any_of(sorted.begin(), sorted.end(), [](T x) { return x < 0; }));
    REQUIRE(std::fabs(sorted[9'999]) <= 1);
    REQUIRE(std::fabs(sorted[9'999]) > 0.99);
    const auto integers = generate<T>(Family::integers, 10'000, 5);
    REQUIRE(all_of<T>(integers, [](T x) { return x == std::trunc(x) && std::fabs(x) <= 16; }));
    REQUIRE(std::set<T>(integers.begin(), integers.end()).size() == 33);
}

TEMPLATE_TEST_CASE("bits", "[generators]", float, double) {
    using T = TestType;
    using Limits = std::numeric_limits<T>;
    const auto subnormal = generate<T>(Family::subnormal, 1000, 5);
    REQUIRE(all_of<T>(subnormal, [](T x) { return std::fpclassify(x) == FP_SUBNORMAL || x == 0; }));
    const auto boundary = generate<T>(Family::boundary_mantissas, 1000, 5);
    std::set<std::uint64_t> fractions;
    for (const T x : boundary)
        fractions.insert(parts(x).mantissa);
    REQUIRE(fractions.size() == 6);
    REQUIRE(all_of<T>(boundary, [](T x) { return std::isnormal(x); }));
    const auto specials = generate<T>(Family::specials, 1000, 5);
    std::set<std::uint64_t> patterns;
    for (const T x : specials)
        patterns.insert(fp::to_bits(x));
    REQUIRE(patterns.size() == 16); // 8 magnitudes, both signs
    REQUIRE(patterns.count(fp::to_bits(-T{0})) == 1);
    REQUIRE(patterns.count(fp::to_bits(Limits::denorm_min())) == 1);
    REQUIRE(patterns.count(fp::to_bits(Limits::min())) == 1);
    REQUIRE(exact(specials).all_finite());
    const auto wide = generate<T>(Family::wide, 10'000, 5);
    std::set<int> exponents;
    for (const T x : wide)
        exponents.insert(std::ilogb(x));
    REQUIRE(exponents.size() == 100);
    REQUIRE(*exponents.begin() == -50);
    REQUIRE(
        all_of<T>(generate<T>(Family::wide, 10'000, 5, {.binades = 100'000}), [](T x) { return std::isnormal(x); }));
}

TEMPLATE_TEST_CASE("nonfinite holds what its seed says", "[generators]", float, double) {
    using T = TestType;
    int nan = 0, positive = 0, negative = 0, both = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        REQUIRE_FALSE(exact(generate<T>(Family::nonfinite, 1, seed)).all_finite());
        const ExactSum sum = exact(generate<T>(Family::nonfinite, 200, seed));
        nan += sum.has_nan();
        positive += sum.has_infinity(false) && !sum.has_infinity(true);
        negative += sum.has_infinity(true) && !sum.has_infinity(false);
        both += sum.has_infinity(true) && sum.has_infinity(false);
    }
    REQUIRE(std::min({nan, positive, negative, both}) > 10);
    REQUIRE(nan + positive + negative + both == 100);
}

TEMPLATE_TEST_CASE("the requested condition number is reached within a factor of 4", "[generators]", float, double) {
    using T = TestType;
    const double highest = sizeof(T) == 4 ? 0x1p160 : 0x1p1000;
    for (const double condition : {1.0, 1.5, 3.0, 10.0, 1e4, 1e8, 1e12, 1e20, 1e30, 1e45, highest})
        for (const std::size_t n : {100u, 1000u, 20'000u})
            for (std::uint64_t seed = 0; seed < (n > 1000 ? 2 : 10); ++seed) {
                const double reached =
                    condition_number(exact(generate<T>(Family::ill_conditioned, n, seed, {.condition = condition})));
                INFO("asked " << condition << ", n " << n << ", seed " << seed << ", reached " << reached);
                const std::size_t steps = n / 2 * (fp::Format<T>::precision - 3);
                const double possible =
                    std::min(condition, std::ldexp(1.0, static_cast<int>(std::min<std::size_t>(steps, 1023))));
                REQUIRE(reached <= 4 * possible);
                REQUIRE(reached >= possible / 4);
            }
}

TEMPLATE_TEST_CASE("few elements reach what they can", "[generators]", float, double) {
    using T = TestType;
    for (std::size_t n = 1; n < 40; ++n)
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const double reached =
                condition_number(exact(generate<T>(Family::ill_conditioned, n, seed, {.condition = 1e40})));
            const double possible =
                std::min(1e40, std::ldexp(1.0, static_cast<int>(n / 2) * (fp::Format<T>::precision - 3)));
            INFO("n " << n << ", seed " << seed << ", reached " << reached << ", possible " << possible);
            REQUIRE(reached <= 4 * possible);
            REQUIRE(reached >= possible / 4);
        }
    for (const double bad : {0.5, -1.0, HUGE_VAL, std::nan("")})
        REQUIRE_THROWS_AS(generate<T>(Family::ill_conditioned, 10, 1, {.condition = bad}), std::invalid_argument);
}

TEST_CASE("shuffle permutes, and every permutation occurs", "[generators]") {
    std::set<std::vector<int>> seen;
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        std::vector<int> xs{1, 2, 3, 4};
        shuffle(std::span<int>(xs), seed);
        seen.insert(xs);
        std::sort(xs.begin(), xs.end());
        REQUIRE(xs == std::vector<int>{1, 2, 3, 4});
    }
    REQUIRE(seen.size() == 24);
}

TEST_CASE("the hash is SplitMix64", "[generators]") {
    // First outputs of the reference implementation for state 1234567 (published with xoshiro: 6457827717110365317, …).
    std::uint64_t state = 1234567;
    state += 0x9e3779b97f4a7c15u;
    REQUIRE(mix(state) == 6457827717110365317u);
    state += 0x9e3779b97f4a7c15u;
    REQUIRE(mix(state) == 3203168211198807973u);
}
