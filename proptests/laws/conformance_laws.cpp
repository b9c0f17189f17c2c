// The conformance suite: laws that every backend keeps, for every method it offers, every element
// type and every output.
#include <detreduce/accuracy/bounds.hpp>
#include <detreduce/accuracy/metrics.hpp>
#include <detreduce/accuracy/oracle.hpp>

#include "laws/repeating.hpp"
#include "laws/suite.hpp"

namespace detreduce::proptests {

TEMPLATE_TEST_CASE("the bits are those of the naive evaluation of SPEC.md, however it is launched", "[laws][sanitizer]",
                   DETREDUCE_ALL_TYPES) {
    for_each_method<TestType>(true, any_bits<TestType>, "spec", [](auto out, Method method, auto x, auto word) {
        using Out = decltype(out);
        const Out result = TestBackend::reduce<Out>(x, method, draw_from(method, word));
        RC_ASSERT(same_bits(result, reference::sum<Out>(x, method)));
    });
}

TEMPLATE_TEST_CASE("no launch parameter changes a bit, each with each other", "[laws]", DETREDUCE_ALL_TYPES) {
    using Order = spec::TreeOrder<sizeof(TestType)>;
    std::size_t checked = 0;
    for (const std::size_t n :
         {std::size_t{1}, std::size_t{Order::lanes + 1}, std::size_t{3 * Order::tile + 77}, std::size_t{200003}}) {
        const auto x = vector_from<TestType>(Style::near, n, 20 + n, no_overflow<TestType>);
        for (const Method method : offered(true)) {
            const auto expected = reference::sum<TestType>(std::span<const TestType>(x), method);
            for (const Draw& draw : TestBackend::all_draws(method)) {
                const auto result = TestBackend::reduce<TestType>(std::span<const TestType>(x), method, draw);
                ++checked;
                if (same_bits(result, expected)) continue;
                FAIL(name(method) << " n " << n << " schedule " << name(draw.launch.schedule) << " grid "
                                  << draw.launch.grid << " block " << draw.launch.block << " threads "
                                  << draw.launch.threads << " isa " << name(draw.launch.isa) << " offset "
                                  << draw.offset);
            }
        }
    }
    REQUIRE(checked > 4 * 100);
}

TEMPLATE_TEST_CASE("three levels, and chunks of several rows in the second", "[laws]", DETREDUCE_ALL_TYPES) {
    constexpr std::size_t lanes_above = 512 / sizeof(fp::Arithmetic<TestType>);
    const Repeating<TestType> input(9 * lanes_above * Repeating<TestType>::tile + 77, 37);
    const auto x = input.all();
    for (const Method method : offered(true)) {
        const auto expected = input.template expected<double>(method);
        for (const std::uint64_t word : {0u, 1234567u}) {
            INFO(name(method));
            REQUIRE(same_bits(
                TestBackend::reduce<double>(std::span<const TestType>(x), method, draw_from(method, word)), expected));
        }
    }
}

TEMPLATE_TEST_CASE("repeats give the same bits", "[laws]", DETREDUCE_ALL_TYPES) {
    const std::size_t repeats = TestBackend::kind == Backend::cuda ? 200 : 40;
    const auto x = vector_from<TestType>(Style::cancelling, 300007, 5, no_overflow<TestType>);
    for (const Method method : offered(true)) {
        accuracy::BitPatterns<TestType> patterns;
        for (std::size_t i = 0; i < repeats; ++i)
            patterns.add(TestBackend::reduce<TestType>(std::span<const TestType>(x), method));
        INFO(name(method));
        REQUIRE(patterns.total() == repeats);
        REQUIRE(patterns.distinct() == 1);
    }
}

TEMPLATE_TEST_CASE("the error is within the documented bound, and that of kahan and compensated within tree's",
                   "[laws]", DETREDUCE_ALL_TYPES) {
    for_some_method<TestType>(false, no_overflow<TestType>, "bound", [](auto out, Method method, auto x, auto word) {
        using Out = decltype(out);
        constexpr DType input = dtype_of<TestType>;
        const auto exact = accuracy::exact_sum(x);
        RC_PRE(accuracy::cannot_overflow(exact, method, input, dtype_of<Out>));
        const Out result = TestBackend::reduce<Out>(x, method, draw_from(method, word));
        const double flushed = TestBackend::kind == Backend::cuda ? accuracy::flush_bound(method, input, x.size()) : 0;
        const auto bound = [&](Method m) { return accuracy::error_bound(m, input, dtype_of<Out>, x.size()); };
        RC_ASSERT(accuracy::within_bound(result, exact, bound(method), flushed));
        if (method == Method::kahan || method == Method::compensated) {
            RC_ASSERT(accuracy::within_bound(result, exact, bound(Method::tree)));
        }
    });
}

TEMPLATE_TEST_CASE("negating the input negates the result, a zero aside", "[laws]", DETREDUCE_ALL_TYPES) {
    for_some_method<TestType>(true, any_bits<TestType>, "negation", [](auto out, Method method, auto x, auto word) {
        using Out = decltype(out);
        std::vector<TestType> minus(x.begin(), x.end());
        for (TestType& v : minus)
            v = fp::negated(v);
        const Out a = TestBackend::reduce<Out>(x, method, draw_from(method, word));
        const Out b = TestBackend::reduce<Out>(std::span<const TestType>(minus), method, draw_from(method, word / 7));
        RC_ASSERT((is_zero(a) ? is_zero(b) : same_bits(b, fp::is_nan(a) ? a : fp::negated(a))));
    });
}

TEMPLATE_TEST_CASE("scaling by a power of two commutes", "[laws]", DETREDUCE_ALL_TYPES) {
    for_some_method<TestType>(true, scalable<TestType>, "scaling", [](auto out, Method method, auto x, auto word) {
        using Out = decltype(out);
        RC_PRE(gives(Method::tree, dtype_of<TestType>, dtype_of<Out>)); // a narrower output over- and underflows
        constexpr int most = scale_exponent<TestType>;
        const auto shift = static_cast<int>(word % (2 * most + 1)) - most;
        const auto scale = [shift](auto v) {
            return number<decltype(v)>(std::ldexp(static_cast<double>(fp::widen(v)), shift)); // exact
        };
        std::vector<TestType> scaled(x.begin(), x.end());
        for (TestType& v : scaled)
            v = scale(v);
        const Out a = TestBackend::reduce<Out>(x, method, draw_from(method, word / 61));
        const Out b = TestBackend::reduce<Out>(std::span<const TestType>(scaled), method, draw_from(method, word / 67));
        RC_ASSERT(same_bits(b, scale(a)));
    });
}

TEMPLATE_TEST_CASE("sums of small integers are exact", "[laws]", DETREDUCE_ALL_TYPES) {
    property("integers", [] {
        const auto seed = *rc::gen::arbitrary<std::uint64_t>();
        const std::size_t n = length_from(accuracy::hash(seed, 1), lengths<TestType>());
        const auto x = vector_from<TestType>(Style::integers, n, seed, finite_bits<TestType>);
        double total = 0; // in which these sums are exact
        for (const TestType v : x)
            total += static_cast<double>(fp::widen(v));
        for (const Method method : offered(false)) {
            RC_LOG(std::string(name(method)) + '\n');
            with_dtype_from_16_bits(some_output(method, dtype_of<TestType>, seed), [&](auto out) {
                using Out = decltype(out);
                const Out result =
                    TestBackend::reduce<Out>(std::span<const TestType>(x), method, draw_from(method, seed));
                RC_ASSERT(equal(result, number<Out>(total)));
            });
        }
    });
}

namespace {

/// x with `specials` put in at random places.
template <class T>
std::vector<T> with(std::vector<T> x, std::uint64_t word, std::initializer_list<T> specials) {
    for (const T s : specials)
        x.insert(x.begin() + static_cast<std::ptrdiff_t>((word *= 0x9e3779b97f4a7c15u) % (x.size() + 1)), s);
    return x;
}

/// A NaN with a random payload, signalling or not.
template <class T>
T any_nan(std::uint64_t word) {
    using F = fp::Format<T>;
    const auto fraction_mask = (fp::Bits<T>{1} << (F::precision - 1)) - 1;
    return fp::from_bits<T>(static_cast<fp::Bits<T>>((word & fraction_mask) | 1 | fp::infinity_bits<T> |
                                                     (word >> 63 ? fp::sign_mask<T> : 0)));
}

} // namespace

TEMPLATE_TEST_CASE("special values are as specified", "[laws][sanitizer]", DETREDUCE_ALL_TYPES) {
    using T = TestType;
    for_some_method<T>(false, no_overflow<T>, "specials", [](auto out, Method method, auto x, auto word) {
        using Out = decltype(out);
        const std::vector<T> base(x.begin(), x.end());
        const auto reduce = [&](const std::vector<T>& v) {
            return TestBackend::reduce<Out>(std::span<const T>(v), method, draw_from(method, word));
        };
        const T plus = infinity<T>, minus = fp::negated(plus), payload = any_nan<T>(word);
        const Out nan = reduce(with(base, word, {payload})), both = reduce(with(base, word, {plus, minus}));
        RC_ASSERT(fp::is_nan(nan));
        RC_ASSERT(fp::is_nan(both));
        RC_ASSERT(same_bits(reduce(with(base, word, {plus})), infinity<Out>));
        RC_ASSERT(same_bits(reduce(with(base, word, {minus, minus})), fp::negated(infinity<Out>)));
        if (method == Method::atomic) return; // promises neither the bits of a NaN nor the sign of a zero
        RC_ASSERT(same_bits(nan, quiet_nan<Out>));
        RC_ASSERT(same_bits(both, quiet_nan<Out>));
        RC_ASSERT(same_bits(reduce({payload}), quiet_nan<Out>));
        const std::vector<T> zeros(base.size() + 1, number<T>(-0.0));
        RC_ASSERT(same_bits(reduce(zeros), number<Out>(-0.0)));
        RC_ASSERT(same_bits(reduce(with(zeros, word, {number<T>(0)})), number<Out>(0)));
    });
    for (const Method method : offered(false)) {
        for (const DType output : outputs(method, dtype_of<T>)) {
            with_dtype_from_16_bits(output, [&](auto out) {
                using Out = decltype(out);
                REQUIRE(fp::to_bits(TestBackend::reduce<Out>(std::span<const T>{}, method)) == 0);
            });
        }
    }
}

} // namespace detreduce::proptests
