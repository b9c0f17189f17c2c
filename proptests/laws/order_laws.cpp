// Laws of the ops that compare, on every backend.
#include <cmath>

#include <order_reference.hpp>

#include "laws/ties.hpp"

namespace detreduce::proptests {

constexpr NanPolicy nan_policies[] = {NanPolicy::propagate, NanPolicy::ignore};

/// The result as bits: those of the element, or the index.
template <class T>
std::uint64_t found_bits(Op op, std::span<const T> x, Method method, DType output, NanPolicy nan, const Draw& draw) {
    if (info(op).gives_integer) return TestBackend::order<std::uint64_t>(op, x, method, nan, draw);
    return with_dtype(output, [&](auto out) -> std::uint64_t {
        return fp::to_bits(TestBackend::order<decltype(out)>(op, x, method, nan, draw));
    });
}
/// What SPEC.md says they are.
template <class T>
std::uint64_t expected_bits(Op op, std::span<const T> x, DType output, NanPolicy nan) {
    if (info(op).gives_integer) return reference::found_by(op, x, nan);
    return with_dtype(
        output, [&](auto out) -> std::uint64_t { return fp::to_bits(reference::order<decltype(out)>(op, x, nan)); });
}

/// Each op with each policy, to some output, with some method and launch.
template <class T>
void require_spec(std::span<const T> x, std::uint64_t word) {
    const auto methods = offered(true);
    for (const OpInfo& op : order_ops()) {
        if (x.empty() && op.op != Op::nrminf) continue;
        for (const NanPolicy nan : nan_policies) {
            const std::uint64_t w =
                accuracy::hash(word, static_cast<std::uint64_t>(op.op) * 2 + (nan == nan_policies[0]));
            const Method method = methods[w % methods.size()];
            const DType output = dtypes()[w / 8 % dtypes().size()];
            INFO(op.name << ' ' << name(nan) << ' ' << name(method) << " to " << name(output) << " n " << x.size());
            REQUIRE(found_bits(op.op, x, method, output, nan, order_draw(w / 32)) ==
                    expected_bits(op.op, x, output, nan));
        }
    }
}

TEMPLATE_TEST_CASE("order: the results are those of SPEC.md", "[order][sanitizer]", DETREDUCE_ALL_TYPES) {
    property("spec", [] {
        const Values<TestType> xs = *values<TestType>(any_bits<TestType>, lengths<TestType>());
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const auto all = order_ops();
        const OpInfo& op = all[word % all.size()];
        const NanPolicy nan = nan_policies[accuracy::hash(word, 1) % 2];
        RC_PRE(!xs.xs.empty() || op.op == Op::nrminf);
        const auto methods = offered(true);
        const Method method = methods[accuracy::hash(word, 2) % methods.size()];
        const DType output = dtypes()[accuracy::hash(word, 3) % dtypes().size()];
        RC_LOG(std::string(op.name) + ' ' + std::string(name(nan)) + " to " + std::string(name(output)) + '\n');
        RC_ASSERT(found_bits(op.op, xs.span(), method, output, nan, order_draw(accuracy::hash(word, 4))) ==
                  expected_bits(op.op, xs.span(), output, nan));
    });
}

TEMPLATE_TEST_CASE("order: ties, NaN, zeros of both signs and infinities", "[order][sanitizer]", DETREDUCE_ALL_TYPES) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        INFO("seed " << seed);
        const std::size_t n = length_from(accuracy::hash(seed, 9), lengths<TestType>());
        require_spec<TestType>(full_of_ties<TestType>(n, seed), seed);
    }
    for (const std::size_t n : {std::size_t{300'000}, std::size_t{1'000'003}})
        require_spec<TestType>(full_of_ties<TestType>(n, n), n);
}

TEMPLATE_TEST_CASE("order: every launch", "[order]", DETREDUCE_ALL_TYPES) {
    const std::size_t n = 40'000 / sizeof(TestType) * 4 + 3;
    const std::vector<TestType> inputs[] = {full_of_ties<TestType>(n, 8),
                                            vector_from<TestType>(Style::stratified, n, 7, any_bits<TestType>)};
    constexpr DType output = dtype_of<TestType>;
    for (std::uint64_t k = 0; k < order_ops().size() * 4; ++k) {
        const OpInfo op = order_ops()[k / 4];
        const NanPolicy nan = nan_policies[k / 2 % 2];
        const std::span<const TestType> x = inputs[k % 2];
        const std::uint64_t expected = expected_bits(op.op, x, output, nan);
        for (const Draw& draw : TestBackend::all_draws(Method::tree)) {
            if (draw.launch.schedule != Schedule::automatic && draw.launch.schedule != Schedule::two_pass) continue;
            INFO(op.name << ' ' << name(nan) << " input " << k % 2 << " grid " << draw.launch.grid << " block "
                         << draw.launch.block << " threads " << draw.launch.threads << " isa " << name(draw.launch.isa)
                         << " offset " << draw.offset);
            REQUIRE(found_bits(op.op, x, Method::exact, output, nan, draw) == expected);
        }
    }
}

TEMPLATE_TEST_CASE("order: what is alone is found wherever it lies, and of two the first", "[order]",
                   DETREDUCE_ALL_TYPES) {
    const std::size_t n = 100'000;
    const TestType one = number<TestType>(1), two = number<TestType>(2);
    std::vector<TestType> x(n, one);
    const auto index = [&](Op op, NanPolicy nan, std::uint64_t word) {
        return TestBackend::order<std::uint64_t>(op, std::span<const TestType>(x), Method::exact, nan,
                                                 order_draw(word));
    };
    for (std::uint64_t k = 0; k < 200; ++k) {
        const std::size_t at = k < 20 ? k : k < 40 ? n - 1 - (k - 20) : accuracy::hash(k, 1) % n;
        const std::size_t behind = at + accuracy::hash(k, 2) % (n - at);
        INFO("at " << at << " and " << behind);
        x[behind] = x[at] = two;
        REQUIRE(index(Op::argmax, NanPolicy::propagate, k) == at);
        x[behind] = x[at] = fp::negated(two);
        REQUIRE(index(Op::argmin, NanPolicy::ignore, k) == at);
        x[behind] = fp::negated(quiet_nan<TestType>); // NaN of any kind are equal
        x[at] = quiet_nan<TestType>;
        REQUIRE(index(k % 2 != 0 ? Op::argmin : Op::argmax, NanPolicy::propagate, k) == at);
        REQUIRE(index(Op::argmax, NanPolicy::ignore, k) == (at != 0 ? 0 : behind != 1 ? 1 : 2));
        x[behind] = x[at] = one;
    }
}

TEMPLATE_TEST_CASE("order: the minimum is the maximum of what is negated", "[order]", DETREDUCE_ALL_TYPES) {
    property("negation", [] {
        const Values<TestType> xs = *values<TestType>(any_bits<TestType>, lengths<TestType>());
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        RC_PRE(!xs.xs.empty());
        std::vector<TestType> negated(xs.xs);
        for (TestType& v : negated)
            v = fp::negated(v);
        const NanPolicy nan = nan_policies[word % 2];
        const auto index = [&](Op op, std::span<const TestType> x, std::uint64_t w) {
            return TestBackend::order<std::uint64_t>(op, x, Method::exact, nan, order_draw(w));
        };
        const auto value = [&](Op op, std::span<const TestType> x, std::uint64_t w) {
            return TestBackend::order<TestType>(op, x, Method::exact, nan, order_draw(w));
        };
        const TestType minimum = value(Op::min, xs.span(), word);
        RC_ASSERT(index(Op::argmin, xs.span(), word) == index(Op::argmax, negated, word / 3));
        RC_ASSERT(same_bits(fp::canonical(fp::negated(minimum)), value(Op::max, negated, word / 5)));
        RC_ASSERT(same_bits(value(Op::nrminf, xs.span(), word), value(Op::nrminf, negated, word / 7)));
        RC_ASSERT(same_bits(minimum, fp::canonical(xs.xs[index(Op::argmin, xs.span(), word)])));
    });
}

TEST_CASE("order: a few by hand", "[order]") {
    const auto value = [](Op op, std::vector<double> x, NanPolicy nan = NanPolicy::propagate) {
        return fp::to_bits(TestBackend::order<double>(op, std::span<const double>(x), Method::exact, nan));
    };
    const auto index = [](Op op, std::vector<double> x, NanPolicy nan = NanPolicy::propagate) {
        return TestBackend::order<std::uint64_t>(op, std::span<const double>(x), Method::exact, nan);
    };
    constexpr double inf = INFINITY;
    const double nan = std::nan(""), minus_nan = fp::negated(nan);
    const std::uint64_t canonical = 0x7ff8000000000000;
    REQUIRE(value(Op::min, {3, -1, 2}) == fp::to_bits(-1.0));
    REQUIRE(value(Op::max, {3, -1, 2}) == fp::to_bits(3.0));
    REQUIRE(value(Op::nrminf, {3, -4, 2}) == fp::to_bits(4.0));
    REQUIRE(value(Op::min, {0.0, -0.0}) == fp::to_bits(-0.0));
    REQUIRE(value(Op::max, {-0.0, 0.0}) == fp::to_bits(0.0));
    REQUIRE(value(Op::max, {-0.0, -0.0}) == fp::to_bits(-0.0));
    REQUIRE(value(Op::nrminf, {-0.0}) == 0);
    REQUIRE(value(Op::nrminf, {}) == 0);
    REQUIRE(value(Op::max, {-inf, -5, -inf}) == fp::to_bits(-5.0));
    REQUIRE(value(Op::max, {-inf}) == fp::to_bits(-inf));
    REQUIRE(value(Op::max, {-inf, nan}, NanPolicy::ignore) == fp::to_bits(-inf));
    REQUIRE(value(Op::min, {inf, minus_nan}, NanPolicy::ignore) == fp::to_bits(inf));
    REQUIRE(value(Op::nrminf, {0, minus_nan}, NanPolicy::ignore) == 0);
    REQUIRE(value(Op::min, {1, minus_nan, -inf}) == canonical);
    REQUIRE(value(Op::nrminf, {inf, minus_nan}) == canonical);
    REQUIRE(value(Op::max, {minus_nan, nan}, NanPolicy::ignore) == canonical);
    REQUIRE(index(Op::argmax, {1, 3, 3, 2}) == 1);
    REQUIRE(index(Op::argmin, {4, 1, 3, 1}) == 1);
    REQUIRE(index(Op::argmax, {-0.0, 0.0, 0.0}) == 1);
    REQUIRE(index(Op::argmin, {0.0, -0.0, -0.0}) == 1);
    REQUIRE(index(Op::argmax, {inf, 1, minus_nan, nan}) == 2);
    REQUIRE(index(Op::argmin, {nan, -inf, 7}, NanPolicy::ignore) == 1);
    REQUIRE(index(Op::argmin, {minus_nan, nan}, NanPolicy::ignore) == 0);
    REQUIRE(index(Op::argmax, {-inf, -inf}) == 0);
}

} // namespace detreduce::proptests
