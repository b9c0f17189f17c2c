#include <algorithm>
#include <cmath>
#include <set>

#include <support/catch.hpp>
#include <support/numbers.hpp>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/accuracy/metrics.hpp>

using namespace detreduce;
using namespace detreduce::accuracy;
using namespace detreduce::proptests;

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

/// The values, exactly.
template <class T>
std::vector<double> doubles(const std::vector<T>& xs) {
    std::vector<double> wide;
    for (const T x : xs)
        wide.push_back(static_cast<double>(fp::widen(x)));
    return wide;
}

/// All values are such that holds(x).
template <class T>
bool all_of(const std::vector<T>& xs, bool (*holds)(double)) {
    const std::vector<double> wide = doubles(xs);
    return std::all_of(wide.begin(), wide.end(), holds);
}

template <class T>
bool all_normal(const std::vector<T>& xs) {
    return std::all_of(xs.begin(), xs.end(), [](T x) {
        return is_finite(x) && fp::magnitude_bits(x) >= fp::magnitude_bits(smallest_normal<T>);
    });
}

/// What generate() says n elements of T can reach.
template <class T>
double possible_condition(std::size_t n) {
    const std::size_t cancelled = n / 2 * (fp::Format<T>::precision - 3);
    const std::size_t exponents = std::is_same_v<T, float16> ? 36 : std::is_same_v<T, double> ? 1023 : 160;
    return std::ldexp(1.0, static_cast<int>(std::min(cancelled, exponents)));
}

struct Moments {
    double mean, variance;
};
template <class T>
Moments moments(const std::vector<T>& xs) {
    double sum = 0, squares = 0;
    for (const double x : doubles(xs)) {
        sum += x;
        squares += x * x;
    }
    const double n = static_cast<double>(xs.size()), mean = sum / n;
    return {mean, squares / n - mean * mean};
}

} // namespace

/// Fingerprints of 1000 elements of seed 42. A change here changes everybody's test data.
struct Golden {
    Family family;
    std::uint64_t f32, f64, f16, bf16;
};
constexpr Golden golden[]{
    {Family::uniform, 0x8700607e73abc73au, 0x8f692fad279ffe1bu, 0x12856d399c2cc224u, 0x9bc44083340f46c0u},
    {Family::normal, 0x5499380c64d68e57u, 0x197cc4ff03b5f679u, 0xf211534f1f67ff15u, 0xe6f34cb22adb2248u},
    {Family::lognormal, 0xf975fbf34dc94f94u, 0x8472b4ca35e1413cu, 0xf9ec25c5b12541d1u, 0xe42ef96d771dd7bau},
    {Family::constant, 0x528ee69f6bbb4cb0u, 0xa6faf61c0bd7b7c9u, 0x671500107f47f45fu, 0xa7d533c8a89b6d09u},
    {Family::alternating, 0x8531a40bdc4836ccu, 0x7b8194497feec9e5u, 0x88779685d08b9783u, 0xc156b4c19ca1ada6u},
    {Family::sorted, 0xde59bc6e37e572a3u, 0xac8cfe3a160bcd36u, 0x399b2228ba1c188eu, 0x8f5d073b612fa5c6u},
    {Family::subnormal, 0x4c836541e0dc730eu, 0x7fded483591f4bau, 0x3156cffb67d707e6u, 0xb9584516f9d32314u},
    {Family::boundary_mantissas, 0xf5ef37c950a39376u, 0xe0565e07ac12df17u, 0xcd8374fdffe32112u, 0x9de9585df07ae22u},
    {Family::specials, 0x2e3ff9a211ff20f9u, 0xa67cf416d6aa1465u, 0x6f62f3f0f4caa549u, 0x1b3a6d4bd7d4831du},
    {Family::nonfinite, 0xc3e2dd85eb89884cu, 0xe80b7d0cb66efd4u, 0x29534b5e07906279u, 0xa4bd974d673be9a1u},
    {Family::integers, 0xec48f84c274e8590u, 0x96b630c0ab2f12c3u, 0x92138d2d422949bu, 0xfcf508e3b11a5d8du},
    {Family::wide, 0x47ddad4fd9e87187u, 0x749bbc2a525354c7u, 0x901c7a966786917au, 0xf94a062ed687f62bu},
    {Family::ill_conditioned, 0xa79dbbcd42190f07u, 0x19d36c3d6423268fu, 0x217f2ed25184a884u, 0x5b2040b2b6298d79u},
    {Family::half_zeros, 0xec133d5c54231ce5u, 0xcd899cc3b96f7abeu, 0x638efde830ad6a4cu, 0x610f9e27c4ae9ec2u},
    {Family::outlier, 0xf6eaad25bf9cd124u, 0x8adb6811f4e2b5d9u, 0x62a4f45e6366a11u, 0xd09c6e6c1967ce1eu},
};

TEST_CASE("generated bits are the same for ever", "[generators]") {
    REQUIRE(std::size(golden) == families().size());
    for (const Golden& g : golden) {
        const std::uint64_t now[]{fingerprint<float>(g.family), fingerprint<double>(g.family),
                                  fingerprint<float16>(g.family), fingerprint<bfloat16>(g.family)};
        INFO(std::hex << "{Family::" << name(g.family) << ", 0x" << now[0] << "u, 0x" << now[1] << "u, 0x" << now[2]
                      << "u, 0x" << now[3] << "u},");
        CHECK(now[0] == g.f32);
        CHECK(now[1] == g.f64);
        CHECK(now[2] == g.f16);
        CHECK(now[3] == g.bf16);
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

TEMPLATE_TEST_CASE("seeds differ, lengths agree, prefixes stay", "[generators]", float16, bfloat16, float, double) {
    using T = TestType;
    for (const Family family : families()) {
        INFO(name(family));
        for (const std::size_t n : {0u, 1u, 2u, 3u, 100u})
            REQUIRE(generate<T>(family, n, 1).size() == n);
        REQUIRE(fingerprint<T>(family, 100, 1) != fingerprint<T>(family, 100, 2));
        if (family == Family::ill_conditioned || family == Family::sorted || family == Family::nonfinite ||
            family == Family::outlier)
            continue;
        const auto shorter = generate<T>(family, 50, 3), longer = generate<T>(family, 90, 3);
        REQUIRE(std::equal(shorter.begin(), shorter.end(), longer.begin(),
                           [](T a, T b) { return fp::to_bits(a) == fp::to_bits(b); }));
    }
}

TEMPLATE_TEST_CASE("distributions", "[generators]", float16, bfloat16, float, double) {
    using T = TestType;
    const auto uniform = generate<T>(Family::uniform, 100'000, 5);
    REQUIRE(all_of<T>(uniform, [](double x) { return x >= -1 && x < 1; }));
    REQUIRE(std::fabs(moments(uniform).mean) < 0.01);
    REQUIRE(std::fabs(moments(uniform).variance - 1.0 / 3) < 0.01);
    const auto normal = generate<T>(Family::normal, 100'000, 5);
    REQUIRE(all_of<T>(normal, [](double x) { return std::fabs(x) <= 6; }));
    REQUIRE(std::fabs(moments(normal).mean) < 0.02);
    REQUIRE(std::fabs(moments(normal).variance - 1) < 0.02);
    auto lognormal = doubles(generate<T>(Family::lognormal, 100'001, 5, {.sigma = 2}));
    REQUIRE(all_of<double>(lognormal, [](double x) { return x > 0; }));
    std::sort(lognormal.begin(), lognormal.end());
    REQUIRE(std::fabs(lognormal[50'000] - 1) < 0.05); // median exp(0)
    REQUIRE(std::fabs(lognormal[84'134] / std::exp(2.0) - 1.03) <
            0.08); // one sigma up; the interpolation adds up to 6 %
    const auto extreme = generate<T>(Family::lognormal, 1000, 5, {.sigma = 1e6});
    REQUIRE(all_of<T>(extreme, [](double x) { return x > 0; }));
    REQUIRE(all_normal(extreme));
}

TEMPLATE_TEST_CASE("mantissas are full", "[generators]", float16, bfloat16, float, double) {
    for (const Family family : {Family::uniform, Family::normal, Family::lognormal, Family::wide, Family::constant}) {
        std::size_t odd = 0;
        for (std::uint64_t seed = 0; seed < 200; ++seed)
            odd += fp::to_bits(generate<TestType>(family, 1, seed)[0]) & 1;
        INFO(name(family));
        REQUIRE(odd > 30);
    }
}

TEMPLATE_TEST_CASE("16-bit elements of real distributions are float's, rounded once", "[generators]", float16,
                   bfloat16) {
    using T = TestType;
    for (const Family family : {Family::normal, Family::lognormal, Family::half_zeros}) {
        INFO(name(family));
        const auto narrow = generate<T>(family, 10'000, 5);
        const auto wide = generate<float>(family, 10'000, 5);
        std::size_t rounded = 0;
        for (std::size_t i = 0; i < wide.size(); ++i) {
            ExactSum one;
            one.add(wide[i]);
            REQUIRE(fp::to_bits(narrow[i]) == fp::to_bits(one.round<T>()));
            rounded += fp::widen(narrow[i]) != wide[i];
        }
        REQUIRE(rounded > 4000);
    }
}

TEMPLATE_TEST_CASE("uniform reaches every multiple of its step", "[generators]", float16, bfloat16) {
    const auto xs = doubles(generate<TestType>(Family::uniform, 200'000, 5));
    const std::set<double> seen(xs.begin(), xs.end());
    REQUIRE(seen.size() == std::size_t{2} << fp::Format<TestType>::precision);
}

TEMPLATE_TEST_CASE("patterns", "[generators]", float16, bfloat16, float, double) {
    using T = TestType;
    const auto constant = doubles(generate<T>(Family::constant, 1000, 5));
    REQUIRE(all_of<double>(constant, [](double x) { return x >= 1 && x < 2; }));
    REQUIRE(std::count(constant.begin(), constant.end(), constant[0]) == 1000);
    const auto alternating = generate<T>(Family::alternating, 1000, 5);
    REQUIRE(exact(alternating).scaled() == 0);
    for (std::size_t i = 0; i < 1000; i += 2)
        REQUIRE(fp::to_bits(alternating[i]) == fp::to_bits(fp::negated(alternating[i + 1])));
    REQUIRE(fp::to_bits(alternating[0]) != fp::to_bits(alternating[2]));
    const auto sorted = doubles(generate<T>(Family::sorted, 10'000, 5));
    const auto nearer_to_zero = [](double a, double b) { return std::fabs(a) < std::fabs(b); };
    REQUIRE(std::is_sorted(sorted.begin(), sorted.end(), nearer_to_zero));
    REQUIRE(std::any_of(sorted.begin(), sorted.end(), [](double x) { return x < 0; }));
    REQUIRE(std::fabs(sorted[9'999]) <= 1);
    REQUIRE(std::fabs(sorted[9'999]) > 0.99);
    const auto integers = doubles(generate<T>(Family::integers, 10'000, 5));
    REQUIRE(all_of<double>(integers, [](double x) { return x == std::trunc(x) && std::fabs(x) <= 16; }));
    REQUIRE(std::set<double>(integers.begin(), integers.end()).size() == 33);
}

TEMPLATE_TEST_CASE("zeros and outliers among normal numbers", "[generators]", float16, bfloat16, float, double) {
    using T = TestType;
    const std::size_t n = 10'000;
    const auto normal = generate<T>(Family::normal, n, 5), half_zeros = generate<T>(Family::half_zeros, n, 5);
    std::size_t zeros = 0, negative = 0;
    for (std::size_t i = 0; i < n; ++i) {
        zeros += fp::to_bits(half_zeros[i]) == 0; // +0
        REQUIRE((fp::to_bits(half_zeros[i]) == 0 || fp::to_bits(half_zeros[i]) == fp::to_bits(normal[i])));
    }
    REQUIRE(zeros > 4800);
    REQUIRE(zeros < 5200);
    std::set<std::size_t> places;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const auto calm = generate<T>(Family::normal, 100, seed), wild = generate<T>(Family::outlier, 100, seed);
        std::vector<std::size_t> different;
        for (std::size_t i = 0; i < 100; ++i)
            if (fp::to_bits(calm[i]) != fp::to_bits(wild[i])) different.push_back(i);
        REQUIRE(different.size() == 1);
        const double huge = static_cast<double>(fp::widen(wild[different[0]]));
        const double max = static_cast<double>(fp::widen(largest<T>));
        REQUIRE(std::fabs(huge) == (std::is_same_v<T, float16> ? max / 2 : std::ldexp(max, -64)));
        negative += huge < 0;
        places.insert(different[0]);
    }
    REQUIRE(places.size() > 40);
    REQUIRE(negative > 20);
    REQUIRE(negative < 80);
}

TEMPLATE_TEST_CASE("bits", "[generators]", float16, bfloat16, float, double) {
    using T = TestType;
    const auto subnormal = generate<T>(Family::subnormal, 1000, 5);
    REQUIRE(std::all_of(subnormal.begin(), subnormal.end(),
                        [](T x) { return fp::magnitude_bits(x) < fp::magnitude_bits(smallest_normal<T>); }));
    REQUIRE(std::count_if(subnormal.begin(), subnormal.end(), [](T x) { return is_zero(x); }) < 50);
    const auto boundary = generate<T>(Family::boundary_mantissas, 1000, 5);
    std::set<std::uint64_t> fractions;
    for (const T x : boundary)
        fractions.insert(parts(x).mantissa);
    REQUIRE(fractions.size() == 6);
    REQUIRE(all_normal(boundary));
    const auto specials = generate<T>(Family::specials, 1000, 5);
    std::set<std::uint64_t> patterns;
    for (const T x : specials)
        patterns.insert(fp::to_bits(x));
    REQUIRE(patterns.size() == 16); // 8 magnitudes, both signs
    REQUIRE(patterns.count(fp::sign_mask<T>) == 1);
    REQUIRE(patterns.count(fp::to_bits(smallest<T>)) == 1);
    REQUIRE(patterns.count(fp::to_bits(smallest_normal<T>)) == 1);
    REQUIRE(patterns.count(fp::to_bits(next_up(number<T>(1)))) == 1);
    REQUIRE(exact(specials).all_finite());
}

TEMPLATE_TEST_CASE("wide covers its binades, as many as there are", "[generators]", float16, bfloat16, float, double) {
    using T = TestType;
    constexpr int all = 2 * fp::Format<T>::max_exponent;
    for (const int binades : {1, 7, 100, 100'000}) {
        const auto wide = generate<T>(Family::wide, 50'000, 5, {.binades = binades});
        std::set<int> exponents;
        for (const double x : doubles(wide))
            exponents.insert(std::ilogb(x));
        INFO(binades);
        REQUIRE(exponents.size() == static_cast<std::size_t>(std::min(binades, all)));
        REQUIRE(*exponents.begin() == std::max(-(binades / 2), 1 - fp::Format<T>::max_exponent));
        REQUIRE(all_normal(wide));
    }
}

TEMPLATE_TEST_CASE("nonfinite holds what its seed says", "[generators]", float16, bfloat16, float, double) {
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

TEMPLATE_TEST_CASE("the requested condition number is reached within a factor of 4", "[generators]", float16, bfloat16,
                   float, double) {
    using T = TestType;
    const double highest = std::is_same_v<T, double> ? 0x1p1000 : 0x1p160;
    for (const double condition : {1.0, 1.5, 3.0, 10.0, 1e4, 1e8, 1e12, 1e20, 1e30, 1e45, highest})
        for (const std::size_t n : {100u, 1000u, 20'000u})
            for (std::uint64_t seed = 0; seed < (n > 1000 ? 2 : 10); ++seed) {
                const double reached =
                    condition_number(exact(generate<T>(Family::ill_conditioned, n, seed, {.condition = condition})));
                INFO("asked " << condition << ", n " << n << ", seed " << seed << ", reached " << reached);
                const double possible = std::min(condition, possible_condition<T>(n));
                REQUIRE(reached <= 4 * possible);
                REQUIRE(reached >= possible / 4);
            }
}

TEMPLATE_TEST_CASE("few elements reach what they can", "[generators]", float16, bfloat16, float, double) {
    using T = TestType;
    for (std::size_t n = 1; n < 40; ++n)
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const double reached =
                condition_number(exact(generate<T>(Family::ill_conditioned, n, seed, {.condition = 1e40})));
            const double possible = std::min(1e40, possible_condition<T>(n));
            INFO("n " << n << ", seed " << seed << ", reached " << reached << ", possible " << possible);
            REQUIRE(reached <= 4 * possible);
            REQUIRE(reached >= possible / 4);
        }
    for (const double bad : {0.5, -1.0, HUGE_VAL, std::nan("")})
        REQUIRE_THROWS_AS(generate<T>(Family::ill_conditioned, 10, 1, {.condition = bad}), std::invalid_argument);
}

TEST_CASE("ill-conditioned sums of float16 stay finite however long they are", "[generators]") {
    for (const double condition : {1.0, 1.5, 100.0, 1e12}) {
        const ExactSum sum =
            exact(generate<float16>(Family::ill_conditioned, std::size_t{1} << 20, 1, {.condition = condition}));
        const double reached = condition_number(sum), possible = std::min(condition, 0x1p36);
        INFO("asked " << condition << ", reached " << reached);
        REQUIRE(sum.all_finite());
        REQUIRE(reached <= 4 * possible);
        REQUIRE(reached >= possible / 4);
    }
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
    // First outputs of the reference implementation for state 1234567 (published with
    // xoshiro: 6457827717110365317, …).
    std::uint64_t state = 1234567;
    state += 0x9e3779b97f4a7c15u;
    REQUIRE(mix(state) == 6457827717110365317u);
    state += 0x9e3779b97f4a7c15u;
    REQUIRE(mix(state) == 3203168211198807973u);
}
