// The exponentials that sums of rows are made of, and how their states merge (lib/SPEC.md, section
// 17.1).
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <detreduce/accuracy/row_oracle.hpp>
#include <detreduce/spec/exp_term.hpp>

#include <row_reference.hpp>
#include <support/catch.hpp>

#include "laws/row_draws.hpp"
#include "laws/row_results.hpp"

namespace detreduce::proptests {

/// check(z) for many z of which the maximum may be, and near 0.
template <class V, class Check>
void for_exponents(const Check& check) {
    constexpr std::uint64_t cases = 300'000;
    const double near = fp::is_f64<V> ? 1600 : 200;
    for (std::uint64_t i = 0; i < cases; ++i) {
        check(static_cast<V>(between(-near, near, 9, i)));
        check(static_cast<V>(between(-32768, 32768, 8, i)));
    }
}
/// The term of z relative to its own exponent, and that.
template <class T>
std::pair<double, int> own_term(fp::Arithmetic<T> z) {
    using V = fp::Arithmetic<T>;
    const V term = spec::ExpReference<V>::template at<T>(z).template term<T>(z).value();
    return {static_cast<double>(std::ldexp(term, -static_cast<int>(spec::ExpTermConstants<V>::offset))),
            static_cast<int>(spec::exp_exponent(z))};
}

TEMPLATE_TEST_CASE("exp_term: is as near to e^z as it says", "[rows][exp_term]", bfloat16, float, double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    // Of 16-bit elements ln 2 is that of binary32, and the terms are those of z·(1 − drift).
    constexpr double drift = fp::is_narrow<T> ? (0x1.62e43p-1 - 0x1.62e42fefa39efp-1) / 0x1.62e42fefa39efp-1 : 0;
    const double allowed = fp::is_narrow<T> ? 0x1p-22 : spec::exp_term_error<T>;
    double worst = 0;
    for_exponents<V>([&](V z) {
        const auto [term, k] = own_term<T>(z);
        const double at = static_cast<double>(z) * (1 - drift);
        worst = std::max(worst, accuracy::relative_error_of_exp(at, term, k) / allowed);
        if (!(term > 0.70 && term < 1.42)) FAIL(hexadecimal(z));
    });
    INFO("worst " << worst << " of what is allowed");
    REQUIRE(worst <= 1);
    REQUIRE(worst > 0.125); // or the bound says little
    constexpr double farthest = -0.694 * static_cast<double>(spec::ExpTermConstants<V>::minimum_exponent);
    REQUIRE(spec::exp_term_error<T> >= allowed + drift * farthest);
}

TEMPLATE_TEST_CASE("exp_term: ends where the text says, and is exact in scale", "[rows][exp_term]", bfloat16, float,
                   double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    using C = spec::ExpTermConstants<V>;
    std::uint64_t zeros = 0, terms = 0;
    for_exponents<V>([&](V z) {
        const V k = spec::exp_exponent(z);
        for (const V ahead :
             {V(0), V(7), -C::minimum_exponent - 1, -C::minimum_exponent, -C::minimum_exponent + 1, V(60000)}) {
            const auto reference = spec::ExpReference<V>::template of<T>(k + ahead);
            if (k + ahead > 48000) continue; // of no plain row
            const auto parts = reference.template term<T>(z);
            const V term = parts.value();
            const V own = spec::ExpState<T>::of(z, V(0)).peak;
            V expected = ahead <= -C::minimum_exponent ? std::ldexp(own, -static_cast<int>(ahead)) : V(0);
            if (fp::is_narrow<T> && ahead == -C::minimum_exponent + 1) // the last octave runs out to 0
                expected = reference::Exponential<T>(z).term(static_cast<int>(k + ahead));
            if (!is_bits(term, expected)) FAIL(hexadecimal(z) << " ahead " << ahead);
            if (!fp::is_narrow<T> && !is_bits(parts.added_to(V(0.75)), V(0.75) + term))
                FAIL("the product is not exact");
            ++(term == 0 ? zeros : terms);
        }
    });
    REQUIRE(zeros > 100'000);
    REQUIRE(terms > 100'000);
    const auto zero = spec::ExpReference<V>::template at<T>(V(0));
    REQUIRE(zero.template term<T>(V(0)).value() == std::ldexp(V(1), static_cast<int>(C::offset)));
    REQUIRE(zero.template term<T>(V(-0.0)).value() == std::ldexp(V(1), static_cast<int>(C::offset)));
    for (const V z : {spec::exp_lowest<V>, V(-1e30), -infinity<V>})
        REQUIRE(fp::to_bits(zero.template term<T>(z).value()) == 0);
    REQUIRE(fp::is_nan(zero.template term<T>(quiet_nan<V>).value()));
}

TEMPLATE_TEST_CASE("rows: states merge as the text says, and lose nothing that counts", "[rows][exp_term]", bfloat16,
                   float, double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    using State = spec::ExpState<T>;
    const double far = fp::is_f64<V> ? 1600 : 200;
    std::uint64_t swapped = 0, vanished = 0;
    for (std::uint64_t i = 0; i < 50'000; ++i) {
        const auto any = [&](double low, double high, std::uint64_t what) {
            return static_cast<V>(between(low, high, what, i));
        };
        const V g = any(-100, 100, 1), h = i % 5 == 0 ? g : g + any(-far, far, 2);
        const State a = State::of(g, std::ldexp(any(0, 1, 3), static_cast<int>(i % 100))),
                    b = State::of(h, i % 7 == 0 ? V(0) : std::ldexp(any(0, 1, 4), static_cast<int>(i % 90)));
        State merged = a;
        merged.merge(b);
        const auto expected = reference::RowState<T>::merged({a.maximum, a.sum}, {b.maximum, b.sum});
        const V peak = reference::Exponential<T>(expected.g).peak();
        if (!is_bits(merged.maximum, expected.g) || !is_bits(merged.sum, expected.s) || !is_bits(merged.peak, peak))
            FAIL(hexadecimal(a.maximum) << ' ' << hexadecimal(b.maximum));
        swapped += h > g;
        vanished += is_bits(merged.sum, h > g ? b.sum : a.sum);
        State with_nothing = State::identity();
        with_nothing.merge(State::of(V(3), V(5)));
        REQUIRE(is_bits(with_nothing.sum, V(5)));
    }
    REQUIRE(swapped > 1000);
    REQUIRE(vanished > 1000);
    REQUIRE(vanished < 40'000);
}

} // namespace detreduce::proptests
