// Laws of `exact`, on every backend: the bits are the oracle's, whatever the order and wherever the
// input is cut.
#include <detreduce/accuracy/generators.hpp>
#include <detreduce/accuracy/oracle.hpp>

#include "laws/extremes.hpp"
#include "laws/suite.hpp"
#include "laws/window_edges.hpp"

namespace detreduce::proptests {

template <class Out, class T>
Out exact_sum(std::span<const T> x, std::uint64_t word) {
    return TestBackend::reduce<Out>(x, Method::exact, draw_from(Method::exact, word));
}

/// Does the sum of x, rounded to each of the formats, have the oracle's bits?
template <class T>
bool agrees(std::span<const T> x, std::uint64_t word) {
    const accuracy::ExactSum oracle = accuracy::exact_sum(x);
    bool all = true;
    for (const DType output : dtypes()) {
        with_dtype(output, [&](auto out) {
            using Out = decltype(out);
            all = all && same_bits(exact_sum<Out>(x, word), oracle.round<Out>());
        });
    }
    return all;
}

TEMPLATE_TEST_CASE("exact: the oracle's bits for every family, in every format", "[exact]", DETREDUCE_ALL_TYPES) {
    for (const accuracy::Family family : accuracy::families()) {
        for (const std::size_t n : {1, 2, 3, 1000, 4096 + 31, 12345}) {
            for (const double condition : {1e3, 1e30}) {
                const auto x = accuracy::generate<TestType>(family, n, n, {.binades = 2000, .condition = condition});
                INFO(accuracy::name(family) << ' ' << n);
                REQUIRE(agrees(std::span<const TestType>(x), n));
            }
        }
    }
}

TEMPLATE_TEST_CASE("exact: the oracle's bits for every style, in every format", "[exact][sanitizer]",
                   DETREDUCE_ALL_TYPES) {
    property("styles", [] {
        const Values<TestType> xs = *values<TestType>(any_bits<TestType>, lengths<TestType>());
        RC_ASSERT(agrees(xs.span(), *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>())));
    });
}

TEMPLATE_TEST_CASE("exact: the oracle's bits for extreme inputs, in every format", "[exact]", DETREDUCE_ALL_TYPES) {
    for (int kind = 0; kind < extremes; ++kind) {
        for (std::uint64_t seed = 0; seed < 40; ++seed) {
            const std::size_t n = seed < 4 ? 65536 : length_from(accuracy::hash(seed, 7), lengths<TestType>());
            const auto x = extreme<TestType>(static_cast<Extreme>(kind), n, seed);
            INFO("kind " << kind << " n " << n << " seed " << seed);
            REQUIRE(agrees(std::span<const TestType>(x), accuracy::hash(seed, 8)));
        }
    }
}

TEMPLATE_TEST_CASE("exact: no element is lost at any length and offset", "[exact]", DETREDUCE_ALL_TYPES) {
    constexpr std::size_t most = 300;
    const auto draws = TestBackend::all_draws(Method::exact);
    std::size_t checked = 0;
    for (const std::size_t base : {0, 4096 - 10, 8192 - 10}) {
        std::vector<TestType> x(base + most, number<TestType>(1));
        const std::size_t step = base == 0 ? 1 : 3;
        for (std::size_t n = base; n < base + most; n += step) {
            if (n > 0) x[n - 1] = x[n * 7 % (n + 1) % n] = number<TestType>(3); // the last one, and one anywhere
            const std::span<const TestType> part(x.data(), n);
            double total = 0;
            for (const TestType v : part)
                total += static_cast<double>(fp::widen(v));
            const Draw& draw = draws[n * 31 % draws.size()];
            if (TestBackend::reduce<double>(part, Method::exact, draw) != total) {
                FAIL("n " << n << " offset " << draw.offset << " isa " << name(draw.launch.isa));
            }
            ++checked;
        }
    }
    REQUIRE(checked == most + 2 * (most / 3));
}

/// However it is launched by itself; and by one block of a GPU, whose threads drain their bins
/// several times.
TEMPLATE_TEST_CASE("exact: as many numbers at both edges of a window as there may be", "[exact]", DETREDUCE_ALL_TYPES) {
    std::vector<Draw> draws(1);
    for (const Draw& draw : TestBackend::all_draws(Method::exact)) {
        if (draws.size() == 1 && draw.launch.grid == 1) draws.push_back(draw);
    }
    constexpr std::size_t n = 45000; // an even number of large ones, which cancel
    // No more than one block adds up, all of one sign: there a double may hold every sum.
    constexpr std::size_t few = 16384 / std::max<std::size_t>(sizeof(TestType), 2);
    for (int range = 0; range <= widest_range<TestType>; ++range) {
        for (const auto& x : {at_both_edges<TestType>(n, middle_of<TestType>(range), range, n / 2),
                              at_both_edges<TestType>(few, middle_of<TestType>(range), range, few)}) {
            const std::span<const TestType> all(x);
            const auto expected = accuracy::exact_sum(all).template round<double>();
            for (const Draw& draw : draws) {
                INFO("range " << range << " n " << x.size() << " grid " << draw.launch.grid);
                REQUIRE(same_bits(TestBackend::reduce<double>(all, Method::exact, draw), expected));
            }
        }
    }
}

TEST_CASE("exact: what overflows in between does not matter", "[exact]") {
    const auto sum_of = [](std::initializer_list<double> x) {
        return exact_sum<double>(std::span<const double>(x.begin(), x.size()), 0);
    };
    REQUIRE(sum_of({1e308, 1e308, -1e308}) == 1e308);
    REQUIRE(sum_of({1e308, 1e308, -1e308, -1e308, 5e-324}) == 5e-324);
    REQUIRE(sum_of({1e300, 1e300}) == 2e300);
    REQUIRE(sum_of({1e100, 1, -1e100}) == 1);
    REQUIRE(sum_of({1.7e308, 1.7e308}) == infinity<double>);
    REQUIRE(sum_of({largest<double>, 0x1p969}) == largest<double>);  // less than half of its last place
    REQUIRE(sum_of({largest<double>, 0x1p970}) == infinity<double>); // half of it: a tie, and the even one is infinite
    REQUIRE(sum_of({largest<double>, 0x1p970, -5e-324}) == largest<double>);
}

/// A tie is decided by what lies any number of places below it, wherever the limbs of the long
/// number begin.
TEST_CASE("exact: what is far below a tie decides it", "[exact]") {
    for (const DType output : dtypes()) {
        if (has_8_bits(output)) continue; // which has no room for it
        with_dtype_from_16_bits(output, [&]<class Out>(Out) {
            const double ulp = std::ldexp(1.0, 1 - fp::Format<Out>::precision);
            for (int below = 54; below < 330; ++below) {
                for (const int scale : {0, 7, 13}) {
                    const double x[] = {std::ldexp(1.0, scale), std::ldexp(ulp / 2, scale),
                                        std::ldexp(1.0, scale - below)};
                    const double y[] = {x[0], x[1], -x[2]};
                    INFO(name(output) << " below " << below << " scale " << scale);
                    REQUIRE(same_bits(exact_sum<Out>(std::span<const double>(x), 0),
                                      number<Out>(std::ldexp(1 + ulp, scale))));
                    REQUIRE(
                        same_bits(exact_sum<Out>(std::span<const double>(y), 0), number<Out>(std::ldexp(1.0, scale))));
                }
            }
        });
    }
}

/// Permutations, and x followed by −x.
TEMPLATE_TEST_CASE("exact: the order of the elements does not matter", "[exact]", DETREDUCE_ALL_TYPES) {
    property("permutation", [] {
        const Values<TestType> xs = *values<TestType>(any_bits<TestType>, lengths<TestType>());
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        std::vector<TestType> shuffled = xs.xs;
        accuracy::shuffle(std::span<TestType>(shuffled), word);
        with_dtype_from_16_bits(some_output(Method::exact, dtype_of<TestType>, word), [&](auto out) {
            using Out = decltype(out);
            RC_ASSERT(same_bits(exact_sum<Out>(xs.span(), word),
                                exact_sum<Out>(std::span<const TestType>(shuffled), word / 3)));
        });
    });
}

TEMPLATE_TEST_CASE("exact: x and then -x is +0", "[exact]", DETREDUCE_ALL_TYPES) {
    property("x - x", [] {
        const Values<TestType> xs = *values<TestType>(finite_bits<TestType>, lengths<TestType>());
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        std::vector<TestType> both = xs.xs;
        for (const TestType x : xs.xs)
            both.push_back(fp::negated(x));
        if (word % 2) accuracy::shuffle(std::span<TestType>(both), word);
        RC_ASSERT(fp::to_bits(exact_sum<TestType>(std::span<const TestType>(both), word)) == 0);
    });
}

} // namespace detreduce::proptests
