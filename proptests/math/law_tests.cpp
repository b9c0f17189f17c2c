// What holds for the functions of math.hpp beside their error bounds: special values, order,
// symmetries, and the same bits everywhere.
#include <cmath>

#include <support/bits.hpp>
#include <support/property.hpp>

#include <detreduce/detreduce.hpp>
#include <detreduce/math.hpp>
#include <detreduce/transform_reduce.hpp>

#include "math/evaluate.hpp"
#include "math/golden.hpp"
#include "math/inputs.hpp"

namespace detreduce::proptests {
namespace {

using math::Function;

template <class T>
T value_of(Function f, T x) {
    T y;
    baseline_evaluator(f, &x, &y, 1);
    return y;
}

template <class T>
struct Special {
    Function function;
    T x, y;
};

template <class T>
std::vector<Special<T>> special_values() {
    using enum Function;
    const T inf = infinity<T>, nan = quiet_nan<T>, small = smallest<T>, large = largest<T>;
    std::vector<Special<T>> list{
        {exp, 0, 1},
        {exp, -T(0), 1},
        {exp, inf, inf},
        {exp, -inf, 0},
        {exp, large, inf},
        {exp, -large, 0},
        {exp, small, 1},
        {expm1, 0, 0},
        {expm1, -T(0), -T(0)},
        {expm1, inf, inf},
        {expm1, -inf, -1},
        {expm1, large, inf},
        {expm1, -large, -1},
        {expm1, small, small},
        {expm1, -small, -small},
        {log, 0, -inf},
        {log, -T(0), -inf},
        {log, 1, 0},
        {log, inf, inf},
        {log, -1, nan},
        {log, -inf, nan},
        {log, -small, nan},
        {log1p, 0, 0},
        {log1p, -T(0), -T(0)},
        {log1p, -1, -inf},
        {log1p, inf, inf},
        {log1p, -inf, nan},
        {log1p, -2, nan},
        {log1p, small, small},
        {log1p, -small, -small},
        {sigmoid, 0, T(0.5)},
        {sigmoid, -T(0), T(0.5)},
        {sigmoid, inf, 1},
        {sigmoid, -inf, 0},
        {sigmoid, large, 1},
        {sigmoid, -large, 0},
        {softplus, inf, inf},
        {softplus, -inf, 0},
        {softplus, large, large},
        {softplus, -large, 0},
        {tanh, 0, 0},
        {tanh, -T(0), -T(0)},
        {tanh, inf, 1},
        {tanh, -inf, -1},
        {tanh, large, 1},
        {tanh, small, small},
        {tanh, -small, -small},
        {rsqrt, 0, inf},
        {rsqrt, -T(0), -inf},
        {rsqrt, inf, 0},
        {rsqrt, 1, 1},
        {rsqrt, 4, T(0.5)},
        {rsqrt, T(0.25), 2},
        {rsqrt, -1, nan},
        {rsqrt, -inf, nan},
        {rsqrt, -small, nan},
    };
    for (const auto& entry : math::functions) {
        for (const T x :
             {nan, fp::negated(nan), fp::from_bits<T>(fp::infinity_bits<T> + 1)}) // quiet, negative, signalling
            list.push_back({entry.function, x, nan});
    }
    return list;
}

/// Units in the last place of T at y.
template <class T>
long double unit_at(T y) {
    return std::ldexp(1.0L, std::max(std::ilogb(y) + 1 - fp::Format<T>::precision, fp::Format<T>::min_exponent));
}

template <class T, class U>
concept HasExp = requires(U x) {
    math::exp(x);
};
static_assert(!HasExp<void, int> && !HasExp<void, long double> && HasExp<void, float>, "a caller says in which format");

} // namespace

TEST_CASE("math: the table of functions is in the order of the functions", "[math]") {
    int i = 0;
    for (const auto& entry : math::functions) {
        REQUIRE(static_cast<int>(entry.function) == i++);
        REQUIRE(entry.max_ulp_f32 >= 0.5);
        REQUIRE(entry.max_ulp_f32 <= 1);
        REQUIRE(entry.max_ulp_f64 >= 0.5);
        REQUIRE(entry.max_ulp_f64 <= 1);
    }
}

TEMPLATE_TEST_CASE("math: special values", "[math]", float, double) {
    for (const auto& [f, x, y] : special_values<TestType>()) {
        INFO(math::functions[static_cast<int>(f)].name << '(' << x << ") = " << value_of(f, x) << ", not " << y);
        CHECK(fp::to_bits(value_of(f, x)) == fp::to_bits(y));
    }
}

TEMPLATE_TEST_CASE("math: every instruction set gives the same bits, with contraction and without", "[math]", float,
                   double) {
    using T = TestType;
    std::vector<T> x = neighbourhoods<T>(2);
    for (std::uint64_t i = 0; i < 50'000; ++i)
        x.push_back(drawn<T>(3, i));
    for (const auto& entry : math::functions) {
        std::vector<T> expected(x.size()), y(x.size());
        baseline_evaluator(entry.function, x.data(), expected.data(), x.size());
        for (const Evaluator& evaluate : evaluators()) {
            evaluate(entry.function, x.data(), y.data(), x.size());
            std::size_t differ = 0;
            for (std::size_t i = 0; i < x.size(); ++i)
                differ += fp::to_bits(y[i]) != fp::to_bits(expected[i]);
            INFO(entry.name << " by " << evaluate.name);
            CHECK(differ == 0);
        }
    }
}

TEMPLATE_TEST_CASE("math: golden bits", "[math][golden]", float, double) {
    using T = TestType;
    const std::vector<T> x = golden_inputs<T>();
    std::vector<T> y(x.size());
    for (const GoldenMath& golden : golden_math) {
        for (const Evaluator& evaluate : evaluators()) {
            evaluate(golden.function, x.data(), y.data(), x.size());
            INFO(math::functions[static_cast<int>(golden.function)].name << " by " << evaluate.name);
            CHECK(fingerprint_of(y) == golden_fingerprint<T>(golden));
        }
    }
}

TEST_CASE("math: in a caller's own reduction", "[math][transform]") {
    std::vector<float> x(10'007), y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>(static_cast<int>(accuracy::hash(5, i) % 4001) - 2000) / 64;
    evaluators().back()(Function::softplus, x.data(), y.data(), x.size());
    const auto softplus = [](float v) { return math::softplus(v); };
    for (const Method method : {Method::exact, Method::compensated, Method::tree})
        REQUIRE(fp::to_bits(transform_reduce(softplus, x, {.method = method})) == fp::to_bits(sum(y, method)));
}

TEMPLATE_TEST_CASE("math: laws", "[math]", float, double) {
    using T = TestType;
    const auto draw = [] { return drawn<T>(*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange(0, 1 << 16)); };
    property("a larger argument has no smaller value, or by one unit where that is allowed", [=] {
        const T x = draw();
        RC_PRE(fp::is_finite(x) && fp::is_finite(next_up(x)));
        for (const auto& entry : math::functions) {
            const T low = value_of(entry.function, x), high = value_of(entry.function, next_up(x));
            if (fp::is_nan(low) || fp::is_nan(high)) continue;
            if (entry.function == Function::rsqrt) {
                RC_ASSERT(high <= low || x == 0); // the values are right to half a unit
            } else {
                const bool may_fall = fp::is_f64<T> || entry.function == Function::softplus; // of few floats
                RC_ASSERT(low <= high || (may_fall && low == next_up(high)));
            }
        }
    });
    property("tanh is odd", [=] {
        const T x = draw();
        RC_PRE(!fp::is_nan(x));
        RC_ASSERT(fp::to_bits(math::tanh(fp::negated(x))) == fp::to_bits(fp::negated(math::tanh(x))));
    });
    property("sigmoid(x) + sigmoid(-x) is 1, as far as their errors allow", [=] {
        const T x = draw();
        RC_PRE(!fp::is_nan(x));
        const T a = math::sigmoid(x), b = math::sigmoid(fp::negated(x));
        const long double error = static_cast<long double>(a) - 1 + static_cast<long double>(b);
        RC_ASSERT(std::fabs(error) <= math::max_ulp<T>(Function::sigmoid) * (unit_at(a) + unit_at(b)));
    });
    property("ranges", [=] {
        const T x = draw();
        RC_PRE(!fp::is_nan(x));
        RC_ASSERT(math::exp(x) >= 0 && math::expm1(x) >= -1);
        RC_ASSERT(math::sigmoid(x) >= 0 && math::sigmoid(x) <= 1);
        RC_ASSERT(std::fabs(math::tanh(x)) <= 1 && (fp::is_negative(math::tanh(x)) == fp::is_negative(x)));
        RC_ASSERT(math::softplus(x) >= 0 && math::softplus(x) >= x);
    });
}

} // namespace detreduce::proptests
