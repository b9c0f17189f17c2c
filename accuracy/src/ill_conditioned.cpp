// Sums with a requested condition number, after GenDot of Ogita, Rump and Oishi (Accurate sum and
// dot product, SISC 26, 2005, Algorithm 6.1): random terms over a range of exponents, then terms
// that each cancel the exact sum so far down to a smaller magnitude, then a shuffle. Ours ends with
// a term that aims at Σ|x|/condition, so that the request is met closely.
#include "elements.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <detreduce/accuracy/oracle.hpp>

namespace detreduce::accuracy {
namespace {

/// ⌈log2 c⌉ of a finite c ≥ 1.
int ceil_log2_of(double c) noexcept {
    const Parts p = parts(c);
    return p.exponent + precision<double> - 1 + ((p.mantissa & (p.mantissa - 1)) != 0);
}

/// log2 of the largest condition number that the format's exponents allow.
template <class T>
constexpr int reach_of_format = fp::has_8_bits<T> ? 10 : 1023;
template <>
constexpr int reach_of_format<float> = 160;
template <>
constexpr int reach_of_format<bfloat16> = 160;
template <>
constexpr int reach_of_format<float16> = 36;

/// A condition number, and what to make it of.
struct Request {
    double condition; ///< as asked for, or less
    std::size_t
        cancelling; ///< so many terms at the end cancel what the first ones add up to; 0 when nothing needs to cancel
    int log2_condition; ///< rounded up
    int half;           ///< the first terms have exponents −half−1 … half−1
};

template <class T>
Request request_for(std::size_t n, double condition) {
    if (!(condition >= 1.0) || !is_finite(condition))
        throw std::invalid_argument("generate: a condition number is a finite number that is at least 1");
    // Beyond 4096 terms more cancelling changes nothing but the time; each needs an exact sum.
    const std::size_t cancelling = std::min<std::size_t>(n / 2, 4096);
    const auto reach = std::min<std::size_t>(cancelling * (precision<T> - 3), reach_of_format<T>);
    condition = std::min(condition, power_of_two<double>(static_cast<int>(reach)));
    const int log2 = ceil_log2_of(condition);
    return {condition, condition > 1.0 ? cancelling : 0, log2,
            std::min((log2 + 1) / 2, -smallest_normal_exponent<T> - 1)};
}

/// Σ|x|/condition in the units of ExactSum, for condition ≥ 1. Down is as good as nearest here.
cpp_int scaled_aim(const ExactSum& sum, double condition) {
    const Parts c = parts(condition);
    constexpr int digits = precision<double>;
    const cpp_int quotient = (sum.scaled_abs() << static_cast<unsigned>(digits)) / c.mantissa;
    return quotient >> static_cast<unsigned>(digits + c.exponent);
}

/// The first one is as large as any, so that Σ|x| ≥ 2^(half−1).
template <class T>
T first_term(std::size_t i, std::uint64_t seed, int half) noexcept {
    const std::uint64_t word = hash(seed, i);
    const int exponent = i == 0 ? half - 1 : below(hash(word, 0), 2 * half + 1) - half - 1;
    return compose<T>(word >> 63, exponent, hash(word, 1));
}

/// A random number below 2^exponent, where exponents fall from `half` by `fall` in all, linearly
/// over the cancelling terms.
template <class T>
fp::Arithmetic<T> next_sum(std::size_t i, std::size_t n, std::uint64_t seed, const Request& request, int fall) {
    const auto steps = static_cast<std::int64_t>(request.cancelling),
               step = static_cast<std::int64_t>(i + 1 + request.cancelling - n);
    const auto exponent = static_cast<int>(request.half - fall * step / steps);
    return fp::widen(uniform<T>(hash(seed, i))) * power_of_two<fp::Arithmetic<T>>(exponent);
}

/// Some formats have so few binades that the sum of many terms would leave them. So the signs of
/// the first terms hold the sum near its aim all along, and what the others cancel is the distance
/// to it.
template <class T>
std::vector<T> held_terms(std::size_t n, std::uint64_t seed, const Request& request) {
    std::vector<T> xs(n);
    ExactSum sum;
    double near_sum = 0, near_abs = 0; // good enough to choose signs by
    for (std::size_t i = 0; i < n; ++i) {
        if (i < n - request.cancelling) {
            const float x = std::abs(fp::widen(first_term<T>(i, seed, request.half)));
            near_abs += x;
            const float signed_x = near_sum * request.condition > near_abs ? -x : x;
            near_sum += signed_x;
            xs[i] = fp::round_to<T>(signed_x);
        } else {
            const cpp_int distance = scaled_aim(sum, request.condition) - sum.scaled();
            const float next = i + 1 < n ? next_sum<T>(i, n, seed, request, request.log2_condition) : 0;
            xs[i] = fp::round_to<T>(next + fp::widen(round_scaled<T>(distance, ExactSum::lowest_exponent)));
        }
        sum.add(xs[i]);
    }
    return xs;
}

/// First terms of random signs; each cancelling term then takes the sum to a smaller number, the
/// last one to its aim.
template <class T>
std::vector<T> terms(std::size_t n, std::uint64_t seed, const Request& request) {
    if constexpr (reach_of_format<T> < 100) return held_terms<T>(n, seed, request);
    std::vector<T> xs(n);
    ExactSum sum;
    for (std::size_t i = 0; i < n; ++i) {
        if (i < n - request.cancelling) {
            const T x = first_term<T>(i, seed, request.half);
            xs[i] = request.cancelling == 0 && fp::is_negative(x) ? fp::negated(x) : x;
        } else {
            const auto next =
                i + 1 < n ? next_sum<T>(i, n, seed, request, 2 * request.half)
                          : fp::widen(round_scaled<T>(scaled_aim(sum, request.condition), ExactSum::lowest_exponent));
            xs[i] = fp::round_to<T>(next - fp::widen(sum.round<T>()));
        }
        sum.add(xs[i]);
    }
    return xs;
}

} // namespace

template <class T>
std::vector<T> ill_conditioned(std::size_t n, std::uint64_t seed, double condition) {
    std::vector<T> xs = terms<T>(n, seed, request_for<T>(n, condition));
    shuffle(std::span<T>(xs), hash(seed, n));
    return xs;
}

#define DETREDUCE_INSTANTIATE(name, c_name, type)                                                                      \
    template std::vector<type> ill_conditioned<type>(std::size_t, std::uint64_t, double);
DETREDUCE_FORMATS(DETREDUCE_INSTANTIATE)
#undef DETREDUCE_INSTANTIATE

} // namespace detreduce::accuracy
