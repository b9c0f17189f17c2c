// Bounds of terms, moments, products and rows, by value: written out once more from the text of the
// headers, with the numbers of one case put in. That results are within their bounds says little of
// a bound that is too large.
#include <cmath>
#include <limits>

#include <support/bits.hpp>
#include <support/catch.hpp>

#include <detreduce/accuracy/bounds.hpp>
#include <detreduce/accuracy/row_bounds.hpp>
#include <detreduce/spec/exp_term.hpp>

using namespace detreduce;
using namespace detreduce::accuracy;

namespace {

constexpr double u32 = 0x1p-24, u64 = 0x1p-53, eta32 = 0x1p-149, eta64 = 0x1p-1074;

/// γ_k of binary32 and binary64.
double g32(double k) {
    return k / (0x1p24 - k);
}
double g64(double k) {
    return k / (0x1p53 - k);
}
/// Is a bound this number, rounded up a little?
bool is_near(double bound, double value) {
    return value == 0 ? bound <= eta64 : bound >= value * (1 - 0x1p-46) && bound <= value * (1 + 0x1p-39);
}
bool is_near(const ErrorBound& bound, const ErrorBound& value) {
    return bound.of_sum == value.of_sum && is_near(bound.of_abs, value.of_abs) && bound.absolute == value.absolute;
}

} // namespace

TEST_CASE("bounds of terms, by value", "[bounds]") {
    const auto serial = [](Op op, DType in, DType out) { return error_bound(op, Method::serial, in, out, 10); };
    constexpr auto f16 = DType::f16, bf16 = DType::bf16, f32 = DType::f32, f64 = DType::f64;
    for (const Op op : {Op::sum, Op::mean, Op::asum}) // no rounding of a term: nine additions
        REQUIRE(is_near(serial(op, f32, f32), {0, g32(9), eta32}));
    REQUIRE(is_near(serial(Op::mae, f32, f32), {0, g32(10), eta32})); // one, which cannot underflow
    for (const Op op : {Op::sumsq, Op::nrm2, Op::dot})
        REQUIRE(is_near(serial(op, f32, f32), {0, g32(10), eta32 + 40 * eta32}));
    for (const Op op : {Op::sumdiffsq, Op::mse}) // three
        REQUIRE(is_near(serial(op, f32, f32), {0, g32(12), eta32 + 40 * eta32}));
    REQUIRE(is_near(serial(Op::sumdiffsq, f64, f64), {0, g64(12), 41 * eta64}));
    REQUIRE(is_near(serial(Op::sumdiffsq, f16, f16), {0x1p-11, g32(12) * (1 + 0x1p-11), 0x1p-24 + 40 * eta32}));
    REQUIRE(is_near(serial(Op::dot, bf16, bf16), {0x1p-8, g32(10) * (1 + 0x1p-8), 0x1p-133 + 40 * eta32}));
    REQUIRE(is_near(serial(Op::asum, bf16, f64), {0, g32(9), eta64}));
    for (const Method method : {Method::kahan, Method::compensated}) {
        const auto d = static_cast<double>(rounding_depth(method, f32, 5000));
        REQUIRE(d > 10);
        for (const Op op : {Op::asum, Op::dot, Op::nrm2, Op::sumdiffsq}) {
            const double absolute = op == Op::asum ? 0 : 4 * 5000;
            REQUIRE(is_near(error_bound(op, method, f32, f32, 5000),
                            {u32, (1 + u32) * g32(2 * d + 6) * g32(d + 3), eta32 + absolute * eta32}));
            REQUIRE(is_near(error_bound(op, method, f32, f64, 5000),
                            {u64, (1 + u64) * g32(2 * d + 6) * g32(d + 3), eta64 + absolute * eta32}));
        }
    }
    const auto tree = static_cast<double>(rounding_depth(Method::tree, f64, 5000));
    REQUIRE(is_near(error_bound(Op::mse, Method::tree, f64, f64, 5000), {0, g64(tree + 3), 20001 * eta64}));
    for (const Op op : {Op::asum, Op::dot, Op::nrm2, Op::sumdiffsq})
        REQUIRE(is_near(error_bound(op, Method::exact, f32, f16, 5000), {0x1p-11, 0, 0x1p-24}));
}

TEST_CASE("bounds of mean and variance, by value", "[bounds]") {
    const auto check = [](Method method, DType in, DType out, std::uint64_t n, double d, double u, double eta,
                          double u_out, double eta_out, bool narrow) {
        const auto g = [&](double k) { return k * u / (1 - k * u); };
        const double f = std::sqrt(d) * g(5 * d), once = (1 + g(2 * d + 7)) * (1 + 2 * u_out),
                     count = static_cast<double>(n), lost = 2 * d * eta * std::sqrt(count * d);
        const MomentsBound b = moments_bound(method, in, out, n);
        CAPTURE(name(in), name(out), n);
        REQUIRE(b.of_mean == (narrow ? u_out : 0));
        REQUIRE(is_near(b.of_abs, g(5 * d) * (1 + u_out)));
        REQUIRE(is_near(b.of_m2, d == 0 ? 0 : (g(2 * d + 7) + u) * (1 + 2 * u_out) + 2 * u_out));
        REQUIRE(is_near(b.of_mixed, 2 * f * once));
        REQUIRE(is_near(b.of_squares, 2 * f * f * once));
        REQUIRE(is_near(b.absolute, eta_out + d * eta));
        const double absolute_m2 = count * (d + 2) * eta + 3 * lost * (lost / u); // a subnormal, of binary64
        REQUIRE(b.absolute_m2 >= absolute_m2);
        REQUIRE(b.absolute_m2 <= absolute_m2 * (1 + 0x1p-50) + std::ldexp(count, -1070));
    };
    constexpr auto serial = Method::serial, tree = Method::tree;
    check(serial, DType::f32, DType::f32, 10, 9, u32, eta32, u32, eta32, false);
    check(serial, DType::f32, DType::f64, 10, 9, u32, eta32, u64, eta64, false);
    check(serial, DType::f16, DType::f16, 10, 9, u32, eta32, 0x1p-11, 0x1p-24, true);
    check(serial, DType::f64, DType::f64, 10, 9, u64, eta64, u64, eta64, false);
    check(serial, DType::f32, DType::f32, 1, 0, u32, eta32, u32, eta32, false);
    const auto depth = static_cast<double>(rounding_depth(Method::compensated, DType::bf16, 70'000));
    REQUIRE(depth > 12);
    check(tree, DType::bf16, DType::bf16, 70'000, depth, u32, eta32, 0x1p-8, 0x1p-133, true);
}

TEST_CASE("bounds of products, by value", "[bounds]") {
    const auto relative = [](Method method, DType in, DType out, std::uint64_t n) {
        const ErrorBound b = product_bound(method, in, out, n);
        REQUIRE(b.of_abs == 0);
        return b.of_sum;
    };
    constexpr auto f16 = DType::f16, f32 = DType::f32, f64 = DType::f64;
    REQUIRE(is_near(relative(Method::serial, f32, f32, 1000), g32(999)));
    REQUIRE(is_near(relative(Method::tree, f16, f16, 1000), 0x1p-11 + (1 + 0x1p-11) * g32(999)));
    const double k = 7 * 99'999.0;
    REQUIRE(is_near(relative(Method::compensated, f32, f64, 100'000), u64 + (1 + u64) * (k / (0x1p48 - k))));
    REQUIRE(is_near(relative(Method::compensated, f32, f32, 100'000), u32 + (1 + u32) * (k / (0x1p48 - k))));
    REQUIRE(is_near(relative(Method::compensated, f64, f64, 100'000), u64 + (1 + u64) * (k / (0x1p106 - k))));
    // What may underflow: half of the smallest number, where that is a double.
    REQUIRE(product_bound(Method::tree, f32, f32, 2).absolute == eta32 / 2);
    REQUIRE(product_bound(Method::tree, f32, f64, 2).absolute == eta64);
    REQUIRE(product_bound(Method::tree, f64, f16, 1).absolute == 0x1p-25);
    for (const Method method : {Method::tree, Method::compensated})
        REQUIRE(product_bound(method, f32, f32, 1) == ErrorBound{0, 0, 0});
}

TEST_CASE("bounds of sums of exponentials, by value", "[bounds]") {
    constexpr std::uint64_t n = 1000;
    const auto d = static_cast<double>(rounding_depth(Method::tree, DType::f32, n));
    const double epsilon = spec::exp_term_error<float>, missing = n * 0x1p-188, g = g32(d + 3);
    const ExpSumCase f32{DType::f32, n}, bf16{DType::bf16, n}; // which has another ε
    // Sums of numbers near 1 and 0 cancel here as they do not there.
    const auto is_close = [](double bound, double value) { return std::fabs(bound / value - 1) < 0x1p-24; };
    const auto others_of = [&](double of_term, double added) {
        return (1 + of_term) * (1 + added) * (1 + of_term / (1 - of_term)) * (1 + u32) - 1;
    };
    const double others = others_of(epsilon, g);
    REQUIRE(is_close(others_bound(f32), others));
    // Of two levels: 7 chunks' rows, 3, 7 lanes; and 2 tiles, of which one merges twice.
    const auto two = static_cast<double>(rounding_depth(Method::tree, DType::f32, 9000));
    REQUIRE(is_close(others_bound({DType::f32, 9000}), others_of(epsilon, g32(two + 3 + 1))));

    const double log = 7, e = others / (1 - others); // L
    const double of_log = e * log + missing + 1.4 * u32 * (log + e * log);
    REQUIRE(is_close(logsumexp_bound(f32, DType::f32, log, 57), of_log + u32 * (57 + of_log)));
    // Relative to itself, however small it is, and never less than the smallest number.
    const double relative = e + 1.4 * u32 * (1 + e);
    REQUIRE(is_close(logsumexp_bound(f32, DType::f32, 0x1p-60, 0x1p-60), (relative + u32 * (1 + relative)) * 0x1p-60));
    REQUIRE(logsumexp_bound(f32, DType::f32, 0, 0) >= eta32);
    const double of_bf16 = others_of(spec::exp_term_error<bfloat16>,
                                     g32(static_cast<double>(rounding_depth(Method::tree, DType::bf16, n)) + 3));
    const double bf16_log = of_bf16 / (1 - of_bf16) * log + 1.4 * u32 * log * (1 + of_bf16),
                 wide = bf16_log + u32 * (log + bf16_log);
    REQUIRE(is_close(logsumexp_bound(bf16, DType::bf16, log, log), wide + 0x1p-8 * (log + wide)));
    const double all = (1 + epsilon) * (1 + g) * (1 + u32) - 1;
    const double softmax = 0.25 * ((1 + epsilon) * (1 + u32) * (1 + u32) * (1 + all / (1 - all)) - 1);
    REQUIRE(is_close(softmax_bound(f32, DType::f32, 0.25), softmax));
    REQUIRE(softmax_bound(f32, DType::f32, 0) >= eta32);
    const double away = of_log + u32 * 3;
    REQUIRE(is_close(log_softmax_bound(f32, DType::f32, log, 3), away + u32 * (3 + log + away)));

    const double loss_g = g32(d + 5), slope_g = g32(d + 7);
    REQUIRE(is_close(cross_entropy_bound(DType::f32, DType::f32, n, {5, 0x1p-20, 5}),
                     (1 + loss_g) * 0x1p-20 + loss_g * 5 + 1003 * eta32));
    REQUIRE(is_close(cross_entropy_bound(DType::f32, DType::f32, n, {0, 0, 0}), 1003 * eta32));
    REQUIRE(is_close(cross_entropy_bound(DType::f32, DType::f32, n, {5, 0x1p-20, 5, true}),
                     (1 + g32(1)) * 0x1p-20 + g32(1) * 5 + eta32));
    REQUIRE(cross_entropy_bound(DType::f32, DType::f32, n, {0, 0, 0, true}) >= eta32);
    // p, A, D, factor
    REQUIRE(is_close(cross_entropy_gradient_bound(f32, DType::f32, {0.25, 3, 2, -7}),
                     7 * ((1 + slope_g) * softmax * 3 + slope_g * (0.25 * 3 + 2)) + 4 * 8 * eta32));
    const double own =
        (1 + epsilon) * (1 + g) * (1 + u32) * (1 + u32) * (1 + all / (1 - all)) * (1 + u32) * (1 + u32) - 1;
    REQUIRE(is_close(own_gradient_bound(f32, DType::f32, 0x1p-20, -7, false), 7 * 0x1p-20 * own));
    REQUIRE(
        is_close(own_gradient_bound(f32, DType::f32, 0x1p-20, -7, true), 7 * 0x1p-20 * ((1 + own) * (1 + u32) - 1)));

    // Losses 100, their bounds 2^−20, weights 50, mean 2; the sum of float in double costs γ in
    // binary32.
    const double cost = g32(static_cast<double>(rounding_depth(Method::tree, DType::f32, 64)));
    const double mean = (0x1p-20 + cost * (100 + 0x1p-20) + 2 * cost * 50) / (50 - cost * 50);
    REQUIRE(is_close(mean_loss_bound(Method::tree, DType::f32, DType::f32, 64, {100, 0x1p-20, 50, 2}),
                     mean + (u64 + u32) * (2 + mean) + eta32));
    REQUIRE(std::isinf(mean_loss_bound(Method::tree, DType::f32, DType::f32, 64, {100, 0x1p-20, 0, 2})));

    // A term of 5, off by 3 units of the last place at 6, which are 2^−21, and a weight of −7.
    REQUIRE(is_close(weighted_term_bound(DType::f16, {5, 6, 3, 2, -7}),
                     7 * 3 * 0x1p-21 + u32 * 7 * (5 + 3 * 0x1p-21) + eta32));
    REQUIRE(is_close(weighted_term_bound(DType::f64, {5, 6, 3, 2, 7}), 7 * 3 * 0x1p-50 + u64 * 7 * 5));
    REQUIRE(weighted_term_bound(DType::f32, {0, 0, 3, 2, 1}) >= 6 * eta32);
    // In the order of the elements: halves have twice the lanes.
    const double halves = g32(static_cast<double>(rounding_depth(Method::tree, DType::f16, 20'000))),
                 of_halves = 0x1p-20 + halves * (100 + 0x1p-20),
                 over_weights = (of_halves + 2 * halves * 50) / (50 - halves * 50);
    REQUIRE(is_close(weighted_mean_bound(Method::tree, DType::f16, DType::f64, 20'000, {100, 0x1p-20, 50, 2}, true),
                     over_weights + 2 * u64 * (2 + over_weights)));
    REQUIRE(is_close(weighted_mean_bound(Method::tree, DType::f16, DType::f16, 20'000, {100, 0x1p-20, 50, 2}, false),
                     of_halves / 50 + 0x1p-11 * (2 + of_halves / 50) + 0x1p-24));
    REQUIRE(is_close(weighted_mean_bound(Method::exact, DType::f64, DType::f64, 20'000, {100, 0, 50, 2}, true),
                     2 * u64 + 2 * u64 + 2 * u64 * 2));
}

TEST_CASE("bounds of normalized rows, by value", "[bounds]") {
    const auto is_close = [](double bound, double value) { return std::fabs(bound / value - 1) < 0x1p-24; };
    const NormSizes centred{DType::f32, 1000, 0.5, 800, 1100, 1000, true},
        about_zero{DType::f32, 1000, 0.5, 800, 1100, 1100, false};
    const MomentsBound m = moments_bound(Method::tree, DType::f32, DType::f32, 1000),
                       v = moments_bound(Method::tree, DType::f32, DType::f64, 1000);
    const double delta = (m.of_mean + m.of_abs) * 800 / 1000 + m.absolute;
    const double off =
        (v.of_m2 * 1000 + v.of_mixed * std::sqrt(1000 * 1100.0) + v.of_squares * 1100 + v.absolute_m2) / 1000 +
        v.absolute;
    // 1 / √(1 − share) − 1 ≤ share / (2 − 2·share); three roundings in binary64 and one to binary32
    const auto tau_of = [](double share) { return (1 + share / (2 - 2 * share)) * (1 + 0x1.9p-52) * (1 + u32) - 1; };
    const double tau = tau_of(off / 1.5);
    REQUIRE(is_close(norm_errors(centred).mean, delta));
    REQUIRE(is_close(norm_errors(centred).rstd, tau));
    const ErrorBound squares = error_bound(Op::sumsq, Method::tree, DType::f32, DType::f32, 1000);
    REQUIRE(norm_errors(about_zero).mean == 0);
    const double about_tau = tau_of(((squares.of_abs + 0x1p-52) * 1100 + squares.absolute) / 1000 / 1.6);
    REQUIRE(is_close(norm_errors(about_zero).rstd, about_tau));
    NormSizes hopeless = centred; // less is known of the variance than it is
    hopeless.m2 = hopeless.epsilon = 0;
    REQUIRE(std::isinf(norm_errors(hopeless).rstd));
    REQUIRE(std::isinf(norm_bound(hopeless, DType::f32, {1, 1, 1, 1, false})));

    const double all = (1 + u32) * (1 + u32) * (1 + tau) - 1;
    const double z = 3 * 0.75 * all + delta * 0.75 * (1 + all) + eta32; // (|x − mean|, 1/q) = (3, .75)
    REQUIRE(is_close(norm_bound(centred, DType::f32, {3, 0.75, 1, 2.25, false}), z));
    const double scaled = 5 * z + u32 * (11.25 + 5 * z) + eta32;
    REQUIRE(is_close(norm_bound(centred, DType::f32, {3, 0.75, -5, 11.25, true}), scaled));
    NormSizes half = centred;
    half.input = DType::bf16;
    const double wide = norm_bound(half, DType::f32, {3, 0.75, 1, 2.25, false});
    REQUIRE(
        is_close(norm_bound(half, DType::bf16, {3, 0.75, 1, 2.25, false}), wide + 0x1p-8 * (2.25 + wide) + 0x1p-133));
}
