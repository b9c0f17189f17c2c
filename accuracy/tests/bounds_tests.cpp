#include <algorithm>
#include <cmath>

#include <support/bits.hpp>
#include <support/property.hpp>

#include <detreduce/acc/finish.hpp>
#include <detreduce/acc/rounded.hpp>
#include <detreduce/acc/two_fold.hpp>
#include <detreduce/accuracy/bounds.hpp>

using namespace detreduce;
using namespace detreduce::accuracy;
using namespace detreduce::proptests;

namespace {

constexpr std::uint64_t one64 = 1;
constexpr DType all_dtypes[]{DType::f16, DType::bf16, DType::f32, DType::f64};
constexpr Method all_methods[]{Method::atomic, Method::tree,        Method::serial,
                               Method::kahan,  Method::compensated, Method::exact};

template <class Item, class Merge>
Item in_pairs(std::vector<Item> items, const Merge& merge) {
    while (items.size() > 1) {
        std::vector<Item> next;
        for (std::size_t i = 0; i < items.size(); i += 2)
            next.push_back(i + 1 < items.size() ? merge(items[i], items[i + 1]) : items[i]);
        items = next;
    }
    return items[0];
}

/// The order of `tree` with any kind of item and way to merge two: rows of a chunk in order (or in
/// pairs), chunks of a tile in pairs, lanes in pairs. Which lanes meet first is another matter, and
/// no matter for bounds.
template <class Item, class Merge>
Item in_tree_order(std::vector<Item> items, std::size_t lanes, std::size_t lanes_above, bool pairwise_rows,
                   const Merge& merge) {
    while (items.size() > 1) {
        const std::size_t chunk = 8 * lanes, tile = 8 * chunk;
        std::vector<Item> next;
        for (std::size_t t = 0; t < items.size(); t += tile) {
            std::vector<Item> of_lanes;
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                std::vector<Item> of_chunks;
                for (std::size_t c = t; c + lane < std::min(t + tile, items.size()); c += chunk) {
                    std::vector<Item> rows;
                    for (std::size_t i = c + lane; i < std::min(c + chunk, items.size()); i += lanes)
                        rows.push_back(items[i]);
                    for (; !pairwise_rows && rows.size() > 1; rows.erase(rows.begin()))
                        rows[1] = merge(rows[0], rows[1]);
                    of_chunks.push_back(in_pairs(rows, merge));
                }
                if (!of_chunks.empty()) of_lanes.push_back(in_pairs(of_chunks, merge));
            }
            next.push_back(in_pairs(of_lanes, merge));
        }
        items = next;
        lanes = lanes_above;
    }
    return items[0];
}

/// rounding_depth by playing it through, with depths in place of numbers.
std::uint64_t played_depth(std::uint64_t n, std::size_t lanes, std::size_t lanes_above, bool pairwise_rows) {
    if (n == 0) return 0;
    return in_tree_order(std::vector<std::uint64_t>(n, 0), lanes, lanes_above, pairwise_rows,
                         [](std::uint64_t a, std::uint64_t b) { return std::max(a, b) + 1; });
}

/// The sum by an accumulator of acc/, in tree's order or one after the other.
template <class Acc, class Out, class T>
Out sum_by(std::span<const T> xs, bool in_order = false) {
    if (xs.empty()) return Out{};
    constexpr std::size_t lanes = 512 / sizeof(T), lanes_above = 512 / sizeof(typename Acc::Value);
    const auto merge = [](Acc a, const Acc& b) {
        a.merge(b);
        return a;
    };
    std::vector<Acc> items;
    for (const T x : xs)
        items.push_back(Acc::of(fp::widen(x)));
    const auto finish = [&](const Acc& a) { return acc::finish<Out>(a.total(), Finalize::sum, xs.size()); };
    if (!in_order) return finish(in_tree_order(items, lanes, lanes_above, Acc::pairwise_rows, merge));
    Acc sum = items[0];
    for (std::size_t i = 1; i < items.size(); ++i)
        sum = merge(sum, items[i]);
    return finish(sum);
}

template <class Out, class T>
Out sum_of(Method method, std::span<const T> xs) {
    using A = fp::Arithmetic<T>;
    switch (method) {
    case Method::tree:
        return sum_by<acc::Rounded<A>, Out>(xs);
    case Method::kahan:
        return sum_by<acc::Kahan<A>, Out>(xs);
    case Method::compensated:
        return sum_by<acc::Compensated<A>, Out>(xs);
    case Method::exact:
        return exact_sum(xs).template round<Out>();
    case Method::serial:
    case Method::atomic:
    case Method::automatic:
        break;
    }
    return sum_by<acc::Rounded<A>, Out>(xs, true);
}

/// A bound as a number, for |Σx| = Σ|x| = 1, exactly, in units of 2^lowest_exponent.
cpp_int of_one(const ErrorBound& b) {
    return scaled_value(b.of_sum) + scaled_value(b.of_abs) + scaled_value(b.absolute);
}

template <class F>
void for_many_n(const F& f) {
    for (std::uint64_t n = 0; n < 2000; ++n)
        f(n);
    for (std::uint64_t n = 2000; n < one64 << 50; n += n / 7)
        f(n);
}

template <class T>
ExactSum sum_of_terms(std::initializer_list<T> xs) {
    return exact_sum(std::span<const T>(xs.begin(), xs.size()));
}

} // namespace

TEST_CASE("rounding depth", "[bounds]") {
    for (const DType dtype : all_dtypes)
        for (const Method method : all_methods) {
            REQUIRE(rounding_depth(method, dtype, 0) == 0);
            REQUIRE(rounding_depth(method, dtype, 1) == 0);
            REQUIRE(rounding_depth(method, dtype, 2) == (method == Method::exact ? 0 : 1));
        }
    REQUIRE(rounding_depth(Method::serial, DType::f32, 1000) == 999);
    REQUIRE(rounding_depth(Method::exact, DType::f32, 1000) == 0);
    REQUIRE(rounding_depth(Method::atomic, DType::f64, one64 << 40) == (one64 << 40) - 1);
    const auto agree = [](DType dtype, std::uint64_t n) {
        const std::size_t lanes = 512 / size_of(dtype), above = 512 / size_of(accumulator_of(dtype));
        const std::uint64_t in_order = played_depth(n, lanes, above, false);
        REQUIRE(rounding_depth(Method::tree, dtype, n) == in_order);
        REQUIRE(rounding_depth(Method::kahan, dtype, n) == in_order);
        REQUIRE(rounding_depth(Method::compensated, dtype, n) == played_depth(n, lanes, above, true));
    };
    for (const DType dtype : all_dtypes) {
        for (std::uint64_t n = 0; n < 20000; n += n < 300 ? 1 : 197)
            agree(dtype, n);
        agree(dtype, 300'000); // several rows of tiles
    }
    agree(DType::f16, 400 * 16384); // four rows of accumulators, which have half the lanes of elements
    REQUIRE(rounding_depth(Method::tree, DType::f16, one64 << 40) < 70);
}

TEST_CASE("gamma", "[bounds]") {
    REQUIRE(gamma_bound(DType::f32, 0) == 0.0);
    REQUIRE(gamma_bound(DType::f32, (1u << 24) - 1) >= (1u << 24) - 1);
    REQUIRE(gamma_bound(DType::f32, 1u << 24) == HUGE_VAL);
    REQUIRE(gamma_bound(DType::f64, one64 << 53) == HUGE_VAL);
    REQUIRE(gamma_bound(DType::bf16, 1) >= 1.0 / 255);
    for (std::uint64_t d = 1; d < 1u << 24; d = d * 3 + 1) { // the double is not below d/(2^24 − d), and hardly above
        const cpp_int numerator = scaled_value(gamma_bound(DType::f32, d)) * ((1u << 24) - d);
        const cpp_int exact = cpp_int(d) << 1074u;
        REQUIRE(numerator >= exact);
        REQUIRE(((numerator - exact) << 51u) <= exact);
    }
}

TEST_CASE("error bounds, part by part", "[bounds]") {
    const auto bound = [](Method m, DType in, DType out, std::uint64_t n) { return error_bound(m, in, out, n); };
    // nothing is lost by one element, but by its conversion
    for (const Method m : all_methods)
        for (const std::uint64_t n : {0u, 1u}) {
            for (const DType dtype : all_dtypes)
                REQUIRE(bound(m, dtype, dtype, n) == ErrorBound{0, 0, 0});
            REQUIRE(bound(m, DType::f16, DType::f32, n) == ErrorBound{0, 0, 0});
            REQUIRE(bound(m, DType::bf16, DType::f64, n) == ErrorBound{0, 0, 0});
            REQUIRE(bound(m, DType::f32, DType::bf16, n) == ErrorBound{0x1p-8, 0, 0x1p-134});
            REQUIRE(bound(m, DType::f64, DType::f32, n) == ErrorBound{0x1p-24, 0, 0x1p-150});
            REQUIRE(bound(m, DType::bf16, DType::f16, n) == ErrorBound{0, 0, 0x1p-25});
        }
    // as wide as the accumulator, or wider
    const double gamma = gamma_bound(DType::f32, 9);
    REQUIRE(bound(Method::serial, DType::f32, DType::f32, 10) == ErrorBound{0, gamma, 0});
    REQUIRE(bound(Method::atomic, DType::f16, DType::f32, 10) == ErrorBound{0, gamma, 0});
    REQUIRE(bound(Method::serial, DType::bf16, DType::f64, 10) == ErrorBound{0, gamma, 0});
    REQUIRE(bound(Method::serial, DType::f64, DType::f64, 10) == ErrorBound{0, gamma_bound(DType::f64, 9), 0});
    // narrower
    const ErrorBound narrow = bound(Method::serial, DType::f16, DType::f16, 10);
    REQUIRE(narrow.of_sum == 0x1p-11);
    REQUIRE(narrow.of_abs > gamma * (1 + 0x1p-11));
    REQUIRE(narrow.of_abs < gamma * (1 + 0x1p-11) * (1 + 0x1p-50));
    REQUIRE(narrow.absolute == 0);
    REQUIRE(bound(Method::serial, DType::f32, DType::f16, 10).absolute == 0x1p-25);
    // twofold: the second order in u, and nothing at all of it for two elements
    for (const Method m : {Method::kahan, Method::compensated}) {
        REQUIRE(bound(m, DType::f32, DType::f32, 2) == ErrorBound{0x1p-24, 0, 0});
        const ErrorBound b = bound(m, DType::f64, DType::f64, 4096);
        const auto d = static_cast<double>(rounding_depth(m, DType::f64, 4096));
        REQUIRE(b.of_sum == 0x1p-53);
        REQUIRE(b.of_abs > 2 * d * (d - 1) * 0x1p-106);
        REQUIRE(b.of_abs < 2 * d * (d - 1) * 0x1p-106 * (1 + 0x1p-40));
    }
    REQUIRE(bound(Method::compensated, DType::f32, DType::f32, 8192).of_abs <
            bound(Method::kahan, DType::f32, DType::f32, 8192).of_abs);
    // one rounding
    REQUIRE(bound(Method::exact, DType::f64, DType::f64, one64 << 40) == ErrorBound{0x1p-53, 0, 0});
    REQUIRE(bound(Method::exact, DType::f64, DType::bf16, 5) == ErrorBound{0x1p-8, 0, 0x1p-134});
    // nothing is promised
    REQUIRE(bound(Method::serial, DType::bf16, DType::bf16, (one64 << 24) + 1).of_abs == HUGE_VAL);
    REQUIRE(bound(static_cast<Method>(99), DType::f32, DType::f32, 10).of_abs == HUGE_VAL);
}

TEST_CASE("products in bounds are rounded up", "[bounds]") {
    int checked = 0;
    for_many_n([&](std::uint64_t n) {
        for (const DType in : all_dtypes)
            for (const DType out : all_dtypes) {
                const ErrorBound b = error_bound(Method::kahan, in, out, n);
                const std::uint64_t d = rounding_depth(Method::kahan, in, n);
                if (d == 0) continue;
                // (1 + u_o)·γ_{2(d−1)}·γ_d with γ_k = k / (1/u − k)
                const cpp_int unit = cpp_int(1) << (accumulator_of(in) == DType::f32 ? 24u : 53u);
                const unsigned places = out == DType::f16 ? 11 : out == DType::bf16 ? 8 : out == DType::f32 ? 24 : 53;
                const cpp_int numerator = ((cpp_int(1) << places) + 1) * 2 * (d - 1) * d, scale = cpp_int(1) << 1074u;
                const cpp_int denominator = (cpp_int(1) << places) * (unit - 2 * (d - 1)) * (unit - d);
                const cpp_int stated = scaled_value(b.of_abs) * denominator, exact = numerator * scale;
                if (stated < exact || ((stated - exact) << 48u) > exact) FAIL(n << " " << name(in) << " " << name(out));
                ++checked;
            }
    });
    REQUIRE(checked > 16 * 2000);
}

TEST_CASE("bounds grow with n, and those of better methods are not larger", "[bounds]") {
    const auto grows = [](Method m, DType in, DType out) {
        ErrorBound previous{0, 0, 0};
        for (std::uint64_t n = 1; n < one64 << 62; n *= 2) {
            const ErrorBound b = error_bound(m, in, out, n);
            REQUIRE(b.of_sum >= previous.of_sum);
            REQUIRE(b.of_abs >= previous.of_abs);
            previous = b;
        }
    };
    for (const DType in : all_dtypes)
        for (const DType out : all_dtypes)
            for (const Method m : all_methods)
                grows(m, in, out);
    for (const DType dtype : all_dtypes)
        for (const std::uint64_t n : {100u, 10'000u, 1'000'000u})
            REQUIRE(error_bound(Method::tree, dtype, dtype, n).of_abs <
                    error_bound(Method::serial, dtype, dtype, n).of_abs);
    for_many_n([](std::uint64_t n) {
        for (const DType in : all_dtypes)
            for (const DType out : all_dtypes) {
                const auto of = [&](Method m) { return of_one(error_bound(m, in, out, n)); };
                const cpp_int tree = of(Method::tree), kahan = of(Method::kahan), compensated = of(Method::compensated);
                if (kahan > tree || compensated > kahan || of(Method::exact) > compensated)
                    FAIL(n << " " << name(in) << " " << name(out));
                if (n > 2 && out == accumulator_of(in) && kahan * 2 > tree * 3 / 2) FAIL(n << " hardly better");
            }
    });
}

TEST_CASE("what is likely", "[bounds]") {
    const auto likely = [](Method m, DType dtype, std::uint64_t n, double lambda) {
        return probabilistic_bound(m, dtype, dtype, n, lambda).of_abs;
    };
    // √d·u: 10^6 − 1 roundings, λ = 1
    REQUIRE(std::fabs(likely(Method::serial, DType::f32, 1'000'001, 1.0) / (1000 * 0x1p-24) - 1) < 1e-4);
    for (const DType dtype : {DType::f32, DType::f64})
        for (const std::uint64_t n : {100u, 10'000u, 1'000'000u}) {
            const double one = likely(Method::serial, dtype, n, 1.0);
            REQUIRE(one < error_bound(Method::serial, dtype, dtype, n).of_abs);
            REQUIRE(one < likely(Method::serial, dtype, 4 * n, 1.0));
            REQUIRE(one < likely(Method::serial, dtype, n, 2.0));
            REQUIRE(likely(Method::kahan, dtype, n, 1.0) < error_bound(Method::kahan, dtype, dtype, n).of_abs);
        }
    REQUIRE(probabilistic_bound(Method::exact, DType::f16, DType::f16, 100) ==
            error_bound(Method::exact, DType::f16, DType::f16, 100));
}

TEST_CASE("what flushing loses", "[bounds]") {
    REQUIRE(flush_bound(Method::atomic, DType::f32, 8) == 0x1p-122);
    REQUIRE(flush_bound(Method::atomic, DType::bf16, 8) == 0x1p-122);
    REQUIRE(flush_bound(Method::atomic, DType::f16, 8) == 0);
    REQUIRE(flush_bound(Method::atomic, DType::f64, 8) == 0);
    REQUIRE(flush_bound(Method::tree, DType::f32, 8) == 0);
}

TEMPLATE_TEST_CASE("within_bound decides exactly", "[bounds]", float16, bfloat16, float, double) {
    using T = TestType;
    const T one = number<T>(1), two = number<T>(2), inf = infinity<T>, nan = quiet_nan<T>;
    const T above = next_up(one), below = next_down(one); // 1 + 2u, 1 − u
    const double u = std::ldexp(1.0, -fp::Format<T>::precision);
    ExactSum sum;
    sum.add(one);
    REQUIRE(within_bound(one, sum, {0, 0, 0}));
    REQUIRE_FALSE(within_bound(below, sum, {0, 0, 0}));
    const double short_of_u = next_down(u), short_of_2u = next_down(2 * u);
    for (const auto& [at, under] : {std::pair{ErrorBound{u, 0, 0}, ErrorBound{short_of_u, 0, 0}},
                                    {ErrorBound{0, u, 0}, ErrorBound{0, short_of_u, 0}},
                                    {ErrorBound{0, 0, u}, ErrorBound{0, 0, short_of_u}}}) {
        REQUIRE(within_bound(below, sum, at));
        REQUIRE_FALSE(within_bound(below, sum, under));
        REQUIRE_FALSE(within_bound(above, sum, at));
        REQUIRE(within_bound(below, sum, under, 0x1p-1074 + u * 0x1p-52));
        REQUIRE_FALSE(within_bound(below, sum, under, 0x1p-1074));
    }
    REQUIRE(within_bound(above, sum, {u / 2, u, u / 2})); // the three add up
    REQUIRE_FALSE(within_bound(above, sum, {u / 2, u, next_down(u / 2)}));
    REQUIRE_FALSE(within_bound(above, sum, {short_of_2u, 0, 0}));
    sum.add(number<T>(-0.5));
    sum.add(number<T>(-0.5)); // Σx = 0, Σ|x| = 2
    REQUIRE(within_bound(two, sum, {0, 1, 0}));
    REQUIRE_FALSE(within_bound(two, sum, {1, next_down(1.0), 0}));
    REQUIRE(within_bound(largest<T>, sum, {0, HUGE_VAL, 0}));
    REQUIRE_FALSE(within_bound(inf, sum, {0, HUGE_VAL, 0}));
    REQUIRE_FALSE(within_bound(nan, sum, {0, 1, 0}));
    sum.add(inf);
    REQUIRE(within_bound(inf, sum, {0, 1, 0}));
    REQUIRE_FALSE(within_bound(fp::negated(inf), sum, {0, 1, 0}));
    REQUIRE_FALSE(within_bound(one, sum, {0, 1, 0}));
    sum.add(nan);
    REQUIRE(within_bound(nan, sum, {0, 1, 0}));
    REQUIRE_FALSE(within_bound(inf, sum, {0, 1, 0}));
    REQUIRE(within_bound(number<T>(-0.0), ExactSum{}, {0, 0, 0}));
}

TEST_CASE("a result need not have the format of the inputs", "[bounds]") {
    const ExactSum sum = sum_of_terms<float>({1, 0x1p-9f});
    REQUIRE(within_bound(number<bfloat16>(1), sum, {0, 0, 0x1p-9}));
    REQUIRE_FALSE(within_bound(number<bfloat16>(1), sum, {0, 0, next_down(0x1p-9)}));
    REQUIRE(within_bound(1 + 0x1p-9, sum, {0, 0, 0}));
}

namespace {

/// Every method's sum is within its bound; and the bound is needed: `broken` counts those beyond
/// the bound of `exact`, of which 100 cases may have none.
template <class In, class Out>
void obeys(Method method) {
    int broken = 0, checked = 0;
    property("in " + std::string(hexadecimal(smallest<In>)) + " out " + hexadecimal(smallest<Out>) + " method " +
                 std::to_string(static_cast<int>(method)),
             [&] {
                 const Values<In> xs = *values<In>(no_overflow<In>, {0, 1, 2, 10, 100, 600, 2000});
                 const ExactSum exact = exact_sum(xs.span());
                 RC_PRE(cannot_overflow(exact, method, dtype_of<In>, dtype_of<Out>));
                 const Out result = sum_of<Out>(method, xs.span());
                 RC_ASSERT(within_bound(result, exact, error_bound(method, dtype_of<In>, dtype_of<Out>, xs.size())));
                 broken +=
                     !within_bound(result, exact, error_bound(Method::exact, dtype_of<In>, dtype_of<Out>, xs.size()));
                 ++checked;
             });
    const int drawn = configuration().testParams.maxSuccess;
    REQUIRE(checked >= std::min(drawn, 101));
    const bool seldom_wrong = method != Method::serial && method != Method::tree;
    REQUIRE((seldom_wrong || drawn < 400 || broken > 0));
}

template <class In, class Out>
void obeys() {
    for (const Method method : {Method::serial, Method::tree, Method::kahan, Method::compensated, Method::exact})
        obeys<In, Out>(method);
}
/// The same of few cases: where much cancels, the sum is beyond that of `exact`.
template <class In, class Out = fp::Arithmetic<In>>
void needs(Method method) {
    const std::vector<In> xs = generate<In>(Family::ill_conditioned, 600, 1, {.condition = 0x1p160});
    const ExactSum exact = exact_sum(std::span(xs));
    REQUIRE(cannot_overflow(exact, method, dtype_of<In>, dtype_of<Out>));
    const Out result = sum_of<Out>(method, std::span(xs));
    REQUIRE_FALSE(within_bound(result, exact, error_bound(Method::exact, dtype_of<In>, dtype_of<Out>, xs.size())));
}

} // namespace

TEMPLATE_TEST_CASE("sums obey their bounds, and simple ones need them", "[bounds]", float16, bfloat16, float, double) {
    obeys<TestType, float16>();
    obeys<TestType, bfloat16>();
    obeys<TestType, float>();
    obeys<TestType, double>();
    needs<TestType>(Method::serial);
    needs<TestType>(Method::tree);
}

TEMPLATE_TEST_CASE("cannot_overflow is exact at the edge", "[bounds]", float, double) {
    using T = TestType;
    constexpr DType dtype = dtype_of<T>;
    const auto safe = [](const ExactSum& sum) { return cannot_overflow(sum, Method::serial, dtype, dtype); };
    REQUIRE(safe(ExactSum{}));
    ExactSum sum;
    sum.add(largest<T>);
    REQUIRE(safe(sum));
    sum.add(T{0});
    REQUIRE_FALSE(safe(sum)); // two elements, one rounding
    REQUIRE(cannot_overflow(sum, Method::exact, dtype, dtype));
    sum.add(smallest<T>);
    REQUIRE_FALSE(cannot_overflow(sum, Method::exact, dtype, dtype));
    sum.add(-smallest<T>);
    REQUIRE(cannot_overflow(sum, Method::exact, dtype, dtype)); // the sum counts, not that of magnitudes
    ExactSum half;
    half.add(largest<T> / 2);
    half.add(-largest<T> / 4);
    REQUIRE(safe(half));
    half.add(-largest<T> / 2);
    REQUIRE_FALSE(safe(half)); // the sum of magnitudes counts
    half.add(infinity<T>);
    REQUIRE_FALSE(cannot_overflow(half, Method::exact, dtype, dtype));
}

TEST_CASE("cannot_overflow looks at the accumulator and at a narrower output", "[bounds]") {
    const float16 max = largest<float16>;
    const ExactSum many = sum_of_terms({max, max, max}),
                   some = sum_of_terms({max, fp::negated(max), number<float16>(5)});
    for (const Method m : all_methods) {
        REQUIRE(cannot_overflow(many, m, DType::f16, DType::f32));
        REQUIRE(cannot_overflow(many, m, DType::f16, DType::bf16));
        REQUIRE_FALSE(cannot_overflow(many, m, DType::f16, DType::f16));
        REQUIRE(cannot_overflow(some, m, DType::f16, DType::f16));
        const ExactSum wide = sum_of_terms({largest<float>, 1.0f});
        REQUIRE_FALSE(cannot_overflow(wide, m, DType::f32, DType::f32));
        REQUIRE(cannot_overflow(wide, m, DType::f32, DType::f64) == (m == Method::exact));
        REQUIRE(cannot_overflow(wide, m, DType::f64, DType::f64));
        REQUIRE_FALSE(cannot_overflow(wide, m, DType::f64, DType::bf16));
    }
    // the edge of float16: 65504 is its largest, and what the accumulator may be wrong by counts
    const ExactSum edge = sum_of_terms({65504.0f, 0.0f}), inside = sum_of_terms({65503.0f, 0.0f});
    REQUIRE_FALSE(cannot_overflow(edge, Method::tree, DType::f32, DType::f16));
    REQUIRE(cannot_overflow(inside, Method::tree, DType::f32, DType::f16));
    REQUIRE(cannot_overflow(edge, Method::kahan, DType::f32, DType::f16));
}
