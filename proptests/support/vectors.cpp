#include <support/vectors.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace detreduce::proptests {
namespace {

using accuracy::hash;

template <class T>
using Xs = std::vector<T>;

template <class T>
Xs<T> cancelling(std::size_t n, std::uint64_t seed, const Scope& scope) {
    Xs<T> xs(n);
    const std::size_t left_over = std::min(n, std::size_t{n % 2 + 2 * (hash(seed, 0) % 2)});
    for (std::size_t i = 0; i + left_over < n; i += 2) {
        xs[i] = number_from<T>(hash(seed, i + 1), scope);
        xs[i + 1] = fp::negated(xs[i]);
    }
    for (std::size_t i = n - left_over; i < n; ++i)
        xs[i] = fit(fp::round_to<T>(0x1p-20f * fp::widen(number_from<T>(hash(seed, i + 1), scope))), scope);
    accuracy::shuffle(std::span<T>(xs), seed);
    return xs;
}

/// ±2^exponent; the smallest one where there is none so small.
template <class T>
T power_of_two(bool negative, int exponent) {
    constexpr int lowest = fp::Format<T>::min_exponent;
    if (exponent > -largest_exponent<T>) return from_fields<T>({negative, exponent, 0});
    return from_fields<T>({negative, -largest_exponent<T>, std::uint64_t{1} << (std::max(exponent, lowest) - lowest)});
}

/// One number with a random or a boundary mantissa at a random place, ± half of its last place
/// elsewhere, and here and there a smaller number that decides the tie. The last place is one of
/// the format in which sums are made, or that of T, to which they may be rounded at the end.
template <class T>
Xs<T> ties(std::size_t n, std::uint64_t seed, const Scope& scope) {
    const bool in_sum = hash(~seed, 0) % 2;
    const int precision = in_sum ? fp::Format<fp::Arithmetic<T>>::precision : fp::Format<T>::precision;
    Xs<T> xs(n);
    if (n == 0) return xs;
    const int room = std::max(scope.highest - precision - fp::Format<T>::min_exponent, 0); // for half places that exist
    const int span = std::min({scope.highest - std::max(scope.lowest, -std::abs(scope.highest)), room, 40});
    const int exponent = scope.highest - static_cast<int>(hash(seed, 0) % static_cast<std::uint64_t>(span + 1));
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t word = hash(seed, i + 2);
        const int below_half = word % 8 == 0 ? precision : word % 8 == 1 ? 1 : 0;
        xs[i] = fit(power_of_two<T>((word >> 32) % 4 == 0, exponent - precision - below_half), scope);
    }
    const std::uint64_t fraction = hash(seed, 1) % 4 == 0 ? ~std::uint64_t{0} : hash(seed, 1);
    xs[hash(seed, 0) / 64 % n] = from_fields<T>({false, exponent, fraction});
    return xs;
}

/// A vector whose elements do not depend on each other.
template <class T, class Element>
Xs<T> each(std::size_t n, std::uint64_t seed, Element element) {
    Xs<T> xs(n);
    for (std::size_t i = 0; i < n; ++i)
        xs[i] = element(hash(seed, i));
    return xs;
}

template <class T>
T moved_near(T x, int exponent, std::uint64_t word, const Scope& scope) {
    Fields f = fields(x);
    f.exponent = std::clamp(exponent + static_cast<int>(word % 9) - 4, scope.lowest, scope.highest);
    return from_fields<T>(f);
}

template <class T>
Xs<T> near(std::size_t n, std::uint64_t seed, const Scope& scope) {
    const int exponent = std::clamp(fields(number_from<T>(~seed, scope)).exponent, scope.lowest, scope.highest);
    return each<T>(n, seed, [&](std::uint64_t word) {
        return moved_near(number_from<T>(word, scope), exponent, hash(word, 0), scope);
    });
}

template <class T>
Xs<T> sparse(std::size_t n, std::uint64_t seed, const Scope& scope) {
    return each<T>(n, seed, [&](std::uint64_t word) {
        if (hash(word, 0) % 16 == 0) return number_from<T>(word, scope);
        return number<T>(word % 2 ? 0.0 : -0.0);
    });
}

template <class T>
Xs<T> from_family(accuracy::Family family, std::size_t n, std::uint64_t seed, const Scope& scope) {
    accuracy::Params params;
    params.condition = static_cast<double>(std::uint64_t{1} << (hash(seed, 0) % 60));
    Xs<T> xs = accuracy::generate<T>(family, n, seed, params);
    for (T& x : xs)
        x = fit(x, scope);
    return xs;
}

template <class T>
Xs<T> sorted(std::size_t n, std::uint64_t seed, const Scope& scope) {
    Xs<T> xs = each<T>(n, seed, [&](std::uint64_t word) { return number_from<T>(word, scope); });
    std::sort(xs.begin(), xs.end(), [](T a, T b) { return fp::widen(a) < fp::widen(b); }); // NaNs are put in later
    return xs;
}

template <class T>
Xs<T> finite_vector(Style style, std::size_t n, std::uint64_t seed, const Scope& scope) {
    switch (style) {
    case Style::stratified:
        return each<T>(n, seed, [&](std::uint64_t word) { return number_from<T>(word, scope); });
    case Style::near:
        return near<T>(n, seed, scope);
    case Style::cancelling:
        return cancelling<T>(n, seed, scope);
    case Style::ties:
        return ties<T>(n, seed, scope);
    case Style::ill_conditioned:
        return from_family<T>(accuracy::Family::ill_conditioned, n, seed, scope);
    case Style::sparse:
        return sparse<T>(n, seed, scope);
    case Style::sorted:
        return sorted<T>(n, seed, scope);
    case Style::constant:
        return Xs<T>(n, number_from<T>(seed, scope));
    case Style::integers:
        return from_family<T>(accuracy::Family::integers, n, seed, scope);
    case Style::boundary:
        return from_family<T>(accuracy::Family::boundary_mantissas, n, seed, scope);
    case Style::negative_zeros:
        return Xs<T>(n, number<T>(-0.0));
    }
    return {};
}

/// Up to three NaNs and infinities, at random places.
template <class T>
void sprinkle(Xs<T>& xs, std::uint64_t seed) {
    for (std::uint64_t k = 0; k <= seed % 3 && !xs.empty(); ++k) {
        const std::uint64_t word = hash(seed, k);
        const bool nan = hash(word, 0) % 4 == 0;
        xs[hash(word, 1) % xs.size()] =
            from_fields<T>({(word & 1) != 0, largest_exponent<T> + 1, nan ? hash(word, 2) | 1 : 0});
    }
}

/// One step of shrinking: take away, or set, a block of elements; or simplify one of them in its
/// `choice`-th way.
struct Edit {
    enum class Kind : std::uint8_t { remove, zero, one, simplify } kind;
    std::size_t first, length, choice;
};

template <class T>
void add_block_edits(std::vector<Edit>& edits, const Xs<T>& xs, Edit::Kind kind, T target) {
    const std::size_t n = xs.size(), smallest = std::max<std::size_t>(n / 256, 1);
    const auto settled = [&](T x) { return fp::to_bits(x) == 0 || fp::to_bits(x) == fp::to_bits(target); };
    for (std::size_t length = n; length >= smallest; length /= 2)
        for (std::size_t first = 0; first < n; first += length) {
            const std::size_t end = std::min(first + length, n);
            const bool changes =
                kind == Edit::Kind::remove || !std::all_of(&xs[first], &xs[first] + (end - first), settled);
            if (changes) edits.push_back({kind, first, end - first, 0});
        }
}

template <class T>
std::vector<Edit> edits_of(const Xs<T>& xs, const Scope& scope) {
    std::vector<Edit> edits;
    if (xs.empty()) return edits;
    add_block_edits(edits, xs, Edit::Kind::remove, T{});
    edits.push_back({Edit::Kind::remove, xs.size() - 1, 1, 0});
    edits.push_back({Edit::Kind::remove, 0, 1, 0});
    add_block_edits(edits, xs, Edit::Kind::zero, T{});
    add_block_edits(edits, xs, Edit::Kind::one, number<T>(1));
    for (std::size_t i = 0; i < xs.size() && i < 256; ++i)
        for (std::size_t choice = 0; choice < simpler(xs[i], scope).size(); ++choice)
            edits.push_back({Edit::Kind::simplify, i, 1, choice});
    return edits;
}

template <class T>
Xs<T> edited(Xs<T> xs, const Edit& edit, const Scope& scope) {
    const auto first = xs.begin() + static_cast<std::ptrdiff_t>(edit.first);
    const auto last = first + static_cast<std::ptrdiff_t>(edit.length);
    switch (edit.kind) {
    case Edit::Kind::remove:
        xs.erase(first, last);
        break;
    case Edit::Kind::zero:
        std::fill(first, last, T{});
        break;
    case Edit::Kind::one: // zeros stay: they are simpler
        std::replace_if(
            first, last, [](T x) { return fp::to_bits(x) != 0; }, number<T>(1));
        break;
    case Edit::Kind::simplify:
        *first = simpler(*first, scope)[edit.choice];
        break;
    }
    return xs;
}

} // namespace

template <class T>
std::vector<T> vector_from(Style style, std::size_t n, std::uint64_t seed, const Scope& scope) {
    Scope finite_scope = scope;
    finite_scope.nonfinite = false;
    Xs<T> xs = finite_vector<T>(style, n, seed, finite_scope);
    if (scope.nonfinite && hash(seed, 3) % 2 == 0) sprinkle(xs, hash(seed, 4));
    return xs;
}

std::size_t length_from(std::uint64_t word, std::span<const std::size_t> boundaries) {
    const std::size_t largest = *std::max_element(boundaries.begin(), boundaries.end());
    const std::uint64_t kind = hash(word, 0) % 4, draw = hash(word, 1);
    if (kind == 0) return std::min<std::size_t>(draw % 16, largest);
    if (kind == 1) return static_cast<std::size_t>(draw % (largest + 1)) >> (hash(word, 2) % 16);
    const std::size_t boundary = boundaries[draw % boundaries.size()], offset = hash(word, 3) % 5; // −2 … +2
    return boundary + offset < 2 ? 0 : std::min(boundary + offset - 2, largest + 2);
}

template <class T>
rc::Seq<Values<T>> simpler(const Values<T>& values, const Scope& scope) {
    return rc::seq::map(rc::seq::fromContainer(edits_of(values.xs, scope)),
                        [xs = values.xs, scope](const Edit& edit) { return Values<T>{edited(xs, edit, scope)}; });
}

template std::vector<float16> vector_from<float16>(Style, std::size_t, std::uint64_t, const Scope&);
template std::vector<bfloat16> vector_from<bfloat16>(Style, std::size_t, std::uint64_t, const Scope&);
template std::vector<float> vector_from<float>(Style, std::size_t, std::uint64_t, const Scope&);
template std::vector<double> vector_from<double>(Style, std::size_t, std::uint64_t, const Scope&);
template rc::Seq<Values<float16>> simpler<float16>(const Values<float16>&, const Scope&);
template rc::Seq<Values<bfloat16>> simpler<bfloat16>(const Values<bfloat16>&, const Scope&);
template rc::Seq<Values<float>> simpler<float>(const Values<float>&, const Scope&);
template rc::Seq<Values<double>> simpler<double>(const Values<double>&, const Scope&);

} // namespace detreduce::proptests
