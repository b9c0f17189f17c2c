// Laws of mean and variance, on every backend.
#include <cmath>

#include <detreduce/accuracy/bounds.hpp>
#include <detreduce/accuracy/generators.hpp>
#include <detreduce/accuracy/moments_oracle.hpp>

#include <moments_reference.hpp>

#include "laws/expect_status.hpp"
#include "laws/extremes.hpp"
#include "laws/moments_draws.hpp"
#include "laws/repeating.hpp"

namespace detreduce::proptests {

/// What SPEC.md says they are.
template <class Out, class T>
std::vector<Out> expected_moments(Op op, std::span<const T> x, Method method, std::uint64_t ddof) {
    if (method != Method::exact)
        return reference::moments_of<Out>(op, reference::group_of(x, method), static_cast<std::size_t>(ddof));
    accuracy::MomentsOracle oracle;
    oracle.add(x);
    std::vector<Out> results;
    if (op == Op::moments) results.push_back(oracle.round_mean<Out>());
    results.push_back(oracle.round_variance<Out>(ddof, op == Op::stddev));
    return results;
}

inline std::string described(Op op, Method method, std::size_t n, std::uint64_t ddof) {
    return std::string(name(op)) + ' ' + std::string(name(method)) + " n " + std::to_string(n) + " ddof " +
           std::to_string(ddof) + '\n';
}

TEMPLATE_TEST_CASE("moments: the bits are those of SPEC.md", "[moments][sanitizer]", DETREDUCE_ALL_TYPES) {
    const auto some = [](auto word) { return std::vector<Method>{Method::exact, some_moment_method(word)}; };
    for_methods<TestType>(some, any_bits<TestType>, "spec", [](auto out, Method method, auto x, auto word) {
        using Out = decltype(out);
        RC_PRE(!x.empty());
        const Op op = some_moment_op(word);
        const std::uint64_t ddof = some_ddof(x.size(), word);
        RC_LOG(described(op, method, x.size(), ddof));
        RC_ASSERT(same_bits(moments_of<Out>(op, x, method, ddof, word), expected_moments<Out>(op, x, method, ddof)));
    });
}

TEMPLATE_TEST_CASE("moments: numbers that are near each other", "[moments]", DETREDUCE_ALL_TYPES) {
    constexpr Scope ordinary{-6, 3, false, false};
    constexpr std::size_t tile = spec::TreeOrder<sizeof(TestType)>::tile;
    for (const std::size_t n :
         {std::size_t{1}, std::size_t{2}, std::size_t{77}, std::size_t{5000}, 4 * tile, std::size_t{70001}}) {
        const auto x = vector_from<TestType>(Style::stratified, n, n, ordinary);
        for (const Op op : moment_ops) {
            for (const Method method : moment_methods()) {
                for (const DType output : outputs(method, dtype_of<TestType>)) {
                    with_dtype_from_16_bits(output, [&](auto out) {
                        using Out = decltype(out);
                        const std::uint64_t ddof = some_ddof(n, n + static_cast<std::uint64_t>(op));
                        INFO(described(op, method, n, ddof) << " to " << name(output));
                        REQUIRE(same_bits(moments_of<Out>(op, x, method, ddof, n),
                                          expected_moments<Out>(op, std::span<const TestType>(x), method, ddof)));
                    });
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("moments: exact has the oracle's bits for extreme inputs", "[moments]", DETREDUCE_ALL_TYPES) {
    for (int kind = 0; kind < extremes; ++kind) {
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            const std::size_t n = seed < 1 ? 9000 : 1 + length_from(accuracy::hash(seed, 7), lengths<TestType>()) / 4;
            const auto x = extreme<TestType>(static_cast<Extreme>(kind), n, seed);
            const std::uint64_t word = accuracy::hash(seed, static_cast<std::uint64_t>(kind));
            const Op op = some_moment_op(word);
            with_dtype_from_16_bits(some_output(Method::exact, dtype_of<TestType>, word), [&](auto out) {
                using Out = decltype(out);
                const std::uint64_t ddof = some_ddof(n, word);
                INFO(described(op, Method::exact, n, ddof) << " kind " << kind << " seed " << seed);
                REQUIRE(same_bits(moments_of<Out>(op, x, Method::exact, ddof, word),
                                  expected_moments<Out>(op, std::span<const TestType>(x), Method::exact, ddof)));
            });
        }
    }
}

/// So many tiles that their results fill several rows, of which a tree makes pairs, and the last is
/// short.
TEMPLATE_TEST_CASE("moments: millions of elements by tree", "[moments]", DETREDUCE_ALL_TYPES) {
    constexpr std::size_t tile = spec::TreeOrder<sizeof(TestType)>::tile,
                          lanes = spec::TreeOrder<sizeof(fp::Arithmetic<TestType>)>::lanes;
    const auto check = [](std::size_t whole_tiles) {
        const Repeating<TestType> repeating(whole_tiles * tile + 77, 64);
        const auto all = repeating.template root<reference::Group>(reference::Rows::in_pairs);
        REQUIRE(same_bits(moments_of<double>(Op::moments, repeating.all(), Method::tree, 1, 3),
                          reference::moments_of<double>(Op::moments, all, 1)));
    };
    check(6 * lanes + 5);
    // A full chunk of tiles, the last of which is not full. Of others it is two to four times as
    // much.
    if (fp::is_f64<TestType>) check(8 * lanes - 1);
}

/// c + small numbers, where the last places of c are as large as they, or larger.
template <class T>
std::vector<T> far_from_zero(std::size_t n, std::uint64_t seed) {
    const int exponent =
        static_cast<int>(accuracy::hash(seed, 1) % (2 * largest_exponent<T> - 20)) - largest_exponent<T> + 10;
    const T center = from_fields<T>({(seed & 1) != 0, exponent, accuracy::hash(seed, 2)});
    std::vector<T> x(n, center);
    const std::uint64_t places = 1 + accuracy::hash(seed, 3) % 7;
    for (std::size_t i = 0; i < n; ++i)
        x[i] = fp::from_bits<T>(static_cast<fp::Bits<T>>(fp::to_bits(center) ^ accuracy::hash(seed, i + 9) % places));
    return x;
}

TEMPLATE_TEST_CASE("moments: a large mean and a tiny variance", "[moments]", DETREDUCE_ALL_TYPES) {
    property("far from zero", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const std::size_t n = 1 + length_from(word, lengths<TestType>());
        const auto x = far_from_zero<TestType>(n, word);
        const Op op = some_moment_op(word);
        const Method method = some_moment_method(word);
        const std::uint64_t ddof = some_ddof(n, word);
        RC_LOG(described(op, method, n, ddof));
        with_dtype_from_16_bits(some_output(method, dtype_of<TestType>, word), [&](auto out) {
            using Out = decltype(out);
            RC_ASSERT(same_bits(moments_of<Out>(op, x, method, ddof, word),
                                expected_moments<Out>(op, std::span<const TestType>(x), method, ddof)));
        });
    });
}

TEMPLATE_TEST_CASE("moments: exact does not care about the order", "[moments]", DETREDUCE_ALL_TYPES) {
    property("permutation", [] {
        const Values<TestType> xs = *values<TestType>(any_bits<TestType>, lengths<TestType>());
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        RC_PRE(!xs.xs.empty());
        std::vector<TestType> shuffled = xs.xs;
        accuracy::shuffle(std::span<TestType>(shuffled), word);
        const Op op = some_moment_op(word);
        const std::uint64_t ddof = some_ddof(xs.size(), word);
        RC_ASSERT(same_bits(moments_of<double>(op, xs.xs, Method::exact, ddof, word),
                            moments_of<double>(op, shuffled, Method::exact, ddof, word / 3)));
    });
}

TEMPLATE_TEST_CASE("moments: equal elements have themselves as mean, and no variance", "[moments]",
                   DETREDUCE_ALL_TYPES) {
    property("constant", [] {
        const TestType c = *value<TestType>(finite_bits<TestType>);
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const std::vector<TestType> x(1 + length_from(word, lengths<TestType>()), c);
        const auto both =
            moments_of<TestType>(Op::moments, x, some_moment_method(word), some_ddof(x.size(), word), word);
        RC_ASSERT(equal(both[0], c));
        RC_ASSERT(fp::to_bits(both[1]) == 0);
    });
}

TEMPLATE_TEST_CASE("moments: powers of two go through", "[moments]", float, double) {
    property("scaled", [] {
        constexpr Scope scope{-12, 12, false, false};
        const Values<TestType> xs = *values<TestType>(scope, lengths<TestType>());
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        RC_PRE(!xs.xs.empty());
        const auto factor = static_cast<TestType>(std::ldexp(1.0, static_cast<int>(word % 9) - 4));
        std::vector<TestType> scaled = xs.xs;
        for (TestType& x : scaled)
            x *= factor;
        const Method method = some_moment_method(word);
        const std::uint64_t ddof = some_ddof(xs.size(), word);
        const auto a = moments_of<TestType>(Op::moments, xs.xs, method, ddof, word),
                   b = moments_of<TestType>(Op::moments, scaled, method, ddof, word / 5);
        RC_ASSERT(same_bits(b[0], a[0] * factor));
        RC_ASSERT(same_bits(b[1], a[1] * factor * factor));
        RC_ASSERT(same_bits(moments_of<TestType>(Op::stddev, scaled, method, ddof, word)[0],
                            moments_of<TestType>(Op::stddev, xs.xs, method, ddof, word)[0] * factor));
    });
}

TEMPLATE_TEST_CASE("moments: the error is within the documented bound", "[moments]", DETREDUCE_ALL_TYPES) {
    constexpr int most = largest_exponent<TestType> < 20 ? 6 : 40; // squares of sums do not overflow
    property("bound", [] {
        constexpr Scope scope{-most, most, false, false};
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const Values<TestType> xs = *values<TestType>(scope, lengths<TestType>());
        RC_PRE(!xs.xs.empty());
        const Method method = some_rounding_moment_method(word);
        using Out = std::conditional_t<fp::is_narrow<TestType>, float, TestType>;
        const std::uint64_t ddof = some_ddof(xs.size(), word);
        accuracy::MomentsOracle oracle;
        oracle.add(xs.span());
        const auto bound = accuracy::moments_bound(method, dtype_of<TestType>, dtype_of<Out>, xs.size());
        const auto both = moments_of<Out>(Op::moments, xs.xs, method, ddof, word);
        const double n = static_cast<double>(xs.size()), divisor = static_cast<double>(xs.size() - ddof);
        // The oracle's numbers are doubles here, a rounding away from the true ones.
        constexpr double up = 1 + 0x1p-40, own = 0x1p-52;
        const double mean = oracle.mean(), m2 = oracle.m2(), squares = oracle.sum_of_squares();
        RC_ASSERT(std::fabs(both[0] - mean) <=
                  up * (bound.of_mean * std::fabs(mean) + bound.of_abs * oracle.abs_sum() / n + bound.absolute) +
                      own * std::fabs(mean));
        const double of_m2 = bound.of_m2 * m2 + bound.of_mixed * std::sqrt(m2) * std::sqrt(squares) +
                             bound.of_squares * squares + bound.absolute_m2;
        RC_ASSERT(std::fabs(both[1] - m2 / divisor) <=
                  up * (of_m2 / divisor + bound.absolute) + 2 * own * m2 / divisor);
    });
}

TEMPLATE_TEST_CASE("moments: a row has the bits of its elements alone", "[moments][rows][sanitizer]",
                   DETREDUCE_ALL_TYPES) {
    property("rows", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const std::size_t n = std::max<std::size_t>(1, length_from(word, lengths<TestType>())),
                          rows = 1 + accuracy::hash(word, 65) % std::min<std::size_t>(100, 1 + 60000 / n),
                          stride = n + accuracy::hash(word, 66) % 9;
        const auto x = vector_from<TestType>(static_cast<Style>(accuracy::hash(word, 67) % styles), rows * stride, word,
                                             any_bits<TestType>);
        const Op op = some_moment_op(word);
        const Method method = some_moment_method(word);
        const std::uint64_t ddof = some_ddof(n, word);
        const std::size_t each = static_cast<std::size_t>(info(op).results);
        RC_LOG(described(op, method, n, ddof) + std::to_string(rows) + " rows\n");
        with_dtype_from_16_bits(some_output(method, dtype_of<TestType>, word), [&](auto out) {
            using Out = decltype(out);
            const Request request{.op = op,
                                  .method = method,
                                  .shape = Shape::rows,
                                  .n = n,
                                  .groups = rows,
                                  .stride = stride,
                                  .ddof = ddof};
            const auto results =
                TestBackend::results<Out>(request, std::span<const TestType>(x), moments_draw(method, word));
            RC_ASSERT(results.size() == each * rows);
            for (std::size_t r = 0; r < rows; r += 1 + rows / 5) {
                const auto row = std::span<const TestType>(x).subspan(r * stride, n);
                const std::vector<Out> mine(results.begin() + static_cast<std::ptrdiff_t>(r * each),
                                            results.begin() + static_cast<std::ptrdiff_t>((r + 1) * each));
                RC_ASSERT(same_bits(mine, expected_moments<Out>(op, row, method, ddof)));
                if (r == 0) RC_ASSERT(same_bits(mine, moments_of<Out>(op, row, method, ddof, word)));
            }
        });
    });
}

/// The results of a group, which may have too few elements for some.
template <class Out, class T>
std::vector<Out> expected_of_moments(Op op, std::span<const T> x, Method method, std::uint64_t ddof) {
    if (x.size() > ddof) return expected_moments<Out>(op, x, method, ddof);
    std::vector<Out> results(static_cast<std::size_t>(info(op).results),
                             fp::from_bits<Out>(fp::Format<Out>::canonical_nan));
    if (op == Op::moments && !x.empty()) results[0] = expected_moments<Out>(op, x, method, 0)[0];
    return results;
}

template <class Out>
std::vector<Out> moments_of_group(const std::vector<Out>& results, Op op, std::size_t g) {
    const auto each = info(op).results;
    const auto first = results.begin() + static_cast<std::ptrdiff_t>(g) * each;
    return {first, first + each};
}

TEMPLATE_TEST_CASE("moments: a column or segment has the bits of its elements alone", "[moments][groups][sanitizer]",
                   DETREDUCE_ALL_TYPES) {
    property("groups", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        constexpr Scope ordinary{-6, 3, false, false};
        auto cut = cut_from<TestType>(word, accuracy::hash(word, 72) % 2 == 0 ? any_bits<TestType> : ordinary);
        const Op op = some_moment_op(word);
        const bool segments = cut.request.shape == Shape::segments;
        const Method method = some_moment_method(word);
        RC_PRE(cut.request.n > 0 || segments);
        const std::uint64_t ddof = segments ? accuracy::hash(word, 73) % 4 : some_ddof(cut.request.n, word);
        with_dtype_from_16_bits(some_output(method, dtype_of<TestType>, word), [&](auto out) {
            using Out = decltype(out);
            const auto results = moments_of_groups<Out>(cut, op, method, ddof, word);
            RC_LOG(text_of(cut) + "ddof " + std::to_string(ddof) + '\n');
            RC_ASSERT(results.size() == cut.request.groups * static_cast<std::size_t>(info(op).results));
            for (const std::size_t g : some_groups(cut)) {
                const Pair<TestType> group = cut.group(g);
                const auto mine = moments_of_group(results, op, g);
                RC_ASSERT(same_bits(mine, expected_of_moments<Out>(op, group.first(), method, ddof)));
                if (g == 0 && group.x.size() > ddof)
                    RC_ASSERT(same_bits(mine, moments_of<Out>(op, group.first(), method, ddof, word)));
            }
        });
    });
}

/// So many tiles that their results fill several rows.
TEMPLATE_TEST_CASE("moments: a giant among thousands of tiny segments", "[moments][groups]", DETREDUCE_ALL_TYPES) {
    auto cut = giant_among_tiny<TestType>(5000, 140 * spec::TreeOrder<sizeof(TestType)>::tile + 77);
    cut.pair.x = vector_from<TestType>(Style::stratified, cut.request.n, 5, {-6, 3, false, false});
    const auto results = moments_of_groups<double>(cut, Op::moments, Method::tree, 2, 3);
    for (std::size_t g = 0; g < cut.request.groups; ++g) {
        INFO("segment " << g << " of " << cut.length(g));
        REQUIRE(same_bits(moments_of_group(results, Op::moments, g),
                          expected_of_moments<double>(Op::moments, cut.group(g).first(), Method::tree, 2)));
    }
}

/// A GPU cuts segments that are longer than 1/8192 of all elements, and these are not. An element
/// in no segment is not read, and is not there. The squares fill the bins of their window: 2^18 of
/// them are more than an integer of 64 bits holds.
TEMPLATE_TEST_CASE("moments: exact of long segments among 2^32 elements", "[moments][groups]", DETREDUCE_ALL_TYPES) {
    const double large = fp::is_narrow<TestType> ? 3.97 : 31, larger = fp::is_narrow<TestType> ? 3.98 : 31.5;
    Cut<TestType> cut{{.shape = Shape::segments, .n = std::uint64_t{1} << 32, .groups = 4}, {}, {}};
    cut.offsets = {0, 1u << 19, 1u << 20, (1u << 20) + (1u << 18), (1u << 20) + (1u << 18) + (1u << 16)};
    for (std::size_t g = 0; g < cut.request.groups; ++g) {
        const std::size_t small = 512 << g % 2; // for these the window is made
        for (std::size_t i = 0; i < cut.length(g); ++i)
            cut.pair.x.push_back(fp::round_to<TestType>(i < small ? 1.9 : i % 2 == 0 ? large : larger));
    }
    const auto results = moments_of_groups<double>(cut, Op::moments, Method::exact, 1, 3);
    for (std::size_t g = 0; g < cut.request.groups; ++g) {
        INFO("segment of " << cut.length(g));
        REQUIRE(same_bits(moments_of_group(results, Op::moments, g),
                          expected_of_moments<double>(Op::moments, cut.group(g).first(), Method::exact, 1)));
    }
}

/// Backends take some thousand groups at a time: so many that there are three such lots, with a
/// giant in the second.
TEMPLATE_TEST_CASE("moments: exact of more groups than are taken at a time", "[moments][groups]", DETREDUCE_ALL_TYPES) {
    auto segments = giant_among_tiny<TestType>(20001, 100000);
    Cut<TestType> rows{{.shape = Shape::rows, .n = 3, .groups = 17000, .stride = 5}, {}, {}},
        columns{{.shape = Shape::columns, .n = 3, .groups = 17000}, {}, {}};
    rows.pair.x.resize(17000 * 5);
    columns.pair.x.resize(17000 * 3);
    for (Cut<TestType>* cut : {&segments, &rows, &columns}) {
        cut->pair.x = vector_from<TestType>(
            Style::stratified, cut->pair.x.empty() ? cut->request.n : cut->pair.x.size(), 6, any_bits<TestType>);
        const auto results = moments_of_groups<double>(*cut, Op::moments, Method::exact, 1, 3);
        for (std::size_t g = 0; g < cut->request.groups; g += g % 4 == 0 ? 1 : 37) {
            INFO(name(cut->request.shape) << ' ' << g << " of " << cut->length(g));
            REQUIRE(same_bits(moments_of_group(results, Op::moments, g),
                              expected_of_moments<double>(Op::moments, cut->group(g).first(), Method::exact, 1)));
        }
        const std::size_t giant = 10000; // and what is beside it
        for (std::size_t g = giant - 1; g <= giant + 1; ++g)
            REQUIRE(same_bits(moments_of_group(results, Op::moments, g),
                              expected_of_moments<double>(Op::moments, cut->group(g).first(), Method::exact, 1)));
    }
}

TEST_CASE("moments: a segment of too few elements has no variance, and an empty one no mean", "[moments][groups]") {
    constexpr double nan = NAN;
    for (const Method method : moment_methods()) {
        Cut<double> cut{
            {.shape = Shape::segments, .n = 7, .groups = 5}, {1, 1, 2, 4, 4, 7}, {{9, 5, 1, 3, 2, 4, 9}, {}}};
        const auto check = [&](Op op, std::uint64_t ddof, const std::vector<double>& expected) {
            INFO(described(op, method, 7, ddof));
            REQUIRE(same_bits(moments_of_groups<double>(cut, op, method, ddof, 1), expected));
        };
        check(Op::variance, 0, {nan, 0, 1, nan, 26.0 / 3});
        check(Op::variance, 1, {nan, nan, 2, nan, 13});
        check(Op::stddev, 2, {nan, nan, nan, nan, std::sqrt(26.0)});
        check(Op::variance, 3, std::vector<double>(5, nan));
        check(Op::stddev, max_n, std::vector<double>(5, nan));
        check(Op::moments, 1, {nan, nan, 5, nan, 2, 2, nan, nan, 5, 13});
        Cut<float> none{{.shape = Shape::segments, .groups = 300}, std::vector<std::uint64_t>(301), {}};
        for (const float x : moments_of_groups<float>(none, Op::moments, method, 0, 1))
            REQUIRE(fp::to_bits(x) == fp::Format<float>::canonical_nan);
    }
}

TEST_CASE("moments: huge and tiny numbers by exact", "[moments]") {
    const auto exact = [](Op op, const std::vector<double>& x, std::uint64_t ddof = 0) {
        return moments_of<double>(op, x, Method::exact, ddof, 1).back();
    };
    REQUIRE(std::isinf(exact(Op::variance, {1e300, -1e300})));
    REQUIRE(exact(Op::stddev, {1e300, -1e300}) == 1e300);
    REQUIRE(exact(Op::stddev, {0x1p-1074, -0x1p-1074}) == 0x1p-1074);
    REQUIRE(exact(Op::variance, {0x1p-1074, -0x1p-1074}) == 0);
    REQUIRE(exact(Op::variance, {0x1p-537, -0x1p-537}) == 0x1p-1074);
    REQUIRE(exact(Op::variance, {1e300, std::nextafter(1e300, INFINITY)}) == std::pow(std::ldexp(1.0, 943), 2) / 4);
    REQUIRE(exact(Op::variance, {1, 2, 3, 4}) == 1.25);
    REQUIRE(exact(Op::variance, {1, 2, 3, 4}, 1) == 5.0 / 3);
    REQUIRE(exact(Op::stddev, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 1) == std::sqrt(7.5));
    REQUIRE(exact(Op::stddev, {-0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023}) == 0x1.fffffffffffffp1023);
    REQUIRE(std::isinf(exact(Op::stddev, {-0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023}, 1)));
}

/// (1 + 2^−53)/4, half way between two doubles, and t²/6 more: bits that are looked at one by one,
/// or only to see that there are any.
TEST_CASE("moments: exact sees the smallest square behind a tie", "[moments]") {
    const auto variance = [](double t, std::uint64_t zeros) {
        constexpr double e = 0x1p-27;
        std::vector<double> x{1, .5, .5, e, e, e, t};
        for (std::size_t i = 0; i < 7; ++i)
            x.push_back(-x[i]);
        x.resize(x.size() + zeros);
        return moments_of<double>(Op::variance, x, Method::exact, x.size() - 12, zeros)[0];
    };
    for (const std::uint64_t zeros : {0u, 5u, 1000u}) {
        REQUIRE(variance(0, zeros) == 0.25);
        for (int exponent = -30; exponent >= -1074; exponent -= exponent > -160 ? 1 : 57)
            REQUIRE(variance(std::ldexp(1.0, exponent), zeros) == 0.25 * (1 + 0x1p-52));
    }
}

TEST_CASE("moments: infinities and NaN have no variance", "[moments]") {
    for (const Method method : moment_methods()) {
        for (const double special : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
            for (const std::size_t n : {1u, 2u, 3u, 100u, 5000u}) {
                for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
                    std::vector<double> x(n, 1.5);
                    x[at] = special;
                    INFO(described(Op::moments, method, n, 0) << special << " at " << at);
                    REQUIRE(fp::to_bits(moments_of<double>(Op::variance, x, method, 0, n)[0]) ==
                            fp::Format<double>::canonical_nan);
                    REQUIRE(fp::to_bits(moments_of<double>(Op::stddev, x, method, 0, n)[0]) ==
                            fp::Format<double>::canonical_nan);
                    const double mean = moments_of<double>(Op::moments, x, method, 0, n)[0];
                    if (method == Method::exact) {
                        REQUIRE((std::isnan(special) ? std::isnan(mean) : mean == special));
                    } else {
                        REQUIRE_FALSE(std::isfinite(mean));
                    }
                }
            }
        }
    }
}

/// (2^27 − 1)² has 54 bits, the last one of which is a tie; a quarter of the square of a difference
/// is the variance of two.
TEST_CASE("moments: what is far below a tie decides it", "[moments]") {
    const double x = 0x1p27 - 1, tie = (0x1p54 - 0x1p28) / 4;
    for (int below = 0; below < 1070; ++below) {
        const auto variance = [&](double y) {
            return moments_of<double>(Op::variance, std::vector<double>{x, y}, Method::exact, 0, 1)[0];
        };
        INFO(below);
        if (below == 0) REQUIRE(variance(0) == tie); // to even
        if (below < 30) continue;                    // where the difference is another number of 53 bits
        REQUIRE(variance(-std::ldexp(1.0, -below)) == next_up(tie));
        REQUIRE(variance(std::ldexp(1.0, -below)) == tie);
    }
}

TEST_CASE("moments: what there is not is refused by name", "[moments][status]") {
    const auto status = [](Request request) {
        request.device.backend = TestBackend::kind;
        return make_plan(request).status();
    };
    constexpr auto invalid = StatusCode::invalid_argument;
    constexpr auto unsupported = StatusCode::unsupported;
    for (const Op op : moment_ops) {
        for (const Method method : moment_methods()) {
            REQUIRE(status({.op = op, .method = method, .n = 3, .ddof = 2}).ok());
            expect(status({.op = op, .method = method, .n = 3, .ddof = 3}), invalid, "ddof");
            expect(status({.op = op, .method = method, .n = 0}), invalid, "n");
            expect(status({.op = op, .method = method, .n = 3, .nan = NanPolicy::ignore}), invalid, "nan");
            const Plan plan = make_plan({.op = op, .method = method, .n = 3, .device = {TestBackend::kind, -1}});
            REQUIRE(plan.guarantee() == (method == Method::exact ? Guarantee::order : Guarantee::device));
            REQUIRE(plan.results() == (op == Op::moments ? 2 : 1));
        }
        for (const Method method : {Method::kahan, Method::compensated, Method::atomic})
            expect(status({.op = op, .method = method, .n = 3}), unsupported, "method");
        expect(status({.op = op, .method = Method::tree, .output = DType::f16, .n = 3}), invalid, "output");
        expect(status({.op = op, .method = Method::tree, .shape = Shape::tensors, .n = 3}), unsupported, "method");
    }
    expect(status({.op = Op::mean, .n = 3, .ddof = 1}), invalid, "ddof");
    for (const Shape shape : {Shape::rows, Shape::columns, Shape::segments}) {
        const auto of_groups = [&](std::uint64_t n, std::uint64_t ddof) {
            return status(
                {.op = Op::variance, .method = Method::tree, .shape = shape, .n = n, .groups = 4, .ddof = ddof});
        };
        INFO(name(shape));
        REQUIRE(of_groups(3, 2).ok());
        if (shape == Shape::segments) { // which may be of any length
            REQUIRE(of_groups(3, 3).ok());
            REQUIRE(of_groups(0, max_n).ok());
            expect(of_groups(3, max_n + 1), invalid, "ddof");
        } else {
            expect(of_groups(3, 3), invalid, "ddof");
            expect(of_groups(0, 0), invalid, "n");
        }
    }
}

} // namespace detreduce::proptests
