// Laws of the ops, on every backend.
#include <detreduce/accuracy/bounds.hpp>
#include <detreduce/accuracy/generators.hpp>

#include "laws/extremes.hpp"
#include "laws/op_pairs.hpp"

namespace detreduce::proptests {

TEMPLATE_TEST_CASE("ops: the bits are those of SPEC.md for every op and method", "[ops][sanitizer]",
                   DETREDUCE_ALL_TYPES) {
    const auto some = [](auto word) { // exact always, and one of the others
        const auto all = offered(true);
        return std::vector<Method>{Method::exact, all[accuracy::hash(word, 2) % all.size()]};
    };
    for_methods<TestType>(some, any_bits<TestType>, "spec", [](auto out, Method method, auto x, auto word) {
        using Out = decltype(out);
        if (x.empty()) return;
        const auto pair = pair_of<TestType>(x, word, any_bits<TestType>);
        const Op op = some_op(word);
        RC_LOG(std::string(name(op)) + '\n');
        RC_ASSERT(same_bits(reduce_pair<Out>(op, pair, method, word), expected<Out>(op, pair, method)));
    });
}

TEMPLATE_TEST_CASE("ops: numbers that are near each other", "[ops]", DETREDUCE_ALL_TYPES) {
    constexpr Scope ordinary{-6, 3, false, false};
    for (const OpInfo& op : sum_ops()) {
        for (const std::size_t n : {std::size_t{1}, std::size_t{77}, std::size_t{5000}, std::size_t{70001}}) {
            const auto x = vector_from<TestType>(Style::stratified, n, n, ordinary);
            const auto pair = pair_of<TestType>(std::span<const TestType>(x), 2 + 4 * n, ordinary);
            for (const Method method : offered(true)) {
                for (const DType output : outputs(method, dtype_of<TestType>)) {
                    with_dtype(output, [&](auto out) {
                        using Out = decltype(out);
                        INFO(op.name << ' ' << name(method) << " n " << n << " to " << name(output));
                        REQUIRE(
                            same_bits(reduce_pair<Out>(op.op, pair, method, n), expected<Out>(op.op, pair, method)));
                    });
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("ops: exact has the oracle's bits for extreme inputs", "[ops]", DETREDUCE_ALL_TYPES) {
    for (int kind = 0; kind < extremes; ++kind) {
        for (std::uint64_t seed = 0; seed < 30; ++seed) {
            const std::size_t n = seed < 1 ? 9000 : 1 + length_from(accuracy::hash(seed, 7), lengths<TestType>()) / 4;
            Pair<TestType> pair{extreme<TestType>(static_cast<Extreme>(kind), n, seed),
                                extreme<TestType>(static_cast<Extreme>((kind + seed) % extremes), n, seed + 99)};
            for (const OpInfo& op : sum_ops()) {
                with_dtype(some_output(Method::exact, dtype_of<TestType>, seed + static_cast<std::uint64_t>(kind)),
                           [&](auto out) {
                               using Out = decltype(out);
                               INFO(op.name << " kind " << kind << " n " << n << " seed " << seed);
                               REQUIRE(same_bits(reduce_pair<Out>(op.op, pair, Method::exact, seed),
                                                 expected<Out>(op.op, pair, Method::exact)));
                           });
            }
        }
    }
}

TEMPLATE_TEST_CASE("ops: exact does not care about the order", "[ops]", DETREDUCE_ALL_TYPES) {
    property("permutation", [] {
        const Values<TestType> xs = *values<TestType>(any_bits<TestType>, lengths<TestType>());
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        if (xs.xs.empty()) return;
        const auto pair = pair_of<TestType>(xs.span(), word, any_bits<TestType>);
        Pair<TestType> shuffled = pair;
        accuracy::shuffle(std::span<TestType>(shuffled.x), word);
        accuracy::shuffle(std::span<TestType>(shuffled.y), word); // in the same way
        const Op op = some_op(word);
        RC_LOG(std::string(name(op)) + '\n');
        RC_ASSERT(same_bits(reduce_pair<double>(op, pair, Method::exact, word),
                            reduce_pair<double>(op, shuffled, Method::exact, word / 3)));
    });
}

/// |result − Σt| ≤ the bound of SPEC.md, section 8.3, decided in integers.
template <class Out>
bool within_op_bound(Out result, const accuracy::TermOracle& oracle, const accuracy::ErrorBound& bound) {
    using accuracy::cpp_int;
    constexpr int unit = accuracy::TermOracle::lowest_exponent;
    const auto scaled = [](double v) { // v ≥ 0 in units of 2^−2148
        return cpp_int(accuracy::scaled_value(v)) << static_cast<unsigned>(accuracy::ExactSum::lowest_exponent - unit);
    };
    const auto times = [](const cpp_int& value, double factor) { // rounded up
        return ((value * accuracy::scaled_value(factor)) >> 1074u) + 1;
    };
    const double wide = static_cast<double>(fp::widen(result));
    const cpp_int value = wide < 0 ? cpp_int(-scaled(-wide)) : scaled(wide);
    const cpp_int error = abs(cpp_int(value - oracle.scaled()));
    return error <= times(cpp_int(abs(oracle.scaled())), bound.of_sum) + times(oracle.scaled_abs(), bound.of_abs) +
                        scaled(bound.absolute);
}

TEMPLATE_TEST_CASE("ops: the error of sums of terms is within the documented bound", "[ops]", DETREDUCE_ALL_TYPES) {
    constexpr int most = largest_exponent<TestType> / 2 - 20 > 0 ? largest_exponent<TestType> / 2 - 20 : 2;
    constexpr Scope scope{1 - largest_exponent<TestType>, most, true, false};
    for_some_method<TestType>(true, scope, "bound", [&](auto out, Method method, auto x, auto word) {
        using Out = decltype(out);
        const OpInfo& op = info(some_op(word));
        if (x.empty() || method == Method::exact || op.ending != Ending::sum) return;
        if (sizeof(Out) == 2) return; // may overflow where the sum does not
        const auto pair = pair_of<TestType>(x, word, scope);
        RC_LOG(std::string(op.name) + '\n');
        accuracy::TermOracle oracle(op.term);
        oracle.add(pair.first(), pair.second(op.op));
        const auto bound = accuracy::error_bound(op.op, method, dtype_of<TestType>, dtype_of<Out>, x.size());
        RC_ASSERT(within_op_bound(reduce_pair<Out>(op.op, pair, method, word), oracle, bound));
    });
}

TEMPLATE_TEST_CASE("ops: Cauchy and Schwarz, and the triangle", "[ops]", DETREDUCE_ALL_TYPES) {
    property("inequalities", [] {
        const Scope scope{-10, 5, false, false};
        const Values<TestType> xs = *values<TestType>(scope, lengths<TestType>());
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        if (xs.xs.empty()) return;
        const auto pair = pair_of<TestType>(xs.span(), word, scope);
        const auto reduce = [&](Op op, const Pair<TestType>& p) {
            return reduce_pair<double>(op, p, Method::exact, word);
        };
        const Pair<TestType> other{pair.y, pair.x};
        const double x = reduce(Op::nrm2, pair), y = reduce(Op::nrm2, other);
        // Each number is within half a unit of the last place of the true one.
        constexpr double up = 1 + 0x1p-50;
        RC_ASSERT(std::fabs(reduce(Op::dot, pair)) <= x * y * up);
        RC_ASSERT(std::sqrt(reduce(Op::sumdiffsq, pair)) <= (x + y) * up);
        RC_ASSERT(std::fabs(reduce(Op::sum, pair)) <= reduce(Op::asum, pair));
        RC_ASSERT(x <= reduce(Op::asum, pair) * up);
    });
}

TEST_CASE("ops: norms of huge and tiny numbers", "[ops]") {
    const auto norm = [](std::vector<double> x) {
        return reduce_pair<double>(Op::nrm2, Pair<double>{x, {}}, Method::exact, 1);
    };
    REQUIRE(norm({3e300, 4e300}) == 5e300);
    REQUIRE(norm({3 * 0x1p-1074, 4 * 0x1p-1074}) == 5 * 0x1p-1074);
    REQUIRE(norm({0x1p-1074}) == 0x1p-1074);
    REQUIRE(norm({0x1.fffffffffffffp1023}) == 0x1.fffffffffffffp1023);
    REQUIRE(norm({0x1.fffffffffffffp1023, 0x1p990}) == 0x1.fffffffffffffp1023);
    REQUIRE(std::isinf(norm({0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023})));
    REQUIRE(fp::to_bits(norm({-0.0})) == 0);
    REQUIRE(std::isnan(norm({1, std::nan(""), 1})));
    REQUIRE(std::isinf(norm({1, -INFINITY})));
    const Pair<double> zeros{{-0.0, 0.0}, {1.0, -1.0}};
    REQUIRE(fp::to_bits(reduce_pair<double>(Op::dot, zeros, Method::exact, 1)) == fp::to_bits(-0.0));
    const Pair<double> cancel{{1e200, 1e200}, {1e200, -1e200}};
    REQUIRE(fp::to_bits(reduce_pair<double>(Op::dot, cancel, Method::exact, 1)) == 0);
}

} // namespace detreduce::proptests
