#include "elements.hpp"

#include <algorithm>
#include <array>

namespace detreduce::accuracy {
namespace {

struct Named {
    Family family;
    std::string_view name;
};
constexpr std::array named{
    Named{Family::uniform, "uniform"},
    Named{Family::normal, "normal"},
    Named{Family::lognormal, "lognormal"},
    Named{Family::constant, "constant"},
    Named{Family::alternating, "alternating"},
    Named{Family::sorted, "sorted"},
    Named{Family::subnormal, "subnormal"},
    Named{Family::boundary_mantissas, "boundary_mantissas"},
    Named{Family::specials, "specials"},
    Named{Family::nonfinite, "nonfinite"},
    Named{Family::integers, "integers"},
    Named{Family::wide, "wide"},
    Named{Family::ill_conditioned, "ill_conditioned"},
    Named{Family::half_zeros, "half_zeros"},
    Named{Family::outlier, "outlier"},
};
constexpr auto all_families = [] {
    std::array<Family, named.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = named[i].family;
    return all;
}();

/// Where element i takes its random bits from. `draw(k)` is the k-th independent word.
struct Source {
    std::uint64_t seed;
    std::uint64_t i;
    std::uint64_t n;
    [[nodiscard]] std::uint64_t word() const noexcept { return hash(seed, i); }
    [[nodiscard]] std::uint64_t draw(std::uint64_t k) const noexcept { return hash(word(), k); }
};

/// x, negated if asked.
template <class T>
T negated_if(bool negate, T x) noexcept {
    return negate ? fp::negated(x) : x;
}

template <class T>
T normal(const Source& s) noexcept {
    // 12 uniforms of 59 bits in an integer: exact below 2^63; the conversion is the one rounding.
    std::int64_t sum = -6 * (std::int64_t{1} << 59);
    for (std::uint64_t k = 0; k < 12; ++k)
        sum += static_cast<std::int64_t>(s.draw(k) >> 5);
    using A = fp::Arithmetic<T>;
    return fp::round_to<T>(static_cast<A>(sum) * power_of_two<A>(-59));
}

template <class T>
T lognormal(const Source& s, double sigma) noexcept {
    constexpr double log2_e = 1.4426950408889634;
    constexpr double lowest = smallest_normal_exponent<T>, highest = highest_exponent<T> - 1;
    const double y = std::clamp(sigma * normal<double>(s) * log2_e, lowest, highest);
    const int truncated = static_cast<int>(y);
    const int whole = truncated - (y < truncated ? 1 : 0);
    using A = fp::Arithmetic<T>;
    const A mantissa = static_cast<A>(1.0 + (y - whole));
    return fp::round_to<T>(mantissa * power_of_two<A>(std::max(whole, smallest_normal_exponent<T>)));
}

template <class T>
T sorted(const Source& s) noexcept {
    // (i + r)/n with r in [0, 1): division and rounding are monotone, so the order survives.
    const double r = static_cast<double>(s.draw(0) >> 11) * power_of_two<double>(-53);
    const T magnitude = fp::round_to<T>((static_cast<double>(s.i) + r) / static_cast<double>(s.n));
    return negated_if(s.draw(1) >> 63, magnitude);
}

template <class T>
T boundary(const Source& s) noexcept {
    constexpr std::uint64_t top = std::uint64_t{1} << (precision<T> - 2);
    constexpr std::array<std::uint64_t, 6> fractions{~std::uint64_t{0},  ~std::uint64_t{0} - 1, 0, 1, top,
                                                     0x5555555555555555u};
    const int exponent = below(s.draw(1), 2 * precision<T> + 1) - precision<T>;
    return compose<T>(s.draw(2) >> 63, exponent, fractions[static_cast<std::size_t>(below(s.draw(0), 6))]);
}

/// The largest number times 2^−64: sums of fewer than 2^63 of them fit. float16 has no room for
/// that, and its sums are made in float: half of the largest.
template <class T>
T huge(bool negative) noexcept {
    constexpr int room = highest_exponent < T >> 64 ? 64 : 1;
    return compose<T>(negative, highest_exponent<T> - room, ~std::uint64_t{0});
}

template <class T>
T special(const Source& s) noexcept {
    constexpr fp::Bits<T> smallest_normal = fp::Bits<T>{1} << (precision<T> - 1);
    const fp::Bits<T> one = fp::to_bits(power_of_two<T>(0));
    const std::array<fp::Bits<T>, 8> magnitudes{
        0,
        1,
        smallest_normal - 1,
        smallest_normal,
        static_cast<fp::Bits<T>>(one - 1),
        one,
        static_cast<fp::Bits<T>>(one + 1),
        fp::to_bits(huge<T>(false)),
    };
    const fp::Bits<T> magnitude = magnitudes[static_cast<std::size_t>(below(s.draw(0), 8))];
    return negated_if(s.draw(1) >> 63, fp::from_bits<T>(magnitude));
}

template <class T>
T nonfinite(const Source& s) noexcept {
    constexpr int exponent_of_infinity = fp::Format<T>::max_exponent + 1;
    const std::uint64_t kind = hash(~s.seed, 0) % 4; // one kind for the whole sequence
    const bool forced = s.i == hash(~s.seed, 1) % s.n;
    if (!forced && s.draw(2) % 16 != 0) return special<T>(s);
    if constexpr (!fp::Format<T>::has_inf)
        return negated_if(s.draw(3) >> 63, fp::from_bits<T>(fp::Format<T>::canonical_nan));
    if (kind == 3)
        return compose<T>(s.draw(3) >> 63, exponent_of_infinity, s.draw(4) | std::uint64_t{1} << (precision<T> - 2));
    return compose<T>(kind == 1 || (kind == 2 && s.draw(3) >> 63), exponent_of_infinity, 0);
}

template <class T>
T wide(const Source& s, int binades) noexcept {
    constexpr int lowest = smallest_normal_exponent<T>, highest = highest_exponent<T>;
    const int first = std::max(-(binades / 2), lowest);
    const int last = std::min(first + std::max(binades, 1) - 1, highest);
    return compose<T>(s.draw(0) >> 63, first + below(s.draw(1), last - first + 1), s.draw(2));
}

template <class T>
T half_zeros(const Source& s) noexcept {
    return s.draw(12) >> 63 ? T{} : normal<T>(s); // normal takes draws 0 … 11
}

template <class T>
T outlier(const Source& s) noexcept {
    const bool here = s.i == hash(~s.seed, 1) % s.n;
    return here ? huge<T>(hash(~s.seed, 0) >> 63) : normal<T>(s);
}

template <class T>
T element(Family family, const Source& s, const Params& params) noexcept {
    switch (family) {
    case Family::uniform:
        return uniform<T>(s.word());
    case Family::normal:
        return normal<T>(s);
    case Family::lognormal:
        return lognormal<T>(s, params.sigma);
    case Family::constant:
        return compose<T>(false, 0, hash(s.seed, 0));
    case Family::alternating:
        return negated_if(s.i % 2 != 0, uniform<T>(hash(s.seed, s.i / 2)));
    case Family::sorted:
        return sorted<T>(s);
    case Family::subnormal:
        return compose<T>(s.draw(0) >> 63, -fp::Format<T>::bias, s.draw(1));
    case Family::boundary_mantissas:
        return boundary<T>(s);
    case Family::specials:
        return special<T>(s);
    case Family::nonfinite:
        return nonfinite<T>(s);
    case Family::integers:
        return fp::round_to<T>(static_cast<float>(below(s.word(), 33) - 16));
    case Family::wide:
        return wide<T>(s, params.binades);
    case Family::half_zeros:
        return half_zeros<T>(s);
    case Family::outlier:
        return outlier<T>(s);
    case Family::ill_conditioned:
        break; // not elementwise
    }
    return T{};
}

} // namespace

std::span<const Family> families() noexcept {
    return all_families;
}

std::string_view name(Family family) noexcept {
    for (const Named& entry : named)
        if (entry.family == family) return entry.name;
    return "?";
}

std::optional<Family> parse_family(std::string_view text) noexcept {
    for (const Named& entry : named)
        if (entry.name == text) return entry.family;
    return std::nullopt;
}

template <class T>
std::vector<T> generate(Family family, std::size_t n, std::uint64_t seed, const Params& params) {
    if (family == Family::ill_conditioned) return ill_conditioned<T>(n, seed, params.condition);
    std::vector<T> xs(n);
    for (std::size_t i = 0; i < n; ++i)
        xs[i] = element<T>(family, Source{seed, i, n}, params);
    return xs;
}

#define DETREDUCE_INSTANTIATE(name, c_name, type)                                                                      \
    template std::vector<type> generate<type>(Family, std::size_t, std::uint64_t, const Params&);
DETREDUCE_FORMATS(DETREDUCE_INSTANTIATE)
#undef DETREDUCE_INSTANTIATE

} // namespace detreduce::accuracy
