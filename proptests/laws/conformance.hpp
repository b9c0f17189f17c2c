// The conformance suite: laws that every backend keeps, for every method it offers and every element type. Included once a backend,
// after `TestBackend` has been defined.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <detreduce/accuracy/bounds.hpp>
#include <detreduce/accuracy/metrics.hpp>
#include <detreduce/accuracy/oracle.hpp>
#include <spec_reference.hpp>

#include <support/bits.hpp>
#include <support/property.hpp>

namespace detreduce::proptests {

inline std::vector<Method> offered(bool deterministic_only) {
    std::vector<Method> found;
    for (const MethodInfo& m : methods()) {
        const bool here = TestBackend::kind == Backend::cpu ? m.on_cpu : m.on_cuda;
        if (here && (!deterministic_only || m.guarantee >= Guarantee::device)) found.push_back(m.method);
    }
    return found;
}

/// The result that SPEC.md gives.
template <class T>
T specified(std::span<const T> x, Method method) {
    return method == Method::serial ? reference::serial_sum(x) : reference::tree_sum(x);
}

template <class T>
bool same_bits(T a, T b) {
    return fp::to_bits(a) == fp::to_bits(b);
}

inline Draw draw_from(std::uint64_t word) {
    static const std::vector<Draw> all = TestBackend::all_draws();
    return all[word % all.size()];
}

/// A property of one vector and one random word, for each method.
template <class T, class Law>
void for_each_method(bool deterministic_only, const Scope& scope, const std::string& law, const Law& holds) {
    for (const Method method : offered(deterministic_only)) {
        property(law + ": " + std::string(name(method)), [&] {
            const Values<T> xs = *values<T>(scope);
            const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
            holds(method, xs.span(), word);
        });
    }
}

TEMPLATE_TEST_CASE("the bits are those of the naive evaluation of SPEC.md, however it is launched", "[laws][sanitizer]",
                   float, double) {
    for_each_method<TestType>(true, any_bits<TestType>, "spec", [](Method method, auto x, std::uint64_t word) {
        RC_ASSERT(same_bits(TestBackend::reduce(x, method, draw_from(word)), specified(x, method)));
    });
}

TEMPLATE_TEST_CASE("no launch parameter changes a bit, each with each other", "[laws]", float, double) {
    using Order = spec::TreeOrder<sizeof(TestType)>;
    for (const std::size_t n : {std::size_t{1}, std::size_t{Order::lanes + 1}, std::size_t{Order::tile},
                                std::size_t{3 * Order::tile + 77}, std::size_t{70 * Order::tile - 1}}) {
        const auto x = vector_from<TestType>(Style::near, n, 20 + n, no_overflow<TestType>);
        for (const Method method : offered(true)) {
            const TestType expected = specified(std::span<const TestType>(x), method);
            for (const Draw& draw : TestBackend::all_draws()) {
                const TestType result = TestBackend::reduce(std::span<const TestType>(x), method, draw);
                INFO(name(method) << " n " << n << " schedule " << name(draw.launch.schedule) << " grid "
                                  << draw.launch.grid << " block " << draw.launch.block << " threads "
                                  << draw.launch.threads << " isa " << name(draw.launch.isa) << " offset "
                                  << draw.offset);
                REQUIRE(fp::to_bits(result) == fp::to_bits(expected));
            }
        }
    }
}

TEMPLATE_TEST_CASE("200 repeats give the same bits", "[laws]", float, double) {
    const auto x = vector_from<TestType>(Style::cancelling, 1000003, 5, no_overflow<TestType>);
    for (const Method method : offered(true)) {
        accuracy::BitPatterns<TestType> patterns;
        for (int i = 0; i < 200; ++i)
            patterns.add(TestBackend::reduce(std::span<const TestType>(x), method));
        INFO(name(method));
        REQUIRE(patterns.total() == 200);
        REQUIRE(patterns.distinct() == 1);
    }
}

TEMPLATE_TEST_CASE("the error is within the documented bound", "[laws]", float, double) {
    for_each_method<TestType>(false, no_overflow<TestType>, "bound", [](Method method, auto x, std::uint64_t word) {
        const auto exact = accuracy::exact_sum(x);
        const auto depth = accuracy::rounding_depth(method, dtype_of<TestType>, x.size());
        const double flushed =
            TestBackend::kind == Backend::cuda ? accuracy::flush_bound(method, dtype_of<TestType>, x.size()) : 0;
        RC_ASSERT(accuracy::within_bound(TestBackend::reduce(x, method, draw_from(word)), exact, depth, flushed));
    });
}

TEMPLATE_TEST_CASE("negating the input negates the result, a zero aside", "[laws]", float, double) {
    for_each_method<TestType>(true, any_bits<TestType>, "negation", [](Method method, auto x, std::uint64_t word) {
        std::vector<TestType> negated(x.begin(), x.end());
        for (TestType& v : negated)
            v = -v;
        const TestType a = TestBackend::reduce(x, method, draw_from(word));
        const TestType b = TestBackend::reduce(std::span<const TestType>(negated), method, draw_from(word / 7));
        RC_ASSERT((a == 0 ? b == 0 : same_bits(b, a != a ? a : -a)));
    });
}

TEMPLATE_TEST_CASE("scaling by a power of two commutes", "[laws]", float, double) {
    for_each_method<TestType>(true, scalable<TestType>, "scaling", [](Method method, auto x, std::uint64_t word) {
        const auto factor = static_cast<TestType>(std::ldexp(1.0, static_cast<int>(word % 61) - 30));
        std::vector<TestType> scaled(x.begin(), x.end());
        for (TestType& v : scaled)
            v *= factor;
        const TestType a = TestBackend::reduce(x, method, draw_from(word / 61));
        RC_ASSERT(same_bits(TestBackend::reduce(std::span<const TestType>(scaled), method, draw_from(word / 67)),
                            a * factor));
    });
}

TEMPLATE_TEST_CASE("sums of small integers are exact", "[laws]", float, double) {
    for (const Method method : offered(false)) {
        property("integers: " + std::string(name(method)), [&] {
            const auto seed = *rc::gen::arbitrary<std::uint64_t>();
            const auto boundaries = tree_boundaries<TestType>();
            const std::size_t n = length_from(accuracy::hash(seed, 1), boundaries);
            const auto x = vector_from<TestType>(Style::integers, n, seed, finite_bits<TestType>);
            long long total = 0;
            for (const TestType v : x)
                total += static_cast<long long>(v);
            RC_ASSERT(TestBackend::reduce(std::span<const TestType>(x), method, draw_from(seed)) ==
                      static_cast<TestType>(total));
        });
    }
}

TEMPLATE_TEST_CASE("special values are as specified", "[laws][sanitizer]", float, double) {
    using F = fp::Format<TestType>;
    constexpr TestType inf = std::numeric_limits<TestType>::infinity();
    const auto with = [](std::vector<TestType> x, std::uint64_t word, std::initializer_list<TestType> specials) {
        for (const TestType s : specials)
            x.insert(x.begin() + static_cast<std::ptrdiff_t>((word *= 0x9e3779b97f4a7c15u) % (x.size() + 1)), s);
        return x;
    };
    for_each_method<TestType>(false, no_overflow<TestType>, "specials", [&](Method method, auto x, std::uint64_t word) {
        const std::vector<TestType> base(x.begin(), x.end());
        const auto reduce = [&](const std::vector<TestType>& v) {
            return TestBackend::reduce(std::span<const TestType>(v), method, draw_from(word));
        };
        const auto quiet = static_cast<fp::Bits<TestType>>(word) | F::canonical_nan;
        const auto quiet_bit = fp::Bits<TestType>{1} << (F::precision - 2);
        const auto payload = word % 2 ? quiet : (quiet & ~quiet_bit) | 1; // half of them signalling
        const TestType nan = reduce(with(base, word, {fp::from_bits<TestType>(payload)}));
        const TestType both = reduce(with(base, word, {inf, -inf}));
        RC_ASSERT(nan != nan);
        if (method != Method::atomic) {
            RC_ASSERT(fp::to_bits(reduce({fp::from_bits<TestType>(payload)})) == F::canonical_nan);
        }
        RC_ASSERT(both != both);
        RC_ASSERT(reduce(with(base, word, {inf})) == inf);
        RC_ASSERT(reduce(with(base, word, {-inf, -inf})) == -inf);
        if (method == Method::atomic) return; // promises neither the bits of a NaN nor the sign of a zero
        RC_ASSERT(fp::to_bits(nan) == F::canonical_nan);
        RC_ASSERT(fp::to_bits(both) == F::canonical_nan);
        const std::vector<TestType> zeros(base.size() + 1, TestType(-0.0));
        RC_ASSERT(same_bits(reduce(zeros), TestType(-0.0)));
        RC_ASSERT(same_bits(reduce(with(zeros, word, {TestType(0)})), TestType(0)));
    });
    for (const Method method : offered(false)) {
        REQUIRE(fp::to_bits(TestBackend::reduce(std::span<const TestType>{}, method)) == 0);
    }
}

} // namespace detreduce::proptests
