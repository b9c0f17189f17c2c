// Laws of products, on every backend.
#include <cmath>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/accuracy/product_oracle.hpp>
#include <product_reference.hpp>

#include "laws/extremes.hpp"
#include "laws/product_draws.hpp"

namespace detreduce::proptests {

/// Numbers whose product, of any length, is one of the format more often than not: exponents
/// around 0.
constexpr Scope near_one{-1, 0, false, false};

TEMPLATE_TEST_CASE("products: the bits are those of SPEC.md", "[product][sanitizer]", DETREDUCE_ALL_TYPES) {
    property("spec", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const Scope scopes[] = {any_bits<TestType>, finite_bits<TestType>, near_one, near_one};
        const Values<TestType> xs = *values<TestType>(scopes[word % 4], lengths<TestType>());
        const auto methods = product_methods();
        const Method method = methods[accuracy::hash(word, 2) % methods.size()];
        with_dtype_from_16_bits(some_output(method, dtype_of<TestType>, word), [&](auto out) {
            using Out = decltype(out);
            RC_LOG(std::string(name(method)) + " to " + std::string(name(dtype_of<Out>)) + '\n');
            RC_ASSERT(same_bits(multiplied<Out>(xs.span(), method, product_draw(word / 4)),
                                reference::product<Out>(xs.span(), method)));
        });
    });
}

TEMPLATE_TEST_CASE("products: every launch", "[product]", DETREDUCE_ALL_TYPES) {
    using Order = spec::TreeOrder<sizeof(TestType)>;
    for (const std::size_t n : {std::size_t{Order::tile}, std::size_t{3 * Order::tile + Order::chunk + 77}}) {
        const auto x = balanced<TestType>(n, n);
        const std::span<const TestType> span(x);
        for (const Method method : {Method::tree, Method::compensated}) {
            const double expected = reference::product<double>(span, method);
            REQUIRE(std::isnormal(expected));
            for (Draw draw : TestBackend::all_draws(Method::tree)) {
                if (draw.launch.schedule != Schedule::automatic && draw.launch.schedule != Schedule::two_pass) continue;
                if (draw.launch.block != 0 && draw.launch.block != 256) continue;
                INFO(name(method) << " n " << n << " grid " << draw.launch.grid << " threads " << draw.launch.threads
                                  << " isa " << name(draw.launch.isa) << " offset " << draw.offset);
                REQUIRE(same_bits(multiplied<double>(span, method, draw), expected));
            }
        }
    }
}

/// Several levels above the input.
TEMPLATE_TEST_CASE("products: hundreds of tiles", "[product]", DETREDUCE_ALL_TYPES) {
    const auto x = balanced<TestType>(300 * spec::TreeOrder<sizeof(TestType)>::tile / 2 + 5, 3);
    const std::span<const TestType> span(x);
    for (const Method method : {Method::tree, Method::compensated}) {
        const double expected = reference::product<double>(span, method);
        REQUIRE(std::isnormal(expected));
        REQUIRE(same_bits(multiplied<double>(span, method), expected));
    }
}

TEMPLATE_TEST_CASE("products: a group has the bits of its elements alone", "[product][groups][sanitizer]",
                   DETREDUCE_ALL_TYPES) {
    property("groups", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const Scope scopes[] = {any_bits<TestType>, finite_bits<TestType>, near_one, near_one};
        auto cut = cut_from<TestType>(word, scopes[accuracy::hash(word, 71) % 4]);
        const auto methods = product_methods();
        const Method method = methods[accuracy::hash(word, 2) % methods.size()];
        with_dtype_from_16_bits(some_output(method, dtype_of<TestType>, word), [&](auto out) {
            using Out = decltype(out);
            const auto results = products_of<Out>(cut, method, word);
            RC_LOG(text_of(cut));
            RC_ASSERT(results.size() == cut.request.groups);
            for (const std::size_t g : some_groups(cut)) {
                const Pair<TestType> group = cut.group(g);
                RC_ASSERT(same_bits(results[g], reference::product<Out>(group.first(), method)));
                if (g == 0)
                    RC_ASSERT(same_bits(results[g], multiplied<Out>(group.first(), method, product_draw(word / 4))));
            }
        });
    });
}

/// So many tiles that their results fill several rows.
TEMPLATE_TEST_CASE("products: a giant among thousands of tiny segments", "[product][groups]", DETREDUCE_ALL_TYPES) {
    auto cut = giant_among_tiny<TestType>(5000, 140 * spec::TreeOrder<sizeof(TestType)>::tile + 77);
    cut.pair.x = balanced<TestType>(cut.request.n, 7);
    for (const Method method : {Method::tree, Method::compensated}) {
        const auto results = products_of<double>(cut, method, 3);
        for (std::size_t g = 0; g < results.size(); ++g) {
            INFO(name(method) << " segment " << g << " of " << cut.length(g));
            REQUIRE(same_bits(results[g], reference::product<double>(cut.group(g).first(), method)));
        }
    }
}

TEST_CASE("products: groups without elements are 1", "[product][groups]") {
    for (const Method method : product_methods()) {
        for (const Shape shape : {Shape::rows, Shape::columns, Shape::segments}) {
            Cut<float> cut{{.shape = shape, .groups = 1000}, {}, {}};
            if (shape == Shape::segments) cut.offsets.resize(1001);
            for (const double one : products_of<double>(cut, method, 1))
                REQUIRE(same_bits(one, 1.0));
        }
        Cut<double> cut{{.shape = Shape::segments, .n = 3, .groups = 4}, {0, 0, 2, 2, 3}, {{-2, 4, -0.0}, {}}};
        const std::vector<double> expected{1, -8, 1, -0.0}, results = products_of<double>(cut, method, 1);
        REQUIRE(std::equal(expected.begin(), expected.end(), results.begin(), results.end(), same_bits<double>));
    }
}

template <class Out, class T>
void require_bound(std::span<const T> x, const accuracy::ExactProduct& oracle, std::uint64_t word) {
    for (const Method method : product_methods()) {
        if (!gives(method, dtype_of<T>, dtype_of<Out>)) continue;
        INFO(name(method) << " to " << name(dtype_of<Out>) << " n " << x.size());
        const auto bound = accuracy::product_bound(method, dtype_of<T>, dtype_of<Out>, x.size());
        const Out result = multiplied<Out>(x, method, product_draw(word));
        INFO(hexadecimal(result) << " is not near " << hexadecimal(oracle.round<Out>()));
        REQUIRE(accuracy::within_product_bound(result, oracle, bound));
    }
}
template <class T>
void require_bounds(const std::vector<T>& x, std::uint64_t word) {
    const std::span<const T> span(x);
    accuracy::ExactProduct oracle;
    oracle.add(span);
    require_bound<T>(span, oracle, word);
    if (dtype_of<T> != DType::f64) require_bound<double>(span, oracle, word);
}

TEMPLATE_TEST_CASE("products: within the bound of the true product, for every generator", "[product]",
                   DETREDUCE_ALL_TYPES) {
    for (const accuracy::Family family : accuracy::families()) {
        for (const std::size_t n :
             {std::size_t{1}, std::size_t{2}, std::size_t{13}, std::size_t{700}, std::size_t{5001}}) {
            INFO(accuracy::name(family));
            require_bounds(accuracy::generate<TestType>(family, n, n + 1), n);
        }
    }
    for (int kind = 0; kind < extremes; ++kind) {
        for (std::uint64_t seed = 0; seed < 8; ++seed) {
            INFO("kind " << kind << " seed " << seed);
            require_bounds(extreme<TestType>(static_cast<Extreme>(kind), 1 + accuracy::hash(seed, 7) % 900, seed),
                           seed);
        }
    }
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        INFO("balanced, seed " << seed);
        require_bounds(balanced<TestType>(2 + accuracy::hash(seed, 1) % 3000, seed), seed);
    }
}

/// Two factors whose product lies around the ends of the range, and below: rounded once, as the
/// true product is.
TEMPLATE_TEST_CASE("products: results that are subnormal, or nearly, are rounded once", "[product]",
                   DETREDUCE_ALL_TYPES) {
    constexpr int bottom = fp::Format<TestType>::min_exponent, width = fp::Format<TestType>::precision;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        const auto x = [&](int exponent, std::uint64_t k) {
            return from_fields<TestType>({accuracy::hash(seed, k) % 2 != 0, exponent, accuracy::hash(seed, k + 1)});
        };
        const int target =
            bottom - 2 + static_cast<int>(accuracy::hash(seed, 9) % static_cast<std::uint64_t>(width + 4));
        const int first = target / 2;
        const std::vector<TestType> pair{x(first, 1), x(target - first, 3)};
        const std::span<const TestType> span(pair);
        accuracy::ExactProduct oracle;
        oracle.add(span);
        INFO(hexadecimal(pair[0]) << " · " << hexadecimal(pair[1]));
        REQUIRE(same_bits(multiplied<TestType>(span, Method::compensated), oracle.round<TestType>()));
    }
}

TEMPLATE_TEST_CASE("products: powers of two move to the result", "[product]", DETREDUCE_ALL_TYPES) {
    property("scaling", [] {
        const Values<TestType> xs = *values<TestType>(near_one, lengths<TestType>());
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const auto methods = product_methods();
        const Method method = methods[accuracy::hash(word, 2) % methods.size()];
        // Elements times 2^k and 2^−k, in turn, are as they were; one of them times 2^j gives 2^j
        // times as much.
        constexpr int room = largest_exponent<TestType> - 3;
        std::vector<TestType> moved(xs.xs);
        for (std::size_t i = 0; i + 1 < moved.size(); i += 2) {
            const int k = static_cast<int>(accuracy::hash(word, i) % static_cast<std::uint64_t>(room));
            for (int side = 0; side < 2; ++side) {
                Fields f = fields(moved[i + static_cast<std::size_t>(side)]);
                if (f.exponent == -largest_exponent<TestType>)
                    f.fraction = 0; // zero stays zero
                else
                    f.exponent += side == 0 ? k : -k;
                moved[i + static_cast<std::size_t>(side)] = from_fields<TestType>(f);
            }
        }
        bool zero = false;
        for (const TestType x : xs.xs)
            zero = zero || is_zero(x);
        RC_PRE(!zero); // then the other of its pair made a difference
        const double result = multiplied<double>(xs.span(), method, product_draw(word));
        RC_ASSERT(
            same_bits(result, multiplied<double>(std::span<const TestType>(moved), method, product_draw(word / 3))));
        RC_PRE(!moved.empty());
        Fields f = fields(moved.back());
        const int j = f.exponent > 0 ? -1 : 1;
        f.exponent += j;
        moved.back() = from_fields<TestType>(f);
        const double scaled = multiplied<double>(std::span<const TestType>(moved), method, product_draw(word / 5));
        if (std::isnormal(result) && std::isnormal(scaled)) RC_ASSERT(same_bits(scaled, std::ldexp(result, j)));
    });
}

TEMPLATE_TEST_CASE("products: a sign is the product of signs", "[product]", DETREDUCE_ALL_TYPES) {
    property("negation", [] {
        Values<TestType> xs = *values<TestType>(any_bits<TestType>, lengths<TestType>());
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        RC_PRE(!xs.xs.empty());
        const auto methods = product_methods();
        const Method method = methods[accuracy::hash(word, 2) % methods.size()];
        const TestType before = multiplied<TestType>(xs.span(), method, product_draw(word));
        TestType& one = xs.xs[accuracy::hash(word, 3) % xs.size()];
        one = fp::negated(one);
        const TestType after = multiplied<TestType>(xs.span(), method, product_draw(word / 3));
        RC_ASSERT(same_bits(after, fp::is_nan(before) ? before : fp::negated(before)));
    });
}

TEMPLATE_TEST_CASE("products: neither twos nor halves are ever too many", "[product]", DETREDUCE_ALL_TYPES) {
    for (const std::size_t n : {std::size_t{4001}, std::size_t{123'457}}) {
        std::vector<TestType> x(n, number<TestType>(2));
        for (std::size_t i = 0; i < n / 2; ++i)
            x[i] = number<TestType>(0.5);
        for (const Method method : product_methods()) {
            const std::span<const TestType> span(x);
            REQUIRE(equal(multiplied<TestType>(span, method), number<TestType>(2)));
            std::vector<TestType> shuffled(x);
            accuracy::shuffle(std::span<TestType>(shuffled), n);
            REQUIRE(equal(multiplied<TestType>(std::span<const TestType>(shuffled), method), number<TestType>(2)));
            const std::span<const TestType> halves = span.first(n / 2), twos = span.subspan(n / 2);
            REQUIRE(same_bits(multiplied<TestType>(halves, method), TestType{}));
            REQUIRE(same_bits(multiplied<TestType>(twos, method), infinity<TestType>));
        }
    }
}

TEST_CASE("products: a few by hand", "[product]") {
    for (const Method method : product_methods()) {
        INFO(name(method));
        const auto product = [method](std::vector<double> x) {
            return fp::to_bits(multiplied<double>(std::span<const double>(x), method));
        };
        const auto bits = [](double x) { return fp::to_bits(x); };
        constexpr double inf = INFINITY, nan = NAN;
        const std::uint64_t canonical = 0x7ff8000000000000;
        REQUIRE(product({}) == bits(1));
        REQUIRE(product({-3}) == bits(-3));
        REQUIRE(product({2, 3, 7}) == bits(42));
        REQUIRE(product({0x1p1000, 0x1p1000, 0x1p-1000, 0x1p-1000}) == bits(1));
        REQUIRE(product({0x1p-1074, 0x1p-1074, 0x1p1023, 0x1p1023, 0x1p102}) == bits(1));
        REQUIRE(product({0x1p-1074, 0.5}) == bits(0)); // a tie goes to the even
        REQUIRE(product({-0x1p-1074, 0.5}) == bits(-0.0));
        REQUIRE(product({0x1.8p-1074 * 2, 0.5}) == bits(0x1p-1073)); // 1.5 of the smallest: a tie again
        REQUIRE(product({0x1.8p1023, 2}) == bits(inf));
        REQUIRE(product({0x1.8p1023, -2}) == bits(-inf));
        REQUIRE(product({0.0, -5}) == bits(-0.0));
        REQUIRE(product({-0.0, -5}) == bits(0.0));
        REQUIRE(product({-0.0, 0x1p-1074, -0.0, -1}) == bits(-0.0));
        REQUIRE(product({inf, -2}) == bits(-inf));
        REQUIRE(product({inf, 0}) == canonical);
        REQUIRE(product({0, 1, 2, -inf}) == canonical);
        REQUIRE(product({nan, 0}) == canonical);
        REQUIRE(product({fp::negated(nan)}) == canonical);
        REQUIRE(product({inf, 0x1p-1074, 1e-300}) == bits(inf));
    }
    const std::vector<double> x{1e300, 1e300, 1e-300, 1e-300};
    accuracy::ExactProduct oracle;
    oracle.add(std::span<const double>(x));
    REQUIRE(std::fabs(oracle.round<double>() - 1) < 0x1p-51);
    REQUIRE(multiplied<double>(std::span<const double>(x), Method::compensated) == oracle.round<double>());
}

/// (1 + 2^-34)(1 + 2^-36) = 1 + 2^-34 + 2^-36 + 2^-70, where 2^-36 is half of the last place of the
/// result, and only 2^-70 makes it more.
TEST_CASE("products: what lies far below a tie decides it", "[product]") {
    const std::vector<double> x{1 + 0x1p-34, 1 + 0x1p-36, 0x1p-1000, 0x1p-39};
    const std::span<const double> span(x);
    REQUIRE(multiplied<double>(span, Method::compensated) == 0x1p-1039 + 3 * 0x1p-1074);
    REQUIRE(multiplied<double>(span, Method::tree) == 0x1p-1039 + 2 * 0x1p-1074); // which has lost it
    // (1 + 2^-35)(1 - 2^-35) = 1 - 2^-70: from below.
    const std::vector<double> below{1 + 0x1p-35, 1 - 0x1p-35, 0x1p-1000, 0x1p-75},
        above{1 + 0x1p-35, 1 + 0x1p-35, 0x1p-1000, 0x1p-75};
    REQUIRE(multiplied<double>(std::span<const double>(below), Method::compensated) == 0);
    REQUIRE(multiplied<double>(std::span<const double>(above), Method::compensated) == 0x1p-1074);
}

/// What the errors are carried along for.
TEMPLATE_TEST_CASE("products: compensated is nearly always the nearest number", "[product]", float, double) {
    int rounded_right = 0, by_tree = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const auto x = balanced<TestType>(4000, seed);
        const std::span<const TestType> span(x);
        accuracy::ExactProduct oracle;
        oracle.add(span);
        const auto nearest = oracle.round<TestType>();
        rounded_right += same_bits(multiplied<TestType>(span, Method::compensated), nearest);
        by_tree += same_bits(multiplied<TestType>(span, Method::tree), nearest);
    }
    REQUIRE(rounded_right >= 99);
    REQUIRE(by_tree < 50);
}

} // namespace detreduce::proptests
