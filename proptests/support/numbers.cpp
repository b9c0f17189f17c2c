#include <support/numbers.hpp>

#include <array>

namespace detreduce::proptests {
namespace {

using accuracy::hash;

template <class T>
inline constexpr int width = fp::Format<T>::precision - 1;

std::uint64_t below(std::uint64_t word, std::uint64_t n) {
    return word % n;
}

int exponent_between(std::uint64_t word, int lowest, int highest) {
    return lowest + static_cast<int>(below(word, static_cast<std::uint64_t>(highest - lowest + 1)));
}

template <class T>
Fields special(std::uint64_t word) {
    constexpr std::uint64_t all = (std::uint64_t{1} << width<T>)-1, quiet = std::uint64_t{1} << (width<T> - 1);
    constexpr int top = largest_exponent<T>;
    const std::array<Fields, 13> list{{
        {false, -top, 0},                                // 0
        {false, -top, 0},                                // 0, again: the two signs of zero matter most
        {false, -top, 1},                                // smallest subnormal
        {false, -top, all},                              // largest subnormal
        {false, 1 - top, 0},                             // smallest normal
        {false, -1, all},                                // the number below 1
        {false, 0, 0},                                   // 1
        {false, 0, 1},                                   // the number above 1
        {false, top, 0},                                 // the largest power of two
        {false, top, all},                               // the largest number
        {false, top + 1, 0},                             // infinity
        {false, top + 1, quiet | (hash(word, 2) & all)}, // quiet NaN with a payload
        {false, top + 1, 1},                             // signalling NaN
    }};
    Fields f = list[below(hash(word, 0), list.size())];
    f.negative = hash(word, 1) & 1;
    return f;
}

template <class T>
std::uint64_t boundary_fraction(std::uint64_t word) {
    constexpr std::uint64_t all = (std::uint64_t{1} << width<T>)-1;
    const std::array<std::uint64_t, 6> list{
        all, all - 1, 0, 1, std::uint64_t{1} << (width<T> - 1), 0x5555555555555555u & all};
    return list[below(word, list.size())];
}

/// Random bits; or only the leading ones; or few of them.
template <class T>
std::uint64_t random_fraction(std::uint64_t word) {
    const std::uint64_t all = (std::uint64_t{1} << width<T>)-1, bits = hash(word, 0) & all;
    switch (below(hash(word, 1), 4)) {
    case 0:
        return bits & ~(all >> below(hash(word, 2), static_cast<std::uint64_t>(width<T> + 1)));
    case 1:
        return bits & hash(word, 3) & hash(word, 4) & hash(word, 5);
    default:
        return bits;
    }
}

} // namespace

template <class T>
T number_from(std::uint64_t word, const Scope& scope) {
    const std::uint64_t kind = below(hash(word, 10), 16);
    if (kind < 2) return fit(from_fields<T>(special<T>(hash(word, 11))), scope);
    const bool negative = hash(word, 12) & 1;
    if (kind == 2)
        return fit(from_fields<T>({negative, -largest_exponent<T>, random_fraction<T>(hash(word, 14))}), scope);
    const bool near = kind % 2 != 0;
    const int exponent =
        near ? exponent_between(hash(word, 13), -8, 8) : exponent_between(hash(word, 13), scope.lowest, scope.highest);
    const std::uint64_t fraction = kind < 5 ? boundary_fraction<T>(hash(word, 14)) : random_fraction<T>(hash(word, 14));
    return fit(from_fields<T>({negative, exponent, fraction}), scope);
}

// Every candidate is 0, or 1, or nearer to them in sign, exponent or fraction alone; so chains of
// candidates end.
template <class T>
std::vector<T> simpler(T x, const Scope& scope) {
    std::vector<T> list;
    const Fields f = fields(x);
    const auto offer = [&](Fields g) {
        const T y = from_fields<T>(g);
        if (in_scope(y, scope) && fp::to_bits(y) != fp::to_bits(x)) list.push_back(y);
    };
    if (fp::to_bits(x) == 0) return list;
    offer({false, -largest_exponent<T>, 0});
    if (f.exponent == -largest_exponent<T> && f.fraction == 0) return list; // −0 has only +0 below it
    if (fp::to_bits(x) == fp::to_bits(number<T>(1))) return list;
    offer({false, 0, 0});
    if (f.exponent > largest_exponent<T>) offer({f.negative, scope.highest, 0});
    if (f.negative) offer({false, f.exponent, f.fraction});
    const bool special = f.exponent == -largest_exponent<T> || f.exponent > largest_exponent<T>;
    if (!special && f.exponent != 0) {
        offer({f.negative, f.exponent / 2, f.fraction});
        offer({f.negative, f.exponent + (f.exponent < 0 ? 1 : -1), f.fraction});
    }
    if (f.fraction != 0) {
        const std::uint64_t low_half = (std::uint64_t{1} << (width<T> / 2)) - 1;
        offer({f.negative, f.exponent, f.fraction & ~low_half});
        offer({f.negative, f.exponent, f.fraction & (f.fraction - 1)}); // without its lowest 1
        offer(
            {f.negative, f.exponent, f.fraction & ~(std::uint64_t{1} << (width<T> - 1))}); // without its highest place
    }
    return list;
}

template float16 number_from<float16>(std::uint64_t, const Scope&);
template bfloat16 number_from<bfloat16>(std::uint64_t, const Scope&);
template float number_from<float>(std::uint64_t, const Scope&);
template double number_from<double>(std::uint64_t, const Scope&);
template std::vector<float16> simpler<float16>(float16, const Scope&);
template std::vector<bfloat16> simpler<bfloat16>(bfloat16, const Scope&);
template std::vector<float> simpler<float>(float, const Scope&);
template std::vector<double> simpler<double>(double, const Scope&);

} // namespace detreduce::proptests
