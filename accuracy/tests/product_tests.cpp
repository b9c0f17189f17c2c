// The oracle of products, and their bounds.
#include <cmath>
#include <limits>
#include <vector>

#include <support/bits.hpp>
#include <support/property.hpp>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/accuracy/product_oracle.hpp>

using namespace detreduce;
using namespace detreduce::accuracy;
using namespace detreduce::proptests;

namespace {

ExactProduct product_of(const std::vector<double>& x) {
    ExactProduct product;
    product.add(std::span<const double>(x));
    return product;
}
std::uint64_t rounded(const std::vector<double>& x) {
    return fp::to_bits(product_of(x).round<double>());
}
std::uint64_t bits(double x) {
    return fp::to_bits(x);
}

} // namespace

TEST_CASE("exact products by hand", "[product]") {
    constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    REQUIRE(rounded({}) == bits(1));
    REQUIRE(rounded({-3, 5}) == bits(-15));
    std::vector<double> factorial;
    for (int i = 1; i <= 25; ++i)
        factorial.push_back(i);
    REQUIRE(rounded(factorial) == bits(15511210043330985984000000.0));
    REQUIRE(product_of(factorial).magnitude() << static_cast<unsigned>(product_of(factorial).exponent()) ==
            cpp_int("15511210043330985984000000"));
    REQUIRE(rounded({0x1p1000, 0x1p1000, 0x1p-1074, 0x1p-1000, 3}) == bits(3 * 0x1p-74));
    REQUIRE(rounded({0x1p-600, -0x1p-600}) == bits(-0.0));
    REQUIRE(rounded({0x1p-1074, 0.5}) == bits(0.0));
    REQUIRE(rounded({0x1p-1074, 0x1.0000000000001p-1}) == bits(0x1p-1074)); // just above a tie
    REQUIRE(rounded({0x1p600, -0x1p600}) == bits(-inf));
    REQUIRE(rounded({-0.0, 7}) == bits(-0.0));
    REQUIRE(rounded({-0.0, -7}) == bits(0.0));
    REQUIRE(rounded({inf, -7, -1}) == bits(inf));
    REQUIRE(rounded({inf, 0}) == 0x7ff8000000000000);
    REQUIRE(rounded({-nan}) == 0x7ff8000000000000);
    REQUIRE(product_of({1.5, 3}).round<float>() == 4.5f);
    REQUIRE_FALSE(product_of({1, 0}).is_number());
    REQUIRE_FALSE(product_of({1, inf}).is_number());
    REQUIRE(product_of({-1, 2}).negative());
}

TEST_CASE("an exact product of two is rounded as IEEE 754 has it", "[product]") {
    property("two", [](Value<double> a, Value<double> b) {
        const double product = a.x * b.x;
        RC_ASSERT(rounded({a.x, b.x}) == bits(fp::canonical(product)));
    });
    property("in any order", [] {
        std::vector<double> x = (*values<double>(any_bits<double>, {0, 1, 5, 100})).xs;
        const std::uint64_t before = rounded(x);
        accuracy::shuffle(std::span<double>(x), 1);
        RC_ASSERT(rounded(x) == before);
    });
}

TEST_CASE("bounds of products", "[product][bounds]") {
    constexpr double u = 0x1p-24;
    const auto relative = [](Method method, DType input, DType output, std::uint64_t n) {
        const ErrorBound bound = product_bound(method, input, output, n);
        REQUIRE(bound.of_abs == 0);
        return bound.of_sum;
    };
    constexpr DType f32 = DType::f32, f64 = DType::f64, f16 = DType::f16, bf16 = DType::bf16;
    for (const Method method : {Method::tree, Method::serial, Method::compensated}) {
        for (const DType d : dtypes()) {
            REQUIRE(product_bound(method, d, d, 1) == ErrorBound{0, 0, 0});
            REQUIRE(product_bound(method, d, d, 0) == ErrorBound{0, 0, 0});
        }
        REQUIRE(product_bound(method, f32, f32, 2).absolute == 0x1p-150);
        REQUIRE(product_bound(method, f64, f64, 2).absolute == 0x1p-1074);
    }
    REQUIRE(relative(Method::tree, f32, f32, 2) >= u / (1 - u));
    REQUIRE(relative(Method::tree, f32, f32, 2) <= u / (1 - u) * (1 + 0x1p-50));
    REQUIRE(relative(Method::tree, f16, f16, 2) > 0x1p-11);
    REQUIRE(relative(Method::tree, f16, f32, 1001) > 999 * u); // every multiplication counts, not the depth of the tree
    REQUIRE(relative(Method::tree, f16, f32, 1001) < 1001 * u);
    REQUIRE(relative(Method::serial, f64, f64, 500) == relative(Method::tree, f64, f64, 500));
    REQUIRE(std::isinf(relative(Method::tree, f32, f32, (1u << 24) + 1)));
    REQUIRE(relative(Method::compensated, f32, f32, 1000) > u);
    REQUIRE(relative(Method::compensated, f32, f32, 1000) < u * (1 + 7001 * u));
    REQUIRE(relative(Method::compensated, bf16, f64, std::uint64_t{1} << 40) < 0.03); // and for every n
    REQUIRE(relative(Method::compensated, f64, f64, std::uint64_t{1} << 40) < 0x1p-53 * (1 + 0x1p-9));
}

TEST_CASE("what is outside a bound of products is found", "[product][bounds]") {
    const std::vector<double> x{0x1.8p100, 0x1.0000001p-90, -0x1.4p3};
    const ExactProduct exact = product_of(x);
    const double nearest = exact.round<double>();
    const ErrorBound half_a_unit{0x1p-53, 0, 0}, tight{0x1p-60, 0, 0};
    REQUIRE(within_product_bound(nearest, exact, half_a_unit));
    REQUIRE(within_product_bound(nearest, exact, tight)); // this one is exact
    REQUIRE_FALSE(within_product_bound(next_up(nearest), exact, half_a_unit));
    REQUIRE_FALSE(within_product_bound(next_down(nearest), exact, half_a_unit));
    REQUIRE(within_product_bound(next_up(nearest), exact, {0x1p-51, 0, 0}));
    REQUIRE_FALSE(within_product_bound(-nearest, exact, {0.5, 0, 0}));
    REQUIRE_FALSE(within_product_bound(quiet_nan<double>, exact, {0.5, 0, 0}));
    REQUIRE_FALSE(within_product_bound(-infinity<double>, exact, {0.5, 0, 0}));
    const ExactProduct huge = product_of({0x1p1000, 0x1p1000}), tiny = product_of({0x1p-1000, 0x1p-1000}),
                       largest_one = product_of({largest<double>});
    REQUIRE(within_product_bound(infinity<double>, huge, half_a_unit));
    REQUIRE_FALSE(within_product_bound(largest<double>, huge, half_a_unit));
    REQUIRE(within_product_bound(0.0, tiny, {0, 0, 0}));
    REQUIRE_FALSE(within_product_bound(smallest<double>, tiny, half_a_unit));
    REQUIRE(within_product_bound(infinity<double>, largest_one, half_a_unit));
    REQUIRE_FALSE(within_product_bound(infinity<double>, product_of({largest<double>, 0.5}), half_a_unit));
    const ExactProduct nothing = product_of({0.0, -2});
    REQUIRE(within_product_bound(-0.0, nothing, half_a_unit));
    REQUIRE_FALSE(within_product_bound(0.0, nothing, half_a_unit));
}
