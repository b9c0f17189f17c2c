// What only the CPU backend can get wrong: the caller's floating-point environment, its levels, and
// calls from many threads.
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include <detreduce/detreduce.hpp>
#include <detreduce/acc/rounded.hpp>
#include <detreduce/acc/two_fold.hpp>
#include <detreduce/accuracy/oracle.hpp>
#include <detreduce/fp/eft.hpp>
#include <spec_reference.hpp>

#include <support/bits.hpp>
#include <support/property.hpp>
#include <support/catch.hpp>

#include "laws/control_word.hpp"
#include "laws/suite.hpp"

#include "host/sequence/tree.hpp"

namespace detreduce::proptests {

TEMPLATE_TEST_CASE("a caller's rounding mode and flush-to-zero neither change a bit nor get lost", "[cpu]",
                   DETREDUCE_ALL_TYPES) {
    const auto x = vector_from<TestType>(Style::stratified, 100003, 3, no_overflow<TestType>);
    const auto tiny =
        vector_from<TestType>(Style::stratified, 5000, 4, {1 - largest_exponent<TestType>, 1, true, false});
    for (const auto* data : {&x, &tiny}) {
        const std::span<const TestType> span(*data);
        for (const MethodInfo& m : methods()) {
            if (m.guarantee == Guarantee::none) continue;
            const auto expected = reference::sum<TestType>(span, m.method);
            for (const ControlWord::Word word : ControlWord::hostile) {
                for (const unsigned threads : {1u, 3u}) {
                    const ControlWord scope(word);
                    const TestType result = sum(span, m.method, {.threads = threads});
                    const ControlWord::Word after = ControlWord::now();
                    const ControlWord normal(ControlWord::standard);
                    INFO(m.name);
                    REQUIRE(fp::to_bits(result) == fp::to_bits(expected));
                    REQUIRE(after == word);
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("error-free transforms: value and error are the exact result", "[fp]", float, double) {
    const auto exactly = [](TestType a, TestType b, fp::Eft<TestType> r) {
        const TestType in[] = {a, b}, out[] = {r.value, r.error};
        return accuracy::exact_sum(std::span<const TestType>(in)).scaled() ==
               accuracy::exact_sum(std::span<const TestType>(out)).scaled();
    };
    property("two_sum", [&] {
        const TestType a = *value<TestType>(no_overflow<TestType>), b = *value<TestType>(no_overflow<TestType>);
        RC_ASSERT(exactly(a, b, fp::two_sum(a, b)));
        RC_ASSERT(fp::two_sum(a, b).value == a + b);
    });
    property("fast_two_sum", [&] {
        const TestType a = *value<TestType>(no_overflow<TestType>), b = *value<TestType>(no_overflow<TestType>);
        const bool ordered = std::abs(a) >= std::abs(b);
        RC_ASSERT(exactly(a, b, ordered ? fp::fast_two_sum(a, b) : fp::fast_two_sum(b, a)));
    });
    property("two_prod", [&] {
        constexpr Scope scope{-largest_exponent<TestType> / 2 + fp::Format<TestType>::precision,
                              largest_exponent<TestType> / 2 - 1, false, false};
        const TestType a = *value<TestType>(scope), b = *value<TestType>(scope);
        const fp::Eft<TestType> r = fp::two_prod(a, b);
        const auto scaled = [](TestType x) { return accuracy::scaled_value(x); };
        RC_ASSERT(scaled(a) * scaled(b) == (scaled(r.value) + scaled(r.error)) << -accuracy::ExactSum::lowest_exponent);
    });
}

struct OneLane {
    static constexpr std::uint32_t lanes = 1, chunk = 8, tile = 64;
};

/// As an item of the reference.
template <class V>
reference::Plain<V> item(acc::Rounded<V> a) {
    return {a.sum};
}
template <class V, bool PairwiseRows>
reference::TwoFold<V> item(acc::TwoFold<V, PairwiseRows> a) {
    return {a.sum, a.error};
}
/// Whatever the two would be rounded to.
bool same(reference::Plain<double> a, reference::Plain<double> b) {
    return same_bits(a.sum, b.sum);
}
bool same(reference::TwoFold<double> a, reference::TwoFold<double> b) {
    return same_bits(a.sum, b.sum) && same_bits(*a.error, *b.error);
}

TEMPLATE_TEST_CASE("levels of the CPU backend, all four of them, in a tree small enough to count through", "[cpu]",
                   acc::Rounded<double>, acc::Kahan<double>, acc::Compensated<double>) {
    using Order = OneLane;
    using Item = decltype(item(TestType{}));
    constexpr std::uint64_t most = 64ull * 64 * 64 * 64;
    constexpr auto rows = TestType::pairwise_rows ? reference::Rows::in_pairs : reference::Rows::in_order;
    for (const std::uint64_t n : {1ull, 2ull, 63ull, 64ull, 65ull, 4095ull, 4096ull, 4097ull, 262143ull, 262144ull}) {
        const auto x = vector_from<double>(Style::near, n, n, no_overflow<double>);
        std::vector<Item> items;
        const host::ArenaScope arena;
        auto levels = std::make_unique<host::Levels<TestType, Order, most>>(); // its items are results of tiles already
        for (std::uint64_t first = 0; first < n; first += Order::tile) {
            const std::uint64_t count = std::min<std::uint64_t>(Order::tile, n - first);
            for (std::uint64_t i = 0; i < count; ++i) {
                levels->next()[i] = TestType::of(x[first + i]);
                items.push_back(item(levels->next()[i]));
            }
            levels->take(count);
        }
        INFO(n);
        const Item expected = reference::tree_of(std::span<const Item>(items), 1, 1, rows);
        REQUIRE(same(item(levels->finish()), expected));
    }
}

TEST_CASE("many threads may call at once", "[cpu]") {
    const auto x = vector_from<double>(Style::near, 300007, 12, no_overflow<double>);
    for (const Method method : {Method::tree, Method::kahan, Method::compensated, Method::exact}) {
        const double expected = reference::sum<double>(std::span<const double>(x), method);
        std::vector<std::thread> threads;
        std::vector<int> wrong(6);
        for (std::size_t t = 0; t < wrong.size(); ++t) {
            threads.emplace_back([&, t] {
                for (int i = 0; i < 30; ++i)
                    wrong[t] += !same_bits(sum(x, method, {.threads = 2}), expected);
            });
        }
        for (std::thread& t : threads)
            t.join();
        for (const int w : wrong)
            REQUIRE(w == 0);
    }
}

} // namespace detreduce::proptests
