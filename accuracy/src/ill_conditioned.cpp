// Sums with a requested condition number, after GenDot of Ogita, Rump and Oishi (Accurate sum and dot product, SISC 26, 2005,
// Algorithm 6.1): random terms over a range of exponents, then terms that each cancel the exact sum so far down to a smaller
// magnitude, then a shuffle. Ours ends with a term that aims at Σ|x|/condition, so that the request is met closely.
#include "elements.hpp"

#include <algorithm>
#include <stdexcept>

#include <detreduce/accuracy/oracle.hpp>

namespace detreduce::accuracy {
namespace {

/// ⌈log2 c⌉ of a finite c ≥ 1.
int ceil_log2_of(double c) noexcept {
    const Parts p = parts(c);
    return p.exponent + precision<double> - 1 + ((p.mantissa & (p.mantissa - 1)) != 0);
}

/// Σ|x|/condition for condition ≥ 1, rounded to T (down is as good as nearest here).
template <class T>
T aim(const ExactSum& sum, double condition) {
    const Parts c = parts(condition);
    const cpp_int target = (sum.scaled_abs() << static_cast<unsigned>(precision<double>)) / c.mantissa;
    return round_scaled<T>(target, ExactSum::lowest_exponent - precision<double> - c.exponent);
}

/// The first terms: exponents −half … half. The first one is as large as any, so that Σ|x| ≥ 2^(half−1).
template <class T>
T random_term(std::size_t i, std::uint64_t seed, int half) noexcept {
    const std::uint64_t word = hash(seed, i);
    const int exponent = i == 0 ? half - 1 : below(hash(word, 0), 2 * half + 1) - half - 1;
    return compose<T>(word >> 63, exponent, hash(word, 1));
}

} // namespace

template <class T>
std::vector<T> ill_conditioned(std::size_t n, std::uint64_t seed, double condition) {
    if (!(condition >= 1.0) || !is_finite(condition))
        throw std::invalid_argument("generate: a condition number is a finite number that is at least 1");
    // Beyond 4096 terms more cancelling changes nothing but the time; each needs an exact sum.
    const std::size_t cancelling = std::min<std::size_t>(n / 2, 4096);
    const double limit = sizeof(T) == 4 ? power_of_two<double>(160) : power_of_two<double>(1023);
    const auto reach = std::min<std::size_t>(cancelling * (precision<T> - 3), 1023);
    condition = std::min({condition, limit, power_of_two<double>(static_cast<int>(reach))});
    const int half = (ceil_log2_of(condition) + 1) / 2;

    std::vector<T> xs(n);
    ExactSum sum;
    const auto append = [&](std::size_t i, T x) { sum.add(xs[i] = x); };
    const bool cancels = condition > 1.0;
    const std::size_t free = cancels ? n - cancelling : n;
    for (std::size_t i = 0; i < free; ++i) {
        const T x = random_term<T>(i, seed, half);
        append(i, cancels ? x : (x < 0 ? -x : x));
    }
    for (std::size_t i = free; i < n; ++i) {
        const auto step = static_cast<std::int64_t>(i - free + 1), steps = static_cast<std::int64_t>(cancelling);
        const auto exponent = static_cast<int>(half - 2 * half * step / steps); // half … −half, linearly
        const T next = i + 1 == n ? aim<T>(sum, condition) : uniform<T>(hash(seed, i)) * power_of_two<T>(exponent);
        append(i, next - sum.round<T>());
    }
    shuffle(std::span<T>(xs), hash(seed, n));
    return xs;
}

template std::vector<float> ill_conditioned<float>(std::size_t, std::uint64_t, double);
template std::vector<double> ill_conditioned<double>(std::size_t, std::uint64_t, double);

} // namespace detreduce::accuracy
