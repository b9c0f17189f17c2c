// The generators tested: they give what they say, and shrinking ends at something small.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <support/bits.hpp>
#include <support/property.hpp>

#include <detreduce/accuracy/oracle.hpp>

using namespace detreduce;
using namespace detreduce::proptests;

namespace {

template <class Testable>
Outcome run(const std::string& id, Testable&& testable) {
    return run_property(id, rc::detail::toProperty(std::forward<Testable>(testable)), default_configuration());
}

template <class T>
std::map<std::string, int> census(const Scope& scope, int draws) {
    std::map<std::string, int> seen;
    for (int i = 0; i < draws; ++i) {
        const T x = number_from<T>(accuracy::hash(9, static_cast<std::uint64_t>(i)), scope);
        REQUIRE(in_scope(x, scope));
        const bool nan = fp::is_nan(x), inf = !nan && !fp::is_finite(x);
        const bool normal = fp::is_finite(x) && fp::magnitude_bits(x) >= fp::magnitude_bits(smallest_normal<T>);
        ++seen[nan ? "nan" : inf ? "inf" : is_zero(x) ? "zero" : normal ? "normal" : "subnormal"];
        seen["-0"] += is_zero(x) && fp::is_negative(x);
        const std::uint64_t quiet = std::uint64_t{1} << (fp::Format<T>::precision - 2);
        seen["signalling nan"] += nan && (fields(x).fraction & quiet) == 0;
        seen["-inf"] += inf && fp::is_negative(x);
        seen["all ones"] += normal && fields(x).fraction == (std::uint64_t{1} << (fp::Format<T>::precision - 1)) - 1;
    }
    return seen;
}

} // namespace

TEMPLATE_TEST_CASE("numbers: every kind occurs in its scope and no other", "", float16, bfloat16, float, double) {
    using T = TestType;
    auto all = census<T>(any_bits<T>, 20'000);
    for (const char* kind : {"nan", "signalling nan", "inf", "-inf", "zero", "-0", "subnormal", "normal", "all ones"}) {
        INFO(kind);
        REQUIRE(all[kind] > 30);
    }
    auto some = census<T>(finite_bits<T>, 20'000);
    REQUIRE(some["nan"] + some["inf"] == 0);
    REQUIRE(some["subnormal"] > 30);
    auto few = census<T>(scalable<T>, 20'000);
    REQUIRE(few["nan"] + few["inf"] + few["subnormal"] == 0);
    REQUIRE(few["-0"] > 30);
}

TEMPLATE_TEST_CASE("numbers: words for those that every format has", "", float16, bfloat16, float, double) {
    using T = TestType;
    const auto value = [](T x) { return static_cast<double>(fp::widen(x)); };
    constexpr int precision = fp::Format<T>::precision, top = fp::Format<T>::max_exponent;
    REQUIRE(value(number<T>(-1.5)) == -1.5);
    REQUIRE(value(infinity<T>) == HUGE_VAL);
    REQUIRE(std::isnan(value(quiet_nan<T>)));
    REQUIRE(value(largest<T>) == std::ldexp(2 - std::ldexp(1, 1 - precision), top));
    REQUIRE(value(smallest<T>) == std::ldexp(1, fp::Format<T>::min_exponent));
    REQUIRE(value(smallest_normal<T>) == std::ldexp(1, 1 - top));
    REQUIRE(value(next_up(number<T>(1))) == 1 + std::ldexp(1, 1 - precision));
    REQUIRE(value(next_down(number<T>(1))) == 1 - std::ldexp(1, -precision));
    REQUIRE(value(next_up(number<T>(-1))) == -1 + std::ldexp(1, -precision));
    REQUIRE(value(next_up(number<T>(-0.0))) == value(smallest<T>));
    REQUIRE(value(next_down(number<T>(0))) == -value(smallest<T>));
    REQUIRE(fp::to_bits(next_up(largest<T>)) == fp::to_bits(infinity<T>));
    REQUIRE(value(magnitude(number<T>(-2))) == 2);
}

TEMPLATE_TEST_CASE("numbers: sums and products stay in the format, as their scopes say", "", float16, bfloat16, float,
                   double) {
    using T = TestType;
    using A = fp::Arithmetic<T>;
    const auto largest_in = [](const Scope& scope) {
        return from_fields<T>({false, scope.highest, ~std::uint64_t{0}});
    };
    // 2^63 − 1 of the largest of `no_overflow`, in the format in which they are added
    REQUIRE(accuracy::scaled_value(largest_in(no_overflow<T>)) * ((std::uint64_t{1} << 63) - 1) <=
            accuracy::scaled_value(largest<A>));
    // sums of `scalable`: not beyond the largest number, and multiples of the smallest normal one
    // (float16: subnormal one)
    const Scope scope = scalable<T>;
    const int count = std::is_same_v<T, float16> ? 17 : 63;
    const auto factor = static_cast<unsigned>(scale_exponent<T>);
    REQUIRE((accuracy::scaled_value(largest_in(scope)) << (factor + static_cast<unsigned>(count))) <=
            accuracy::scaled_value(largest<T>));
    const T place = number<T>(std::ldexp(1.0, scope.lowest));
    const auto last_place = factor + static_cast<unsigned>(fp::Format<T>::precision) - 1;
    const T smallest_sum = std::is_same_v<T, float16> ? smallest<T> : smallest_normal<T>;
    REQUIRE((accuracy::scaled_value(place) >> last_place) >= accuracy::scaled_value(smallest_sum));
    REQUIRE((accuracy::scaled_value(place) >> factor) >= accuracy::scaled_value(smallest_normal<T>)); // bits are kept
    REQUIRE(scope.lowest < scope.highest);
    REQUIRE((std::size_t{1} << std::min(count, 40)) > tree_boundaries<T>().back() + 2);
}

TEMPLATE_TEST_CASE("numbers: exponents cover the scope", "", float16, bfloat16, float, double) {
    using T = TestType;
    std::set<int> exponents;
    for (std::uint64_t i = 0; i < 100'000; ++i)
        exponents.insert(fields(number_from<T>(accuracy::hash(3, i), any_bits<T>)).exponent);
    REQUIRE(exponents.size() == 2 * std::size_t{largest_exponent<T>} + 2);
}

TEMPLATE_TEST_CASE("numbers: fields round-trip and fit fits", "", float16, bfloat16, float, double) {
    using T = TestType;
    property("fields", [](const Value<T>& a) {
        RC_ASSERT(fp::to_bits(from_fields<T>(fields(a.x))) == fp::to_bits(a.x));
        for (const Scope& scope : {finite_bits<T>, no_overflow<T>, scalable<T>, Scope{-2, 1, false, false}}) {
            RC_ASSERT(in_scope(fit(a.x, scope), scope));
            RC_ASSERT(fields(fit(a.x, scope)).negative == fields(a.x).negative);
        }
    });
}

TEMPLATE_TEST_CASE("numbers: shrinking stays in scope and ends", "", float16, bfloat16, float, double) {
    using T = TestType;
    property("any chain of candidates", [](const Value<T>& a, std::uint64_t choices) {
        const Scope scope = *rc::gen::element(any_bits<T>, finite_bits<T>, scalable<T>, Scope{3, 9, false, false});
        T x = fit(a.x, scope);
        int steps = 0;
        for (std::vector<T> next = simpler(x, scope); !next.empty(); next = simpler(x, scope), ++steps) {
            x = next[accuracy::hash(choices, static_cast<std::uint64_t>(steps)) % next.size()];
            RC_ASSERT(in_scope(x, scope));
            RC_ASSERT(steps < 3000);
        }
        RC_ASSERT(fp::to_bits(x) == 0u);
    });
}

TEST_CASE("numbers: a failing case shrinks to the edge") {
    const Outcome outcome =
        run("shrink", [](const Value<double>& a) { RC_ASSERT(!(std::fabs(a.x) >= 6.0 && std::fabs(a.x) < 8.0)); });
    INFO(outcome.message);
    REQUIRE(outcome.message.find("0x1.8p+2") != std::string::npos); // 6 itself
}

TEST_CASE("lengths gather at the boundaries") {
    const std::vector<std::size_t> boundaries{0, 128, 8192};
    std::map<std::size_t, int> seen;
    for (std::uint64_t i = 0; i < 10'000; ++i)
        ++seen[length_from(accuracy::hash(1, i), boundaries)];
    for (const std::size_t n : {0u, 1u, 2u, 126u, 127u, 128u, 129u, 130u, 8190u, 8191u, 8192u, 8193u, 8194u}) {
        INFO(n);
        REQUIRE(seen[n] > 100);
    }
    REQUIRE(seen.rbegin()->first == 8194);
    REQUIRE(seen.size() > 500); // and elsewhere
    REQUIRE(length_from(3, std::vector<std::size_t>{0}) <= 2);
}

TEST_CASE("the boundaries of tree") {
    const auto sizes = tree_boundaries<float>();
    for (const std::size_t n : {0u, 1u, 128u, 1024u, 8192u, 16384u, 40960u})
        REQUIRE(std::count(sizes.begin(), sizes.end(), n) == 1);
    REQUIRE(tree_boundaries<double>(1000).back() == 576); // a chunk and a row; two chunks are 1024
    for (const auto& narrow : {tree_boundaries<float16>(), tree_boundaries<bfloat16>()})
        for (const std::size_t n : {256u, 2048u, 16384u, 32768u, 81920u})
            REQUIRE(std::count(narrow.begin(), narrow.end(), n) == 1);
}

TEMPLATE_TEST_CASE("vectors: every style stays in scope and is reproducible", "", float16, bfloat16, float, double) {
    using T = TestType;
    for (int s = 0; s < styles; ++s)
        for (const Scope& scope : {any_bits<T>, finite_bits<T>, no_overflow<T>, scalable<T>})
            for (std::uint64_t n = 0; n < 100; n += 1 + n / 4) {
                const auto style = static_cast<Style>(s);
                const std::vector<T> a = vector_from<T>(style, n, n, scope), b = vector_from<T>(style, n, n, scope);
                INFO("style " << s << ", n " << n);
                REQUIRE(a.size() == n);
                REQUIRE(std::all_of(a.begin(), a.end(), [&](T x) { return in_scope(x, scope); }));
                REQUIRE(std::equal(a.begin(), a.end(), b.begin(),
                                   [](T x, T y) { return fp::to_bits(x) == fp::to_bits(y); }));
            }
}

namespace {

template <class T>
std::size_t count_bits(const std::vector<T>& xs, T x) {
    return static_cast<std::size_t>(
        std::count_if(xs.begin(), xs.end(), [&](T y) { return fp::to_bits(y) == fp::to_bits(x); }));
}

/// Among `xs` there is half of the last place of the largest one, counted in numbers of `precision`
/// bits.
template <class T>
bool has_tie(const std::vector<T>& xs, int precision) {
    std::vector<double> wide;
    for (const T x : xs)
        wide.push_back(static_cast<double>(fp::widen(x)));
    const double big = *std::max_element(wide.begin(), wide.end()), half = std::ldexp(1.0, std::ilogb(big) - precision);
    return std::count(wide.begin(), wide.end(), half) > 0;
}

} // namespace

TEMPLATE_TEST_CASE("vectors: styles are what they say", "", float16, bfloat16, float, double) {
    using T = TestType;
    const Scope scope = no_overflow<T>;
    const auto make = [&](Style style, std::uint64_t seed) { return vector_from<T>(style, 64, seed, scope); };
    const auto below = [](T a, T b) { return fp::widen(a) < fp::widen(b); };
    int ties_of_result = 0, ties_of_sum = 0, cancelled = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const auto sorted = make(Style::sorted, seed), constant = make(Style::constant, seed),
                   sparse = make(Style::sparse, seed);
        REQUIRE(std::is_sorted(sorted.begin(), sorted.end(), below));
        REQUIRE(count_bits(constant, constant[0]) == 64);
        REQUIRE(std::count_if(sparse.begin(), sparse.end(), [](T x) { return is_zero(x); }) > 40);
        const auto ties = make(Style::ties, seed);
        const bool of_result = has_tie(ties, fp::Format<T>::precision),
                   of_sum = has_tie(ties, fp::Format<fp::Arithmetic<T>>::precision);
        REQUIRE((of_result || of_sum));
        ties_of_result += of_result;
        ties_of_sum += of_sum;
        auto pairs = make(Style::cancelling, seed);
        std::sort(pairs.begin(), pairs.end(), below);
        int matched = 0;
        for (const T x : pairs)
            matched += std::binary_search(pairs.begin(), pairs.end(), fp::negated(x), below);
        cancelled += matched >= 60;
        REQUIRE(count_bits(make(Style::negative_zeros, seed), number<T>(-0.0)) == 64);
        for (const T x : make(Style::integers, seed))
            REQUIRE(fp::widen(x) == std::trunc(fp::widen(x)));
    }
    REQUIRE(ties_of_result > 10);
    REQUIRE(ties_of_sum > 10);
    REQUIRE(cancelled == 50);
}

TEMPLATE_TEST_CASE("vectors: about half of those of any bits are finite", "", float16, bfloat16, float, double) {
    using T = TestType;
    int finite = 0;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        const auto xs = vector_from<T>(Style::stratified, 50, seed, any_bits<T>);
        finite += std::all_of(xs.begin(), xs.end(), [](T x) { return fp::is_finite(x); });
    }
    REQUIRE(finite > 400);
    REQUIRE(finite < 600);
}

TEMPLATE_TEST_CASE("vectors: shrinking stays in scope and ends", "", float16, bfloat16, float, double) {
    using T = TestType;
    property("any chain of candidates", [](std::uint64_t seed) {
        const auto style = static_cast<Style>(seed % styles);
        Values<T> v{vector_from<T>(style, accuracy::hash(seed, 0) % 12, seed, no_overflow<T>)};
        for (std::uint64_t step = 0;; ++step) {
            RC_ASSERT(step < 5000u);
            std::vector<Values<T>> next;
            rc::seq::forEach(simpler(v, no_overflow<T>), [&](const Values<T>& c) { next.push_back(c); });
            if (next.empty()) break;
            v = next[accuracy::hash(seed, step) % next.size()];
            for (const T x : v.xs)
                RC_ASSERT(in_scope(x, no_overflow<T>));
        }
        RC_ASSERT(v.size() == 0u);
    });
}

TEST_CASE("vectors: a failing case shrinks to the shortest and simplest") {
    const auto law = [](const std::vector<float>& xs) {
        return std::count_if(xs.begin(), xs.end(), [](float x) { return x < 0; }) < 2;
    };
    const Outcome outcome = run("shrink", [&] {
        const Values<float> xs = *values<float>(no_overflow<float>);
        RC_ASSERT(law(xs.xs));
    });
    INFO(outcome.message);
    REQUIRE_FALSE(outcome.passed);
    REQUIRE(outcome.message.find("2 values [-0x1p+0, -0x1p+0]") != std::string::npos);
}

TEST_CASE("vectors: long ones that cannot get shorter still shrink") {
    const Outcome outcome = run("long", [] {
        const Values<float> xs = *values<float>(no_overflow<float>);
        RC_ASSERT(xs.size() < 8193u);
    });
    INFO(outcome.message);
    REQUIRE_FALSE(outcome.passed);
    REQUIRE(outcome.message.find("8193 values [0x0p+0, 0x0p+0") != std::string::npos);
}

TEST_CASE("values are shown in hexadecimal") {
    REQUIRE(rc::toString(Value<double>{0.5}) == "0x1p-1");
    REQUIRE(rc::toString(Value<float>{-0.0f}) == "-0x0p+0");
    REQUIRE(rc::toString(Value<float>{fp::from_bits<float>(0x7fc00001u)}) == "nan:0x7fc00001");
    REQUIRE(rc::toString(Value<float16>{number<float16>(-0.75)}) == "-0x1.8p-1");
    REQUIRE(rc::toString(Value<bfloat16>{fp::from_bits<bfloat16>(0xff81u)}) == "nan:0xff81");
    REQUIRE(rc::toString(Values<double>{{1.0, -2.0}}) == "2 values [0x1p+0, -0x1p+1]");
}
