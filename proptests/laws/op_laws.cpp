// Laws of the ops, on every backend.
#include <detreduce/accuracy/bounds.hpp>
#include <detreduce/accuracy/generators.hpp>

#include "laws/extremes.hpp"
#include "laws/op_pairs.hpp"
#include "laws/window_edges.hpp"

namespace detreduce::proptests {

TEMPLATE_TEST_CASE("ops: the bits are those of SPEC.md for every op and method", "[ops][sanitizer]",
                   DETREDUCE_ALL_TYPES) {
    const auto some = [](auto word) { // exact always, and one of the others
        const auto all = offered(true);
        return std::vector<Method>{Method::exact, all[accuracy::hash(word, 2) % all.size()]};
    };
    for_methods<TestType>(some, any_bits<TestType>, "spec", [](auto out, Method method, auto x, auto word) {
        using Out = decltype(out);
        RC_PRE(!x.empty());
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
                    with_dtype_from_16_bits(output, [&](auto out) {
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
                with_dtype_from_16_bits(
                    some_output(Method::exact, dtype_of<TestType>, seed + static_cast<std::uint64_t>(kind)),
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

/// Rows, and columns, of each range, in any order. Large terms of both signs cancel; differences
/// are twice as large as their elements. Of a few elements the last bits of the smallest terms are
/// in the result where nothing cancels, too; `tiny`: some of those have products that are no normal
/// numbers. `alike`: so many neighbours have the same range, 2, as columns of 16 bits are added up
/// by twos, or more, and then of ranges about that of one bin.
template <class T>
void check_window_edges(const OpInfo& op, std::size_t n, bool tiny, std::size_t alike = 2) {
    constexpr std::size_t ranges = widest_range<T> + 1, first_of_some = 6, some = 12;
    const bool all_ranges = alike == 2;
    const std::size_t groups = alike * (!all_ranges ? some : n < 100 ? 2 * ranges : ranges);
    const bool cancel = op.transform == Transform::element || op.transform == Transform::product;
    Pair<T> rows, columns{std::vector<T>(n * groups), std::vector<T>(n * groups)};
    std::vector<double> of_groups;
    for (std::size_t g = 0; g < groups; ++g) {
        const auto range = static_cast<int>(all_ranges ? g / alike * 89 % ranges : first_of_some + g / alike);
        const int lowest = tiny ? std::max(-largest_exponent<T> / 2 - 8, -largest_exponent<T>) : middle_of<T>(range);
        const Pair<T> group{
            at_both_edges<T>(n, lowest, std::min(range, largest_exponent<T> - lowest), cancel ? n / 2 : n),
            at_both_edges<T>(n, lowest, std::min(range, largest_exponent<T> - lowest), cancel ? n : 0)};
        rows.x.insert(rows.x.end(), group.x.begin(), group.x.end());
        rows.y.insert(rows.y.end(), group.y.begin(), group.y.end());
        for (std::size_t i = 0; i < n; ++i) {
            columns.x[i * groups + g] = group.x[i];
            columns.y[i * groups + g] = group.y[i];
        }
        of_groups.push_back(expected<double>(op.op, group, Method::exact));
    }
    Draw few_warps; // each has many rows
    if (TestBackend::kind == Backend::cuda) few_warps.launch.grid = 1;
    for (const Shape shape : {Shape::rows, Shape::columns}) {
        const Pair<T>& all = shape == Shape::rows ? rows : columns;
        const Request r{.op = op.op, .method = Method::exact, .shape = shape, .n = n, .groups = groups};
        const auto results = TestBackend::reduce_groups<double>(r, all.first(), all.second(op.op), {}, few_warps);
        for (std::size_t g = 0; g < groups; ++g) {
            INFO(op.name << ' ' << name(shape) << " n " << n << " group " << g);
            REQUIRE(same_bits(results[g], of_groups[g]));
        }
    }
}
TEMPLATE_TEST_CASE("ops: as many numbers at both edges of a window as there may be", "[ops]", DETREDUCE_ALL_TYPES) {
    for (const OpInfo& op : sum_ops()) {
        for (const std::size_t n : {4, 40, 2400})
            check_window_edges<TestType>(op, n, false);
        check_window_edges<TestType>(op, 40, true);
        check_window_edges<TestType>(op, 40, false, 64); // a warp's columns
    }
}

/// What is lost decides, however little it is: 259 is as far from 258 as from 260, and 257
/// from 256.
TEST_CASE("ops: the error of a sum decides a tie, with either sign", "[ops]") {
    for (const Method method : {Method::kahan, Method::compensated}) {
        const auto sum_of = [method](double a, double b, double c) {
            const bfloat16 x[] = {number<bfloat16>(a), number<bfloat16>(b), number<bfloat16>(c)};
            return static_cast<double>(TestBackend::reduce<bfloat16>(std::span<const bfloat16>(x), method));
        };
        INFO(name(method));
        REQUIRE(sum_of(256, 3, 0) == 260);
        REQUIRE(sum_of(256, 3, -0x1p-100) == 258);
        REQUIRE(sum_of(-256, -3, 0x1p-100) == -258);
        REQUIRE(sum_of(256, 1, 0) == 256);
        REQUIRE(sum_of(256, 1, 0x1p-100) == 258);
        REQUIRE(sum_of(-256, -1, -0x1p-100) == -258);
    }
}

TEMPLATE_TEST_CASE("ops: exact does not care about the order", "[ops]", DETREDUCE_ALL_TYPES) {
    property("permutation", [] {
        const Values<TestType> xs = *values<TestType>(any_bits<TestType>, lengths<TestType>());
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        RC_PRE(!xs.xs.empty());
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

/// Is the result r as near to that of the true sum s as SPEC.md, section 8.3, and the rounding at
/// the end allow? E is what s may be off before that rounding, u and η are the output's unit
/// roundoff and smallest number; a quotient and a root are rounded once, with far less than u/1000
/// besides.
///     |r − s| ≤ E + u·|s|      a mean: |n·r − s| ≤ (1 + u)·E + u·|s| + n·η      a root: |r² − s| ≤ (1 + u)²·E + (2u + u²)·|s| + η·(2r + η)
/// Decided in integers, in units of 2^−2148.
template <class Out>
bool within_op_bound(Out result, const OpInfo& op, std::uint64_t n, const accuracy::TermOracle& oracle,
                     const accuracy::ErrorBound& bound) {
    using accuracy::cpp_int;
    static constexpr unsigned places = 1074;
    const auto scaled = [](double v) { return cpp_int(accuracy::scaled_value(v)) << places; };
    const auto times = [](const cpp_int& value, double factor) { // rounded up
        return cpp_int(((value * accuracy::scaled_value(factor)) >> places) + 1);
    };
    const double r = static_cast<double>(fp::widen(result)),
                 smallest_out = static_cast<double>(fp::widen(smallest<Out>)),
                 u = 1.001 * std::ldexp(1.0, -fp::Format<Out>::precision);
    const cpp_int sum = oracle.scaled(), size = abs(sum);
    const cpp_int error = times(oracle.scaled_abs(), bound.of_abs) + scaled(bound.absolute);
    switch (op.finalize) {
    case Finalize::sum:
        return abs(cpp_int(scaled(r) - sum)) <= times(size, bound.of_sum) + error;
    case Finalize::mean:
        return abs(cpp_int(scaled(r) * n - sum)) <= times(error, 1 + u) + times(size, u) + scaled(smallest_out) * n;
    case Finalize::root:
        break;
    }
    const cpp_int root = accuracy::scaled_value(r), eta = accuracy::scaled_value(smallest_out);
    return r >= 0 && abs(cpp_int(root * root - sum)) <=
                         times(error, (1 + u) * (1 + u)) + times(size, (2 + u) * u) + eta * (2 * root + eta);
}

TEMPLATE_TEST_CASE("ops: the error of every op is within the documented bound", "[ops]", DETREDUCE_ALL_TYPES) {
    constexpr int most = largest_exponent<TestType> / 2 - 20 > 0 ? largest_exponent<TestType> / 2 - 20 : 2;
    constexpr Scope scope{1 - largest_exponent<TestType>, most, true, false};
    std::map<std::pair<Op, DType>, int> checked;
    for_some_method<TestType>(true, scope, "bound", [&](auto out, Method method, auto x, auto word) {
        using Out = decltype(out);
        const OpInfo& op = info(some_op(word));
        RC_PRE(!x.empty());
        const auto pair = pair_of<TestType>(x, word, scope);
        RC_LOG(std::string(op.name) + '\n');
        accuracy::TermOracle oracle(op.transform);
        oracle.add(pair.first(), pair.second(op.op));
        // A narrow output may overflow where the sum does not.
        RC_PRE(std::fabs(oracle.round<double>(op.finalize)) < static_cast<double>(fp::widen(largest<Out>)) / 2);
        const auto bound = accuracy::error_bound(op.op, method, dtype_of<TestType>, dtype_of<Out>, x.size());
        RC_ASSERT(within_op_bound(reduce_pair<Out>(op.op, pair, method, word), op, x.size(), oracle, bound));
        ++checked[{op.op, dtype_of<Out>}];
    });
    int cases = 0;
    for (const auto& [key, count] : checked)
        cases += count;
    if (cases < 1000) return; // fewer were asked for
    for (const OpInfo& op : sum_ops()) {
        for (const DType output : outputs(Method::tree, dtype_of<TestType>)) {
            INFO(op.name << " to " << name(output) << " of " << cases);
            REQUIRE(checked[{op.op, output}] > 0);
        }
    }
}

TEMPLATE_TEST_CASE("ops: Cauchy and Schwarz, and the triangle", "[ops]", DETREDUCE_ALL_TYPES) {
    property("inequalities", [] {
        const Scope scope{-10, 5, false, false};
        const Values<TestType> xs = *values<TestType>(scope, lengths<TestType>());
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        RC_PRE(!xs.xs.empty());
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
    // 2^128 + 2^76 + 2^22 + 2: its root is just above a tie, by what the last 2 alone says.
    REQUIRE(norm({0x1p64, 0x1p38, 0x1p11, 1, 1}) == 0x1.0000000000001p64);
    REQUIRE(norm({0x1p64, 0x1p38, 0x1p11, 2}) == 0x1.0000000000001p64); // what the integer root leaves says it
    REQUIRE(norm({0x1p64, 0x1p38, 0x1p11}) == 0x1p64);
}

TEMPLATE_TEST_CASE("ops: what does not differ at all is +0 apart", "[ops]", DETREDUCE_ALL_TYPES) {
    const auto numbers = [](std::initializer_list<double> x) {
        std::vector<TestType> to;
        for (const double v : x)
            to.push_back(number<TestType>(v));
        return to;
    };
    for (const auto& x : {numbers({-0.0, -0.0}), numbers({1, 2, 3}), numbers({-3}), numbers({0, -0.0}),
                          std::vector<TestType>(5000, number<TestType>(-0.0))}) {
        for (const Op op : {Op::sumdiffsq, Op::mse, Op::mae}) {
            for (const Method method : offered(true)) {
                INFO(name(op) << ' ' << name(method) << " n " << x.size());
                REQUIRE(fp::to_bits(reduce_pair<double>(op, Pair<TestType>{x, x}, method, 1)) == 0);
            }
        }
    }
}

TEST_CASE("ops: means next to a tie", "[ops]") {
    const auto mean = [](std::vector<double> x) {
        return reduce_pair<double>(Op::mean, Pair<double>{x, {}}, Method::exact, 1);
    };
    REQUIRE(mean({3, 3 * 0x1p-53, 0}) == 1);
    for (int below = 60; below < 200; ++below) { // what the division leaves says it, or a limb further down
        INFO(below);
        REQUIRE(mean({3, 3 * 0x1p-53, std::ldexp(1.0, -below)}) == 0x1.0000000000001p0);
        REQUIRE(mean({3, 3 * 0x1p-53, -std::ldexp(1.0, -below)}) == 1);
    }
}

/// Products near 2^−1000, of which errors are lost where they are not scaled first, and near
/// 2^−900, where that begins: each with its rounded self taken away, so that errors are all that
/// remains.
TEST_CASE("ops: exact products where their errors begin to underflow", "[ops]") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const std::size_t n = 2 * (1 + accuracy::hash(seed, 1) % 2000);
        const int low = seed % 2 == 0 ? -1000 : -910;
        Pair<double> pair{std::vector<double>(n), std::vector<double>(n)};
        for (std::size_t i = 0; i < n; i += 2) {
            const int exponent = low + static_cast<int>(accuracy::hash(seed, 10 + i) % 20),
                      of_x = -static_cast<int>(accuracy::hash(seed, 11 + i) % 600);
            pair.x[i] = from_fields<double>({i % 4 == 0, of_x, accuracy::hash(seed + 1000, i)});
            pair.y[i] = from_fields<double>({false, exponent - of_x, accuracy::hash(seed + 2000, i)});
            pair.x[i + 1] = -(pair.x[i] * pair.y[i]) * 0x1p500;
            pair.y[i + 1] = 0x1p-500;
        }
        INFO("seed " << seed << " n " << n);
        REQUIRE(same_bits(reduce_pair<double>(Op::dot, pair, Method::exact, seed),
                          expected<double>(Op::dot, pair, Method::exact)));
    }
}

} // namespace detreduce::proptests
