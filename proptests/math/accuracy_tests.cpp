// The functions of math.hpp against MPFR: no error is larger than the table in functions.hpp says.
//
//     detreduce_math_tests "[error]"                                     as in CI: some 200 000 inputs a function and format, in seconds
//     DETREDUCE_MATH_INPUTS=100000000 detreduce_math_tests "[error]"     as many as you like
//     detreduce_math_tests "[every_f32]"                                 all 2^32 floats: most of an hour of one processor, spent in libm
//
// With an environment variable of this name, or [every_f32], the largest errors found are printed.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <mutex>

#include <support/catch.hpp>

#include <detreduce/accuracy/function_oracle.hpp>

#include "math/evaluate.hpp"
#include "math/inputs.hpp"

namespace detreduce::proptests {
namespace {

using math::Function;

/// The largest error found, and where.
template <class T>
struct Worst {
    double error = 0;
    T at{};

    void see(T x, double e) {
        if (e > error) error = e, at = x;
    }
    void merge(const Worst& other) { see(other.at, other.error); }
    void require(const char* name, double bound, bool print) const {
        char line[160];
        std::snprintf(line, sizeof line, "%-8s %s: at most %.6f ulp, at %a (bound %g)", name,
                      fp::is_f32<T> ? "f32" : "f64", error, static_cast<double>(at), bound);
        if (print) std::puts(line);
        INFO(line);
        CHECK(error <= bound);
    }
};

constexpr std::size_t block = 1 << 12;

/// The worst of n inputs, number i being input(i), by all processors.
template <class T, class Input>
Worst<T> worst_of(Function f, std::uint64_t n, const Input& input) {
    std::mutex lock;
    Worst<T> worst;
    in_parallel((n + block - 1) / block, [&](std::uint64_t b) {
        std::vector<T> x, y(block);
        for (std::uint64_t i = b * block; i < std::min(n, (b + 1) * block); ++i)
            x.push_back(input(i));
        evaluators().back()(f, x.data(), y.data(), x.size());
        Worst<T> here;
        for (std::size_t i = 0; i < x.size(); ++i)
            here.see(x[i], accuracy::error_in_ulps(f, x[i], y[i]));
        const std::lock_guard guard(lock);
        worst.merge(here);
    });
    return worst;
}

/// f(x) in double, by libm, with an error that is nothing in a float.
double libm(Function f, double x) {
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
        return x > 100 ? x : std::log1p(std::exp(x));
    case Function::tanh:
        return std::tanh(x);
    case Function::rsqrt:
        return 1 / std::sqrt(x);
    }
    return x;
}

/// As accuracy::error_in_ulps, by libm: right to 1e-6, and quick.
double quick_error(Function f, float x, float y) {
    constexpr double wrong = infinity<double>;
    const double value = libm(f, static_cast<double>(x)), size = std::fabs(value);
    if (std::isnan(value)) return fp::to_bits(y) == fp::Format<float>::canonical_nan ? 0 : wrong;
    if (fp::is_nan(y) || std::signbit(y) != std::signbit(value)) return wrong;
    if (std::isinf(y) && size >= 0x1p128) return 0;
    if (size == 0) return y == 0 ? 0 : wrong;
    const auto exponent =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(fp::to_bits(size) >> 52), 1023 - 126, 1023 + 127);
    const double unit = fp::from_bits<double>(static_cast<std::uint64_t>(exponent - 23) << 52);
    return std::fabs((std::isinf(y) ? std::copysign(0x1p128, value) : static_cast<double>(y)) - value) / unit;
}

struct Every {
    Worst<float> worst;
    std::uint64_t falls = 0; ///< neighbours of which the larger has the smaller value (for rsqrt: the other way round)
};

/// Of the floats with the bits b·2^16 and on. libm finds the worst, and MPFR says how bad it is.
Every every_of(Function f, std::uint64_t b) {
    constexpr std::size_t n = 1 << 16;
    std::vector<float> x(n + 1), y(n + 1);
    for (std::size_t i = 0; i <= n; ++i)
        x[i] = fp::from_bits<float>(static_cast<std::uint32_t>(b * n + i));
    evaluators().back()(f, x.data(), y.data(), n + 1);
    Every every;
    Worst<std::size_t> quick;
    for (std::size_t i = 0; i < n; ++i) {
        quick.see(i, quick_error(f, x[i], y[i]));
        const bool up = (x[i] < x[i + 1]) == (f != Function::rsqrt);
        every.falls += x[i] != x[i + 1] && (up ? y[i] > y[i + 1] : y[i] < y[i + 1]);
    }
    every.worst.see(x[quick.at], accuracy::error_in_ulps(f, x[quick.at], y[quick.at]));
    return every;
}

} // namespace

TEMPLATE_TEST_CASE("math: errors are below the bounds", "[math][error]", float, double) {
    using T = TestType;
    const bool asked = std::getenv("DETREDUCE_MATH_INPUTS") != nullptr;
    const std::uint64_t n = count_asked_for("DETREDUCE_MATH_INPUTS", 100'000);
    const std::vector<T> near = neighbourhoods<T>(fp::is_f32<T> ? 8 : 2);
    for (const auto& [f, name, f32, f64] : math::functions) {
        Worst<T> worst = worst_of<T>(f, near.size(), [&](std::uint64_t i) { return near[i]; });
        worst.merge(worst_of<T>(f, n, [](std::uint64_t i) { return drawn<T>(1, i); }));
        if constexpr (fp::is_f32<T>) { // of all floats, one in so many
            const std::uint64_t stride = (std::uint64_t{1} << 32) / n | 1;
            worst.merge(worst_of<T>(
                f, n, [&](std::uint64_t i) { return fp::from_bits<T>(static_cast<fp::Bits<T>>(i * stride)); }));
        }
        worst.require(name, math::max_ulp<T>(f), asked);
    }
}

TEST_CASE("math: errors and order of all floats", "[.][every_f32]") {
    for (const auto& [f, name, bound, f64] : math::functions) {
        std::mutex lock;
        Every every;
        in_parallel(std::uint64_t{1} << 16, [&, function = f](std::uint64_t b) {
            const Every here = every_of(function, b);
            const std::lock_guard guard(lock);
            every.worst.merge(here.worst);
            every.falls += here.falls;
        });
        every.worst.require(name, bound, true);
        std::printf("%-8s falls at %llu of all floats\n", name, static_cast<unsigned long long>(every.falls));
        std::fflush(stdout);
    }
}

} // namespace detreduce::proptests
