// The generators tested: they give what they say, and shrinking ends at something small.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <support/bits.hpp>
#include <support/property.hpp>

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
        ++seen[std::isnan(x)      ? "nan"
               : std::isinf(x)    ? "inf"
               : x == 0           ? "zero"
               : std::isnormal(x) ? "normal"
                                  : "subnormal"];
        seen["-0"] += x == 0 && std::signbit(x);
        const std::uint64_t quiet = std::uint64_t{1} << (fp::Format<T>::precision - 2);
        seen["signalling nan"] += std::isnan(x) && (fields(x).fraction & quiet) == 0;
        seen["-inf"] += std::isinf(x) && x < 0;
        seen["all ones"] +=
            std::isnormal(x) && fields(x).fraction == (std::uint64_t{1} << (fp::Format<T>::precision - 1)) - 1;
    }
    return seen;
}

} // namespace

TEMPLATE_TEST_CASE("numbers: every kind occurs in its scope and no other", "", float, double) {
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

TEMPLATE_TEST_CASE("numbers: exponents cover the scope", "", float, double) {
    using T = TestType;
    std::set<int> exponents;
    for (std::uint64_t i = 0; i < 100'000; ++i)
        exponents.insert(fields(number_from<T>(accuracy::hash(3, i), any_bits<T>)).exponent);
    REQUIRE(exponents.size() == 2 * std::size_t{largest_exponent<T>} + 2);
}

TEMPLATE_TEST_CASE("numbers: fields round-trip and fit fits", "", float, double) {
    using T = TestType;
    property("fields", [](const Value<T>& a) {
        RC_ASSERT(fp::to_bits(from_fields<T>(fields(a.x))) == fp::to_bits(a.x));
        for (const Scope& scope : {finite_bits<T>, no_overflow<T>, scalable<T>, Scope{-2, 1, false, false}}) {
            RC_ASSERT(in_scope(fit(a.x, scope), scope));
            RC_ASSERT(fields(fit(a.x, scope)).negative == fields(a.x).negative);
        }
    });
}

TEMPLATE_TEST_CASE("numbers: shrinking stays in scope and ends", "", float, double) {
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
}

TEMPLATE_TEST_CASE("vectors: every style stays in scope and is reproducible", "", float, double) {
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

TEMPLATE_TEST_CASE("vectors: styles are what they say", "", float, double) {
    using T = TestType;
    const Scope scope = no_overflow<T>;
    const auto make = [&](Style style, std::uint64_t seed) { return vector_from<T>(style, 64, seed, scope); };
    int exact_ties = 0, cancelled = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const auto sorted = make(Style::sorted, seed), constant = make(Style::constant, seed),
                   sparse = make(Style::sparse, seed);
        REQUIRE(std::is_sorted(sorted.begin(), sorted.end()));
        REQUIRE(std::count(constant.begin(), constant.end(), constant[0]) == 64);
        REQUIRE(std::count(sparse.begin(), sparse.end(), T{0}) > 40);
        const auto ties = make(Style::ties, seed);
        const T big = *std::max_element(ties.begin(), ties.end());
        const T half = (std::nextafter(big, std::numeric_limits<T>::infinity()) - big) / 2;
        exact_ties += std::count(ties.begin(), ties.end(), half) > 0;
        auto pairs = make(Style::cancelling, seed);
        std::sort(pairs.begin(), pairs.end());
        int matched = 0;
        for (const T x : pairs)
            matched += std::binary_search(pairs.begin(), pairs.end(), -x);
        cancelled += matched >= 60;
        for (const T x : make(Style::negative_zeros, seed))
            REQUIRE(fp::to_bits(x) == fp::to_bits(-T{0}));
        for (const T x : make(Style::integers, seed))
            REQUIRE(x == std::trunc(x));
    }
    REQUIRE(exact_ties == 50);
    REQUIRE(cancelled == 50);
}

TEMPLATE_TEST_CASE("vectors: about half of those of any bits are finite", "", float, double) {
    using T = TestType;
    int finite = 0;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        const auto xs = vector_from<T>(Style::stratified, 50, seed, any_bits<T>);
        finite += std::all_of(xs.begin(), xs.end(), [](T x) { return std::isfinite(x); });
    }
    REQUIRE(finite > 400);
    REQUIRE(finite < 600);
}

TEMPLATE_TEST_CASE("vectors: shrinking stays in scope and ends", "", float, double) {
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
    REQUIRE(rc::toString(Values<double>{{1.0, -2.0}}) == "2 values [0x1p+0, -0x1p+1]");
}
