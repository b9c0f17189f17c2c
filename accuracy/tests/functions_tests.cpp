// The oracle of functions, which is MPFR: the glue around it, and that it notices what is wrong.
#include <cmath>

#include <support/bits.hpp>
#include <support/property.hpp>

#include <detreduce/accuracy/function_oracle.hpp>

using namespace detreduce;
using namespace detreduce::accuracy;
using namespace detreduce::proptests;
using math::Function;

namespace {

/// An independent opinion, good to some units of 2^-63.
long double libm(Function f, long double x) {
    switch (f) {
    case Function::exp:
        return std::exp(x);
    case Function::expm1:
        return std::expm1(x);
    case Function::log:
        return std::log(x);
    case Function::log1p:
        return std::log1p(x);
    case Function::sigmoid:
        return 1 / (1 + std::exp(-x));
    case Function::softplus:
        return std::fmax(x, 0.0L) + std::log1p(std::exp(-std::fabs(x)));
    case Function::tanh:
        return std::tanh(x);
    default:
        return 1 / std::sqrt(x);
    }
}

} // namespace

TEST_CASE("function oracle: values that are known", "[functions]") {
    REQUIRE(nearest_value(Function::exp, 1.0) == 0x1.5bf0a8b145769p+1);
    REQUIRE(nearest_value(Function::log, 2.0) == 0x1.62e42fefa39efp-1);
    REQUIRE(nearest_value(Function::softplus, 0.0f) == 0x1.62e43p-1f);
    REQUIRE(nearest_value(Function::sigmoid, -0.0) == 0.5);
    REQUIRE(nearest_value(Function::rsqrt, 4.0f) == 0.5f);
    REQUIRE(nearest_value(Function::exp, -104.0f) == 0);
    REQUIRE(nearest_value(Function::exp, -103.9f) == 0x1p-149f);
    REQUIRE(nearest_value(Function::softplus, 1e300) == 1e300);
    REQUIRE(fp::to_bits(nearest_value(Function::tanh, -0.0f)) == fp::to_bits(-0.0f));
    REQUIRE(fp::to_bits(nearest_value(Function::rsqrt, -0.0)) == fp::to_bits(-infinity<double>));
    REQUIRE(fp::to_bits(nearest_value(Function::log, -0.0)) == fp::to_bits(-infinity<double>));
    REQUIRE(fp::to_bits(nearest_value(Function::log, -1.0f)) == fp::Format<float>::canonical_nan);
}

TEMPLATE_TEST_CASE("function oracle: agrees with long double", "[functions]", float, double) {
    using T = TestType;
    property("the error of what libm gives in long double is what a rounding loses", [] {
        for (const auto& [f, name, f32, f64] : math::functions) {
            const T x = *value<T>(Scope{-20, 6, false, false});
            const long double y = libm(f, x);
            if (std::isnan(y) || std::isinf(y)) continue;
            RC_LOG() << name << '(' << static_cast<double>(x) << ')';
            RC_ASSERT(error_in_ulps(f, x, static_cast<T>(y)) < (fp::is_f32<T> ? 0.500001 : 0.51));
            RC_ASSERT(static_cast<T>(y) == nearest_value(f, x) || error_in_ulps(f, x, static_cast<T>(y)) > 0.499);
        }
    });
}

TEMPLATE_TEST_CASE("function oracle: a neighbour of the nearest number is off by 1/2 or more", "[functions]", float,
                   double) {
    using T = TestType;
    property("on either side", [] {
        for (const auto& [f, name, f32, f64] : math::functions) {
            const T x = *value<T>(any_bits<T>), nearest = nearest_value(f, x);
            RC_ASSERT(error_in_ulps(f, x, nearest) <= 0.5);
            if (!fp::is_finite(nearest) || nearest == 0 || magnitude(nearest) == largest<T>) continue;
            for (const T beside : {next_up(nearest), next_down(nearest)}) {
                const double error = error_in_ulps(f, x, beside);
                RC_ASSERT(error >= 0.5 && error <= 2.5); // 2.5: above a power of two, where the last place doubles
            }
        }
    });
}

TEST_CASE("function oracle: what is wrong is far off", "[functions]") {
    const double far = infinity<double>;
    REQUIRE(error_in_ulps(Function::tanh, -0.0f, 0.0f) == far);
    REQUIRE(error_in_ulps(Function::exp, -1000.0f, -0.0f) == far);
    REQUIRE(error_in_ulps(Function::log, -1.0f, fp::negated(quiet_nan<float>)) == far);
    REQUIRE(error_in_ulps(Function::log, 0.0, infinity<double>) == far);
    REQUIRE(error_in_ulps(Function::log, 2.0, quiet_nan<double>) == far);
    REQUIRE(error_in_ulps(Function::exp, 1.0, 3.0) > 1e14);
    REQUIRE(error_in_ulps(Function::exp, 89.0f, largest<float>) > 1e6);
    REQUIRE(error_in_ulps(Function::exp, 88.0f, infinity<float>) > 1e6);
    REQUIRE(error_in_ulps(Function::exp, 89.0f, infinity<float>) == 0);
}
