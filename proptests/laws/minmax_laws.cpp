// Laws of minmax, on every backend: the bits of min and of max.
#include <order_reference.hpp>

#include "laws/ties.hpp"

namespace detreduce::proptests {

/// Both results have the bits that SPEC.md gives to min and max, and those that the backend itself
/// gives.
template <class Out, class T>
bool is_min_and_max(std::span<const T> x, Method method, NanPolicy nan, const Draw& draw, bool ask_the_backend) {
    const auto both =
        TestBackend::results<Out>({.op = Op::minmax, .method = method, .output = dtype_of<Out>, .nan = nan}, x, draw);
    if (both.size() != 2) return false;
    const Op ops[] = {Op::min, Op::max};
    for (int k = 0; k < 2; ++k) {
        if (!same_bits(both[k], reference::order<Out>(ops[k], x, nan))) return false;
        if (ask_the_backend && !same_bits(both[k], TestBackend::order<Out>(ops[k], x, method, nan, draw))) return false;
    }
    return true;
}

TEMPLATE_TEST_CASE("minmax: both results are those of min and max", "[order][minmax][sanitizer]", DETREDUCE_ALL_TYPES) {
    const auto holds = [](std::span<const TestType> x, std::uint64_t word) {
        const auto methods = offered(true);
        const Method method = methods[accuracy::hash(word, 2) % methods.size()];
        const NanPolicy nan = word / 2 % 2 != 0 ? NanPolicy::propagate : NanPolicy::ignore;
        return with_dtype(dtypes()[accuracy::hash(word, 3) % dtypes().size()], [&](auto out) {
            return is_min_and_max<decltype(out)>(x, method, nan, order_draw(accuracy::hash(word, 4)), true);
        });
    };
    property("any bits", [&] {
        const Values<TestType> xs = *values<TestType>(any_bits<TestType>, lengths<TestType>());
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        if (!xs.xs.empty()) RC_ASSERT(holds(xs.span(), word));
    });
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        INFO("seed " << seed);
        const std::size_t n = 1 + length_from(accuracy::hash(seed, 9), lengths<TestType>());
        REQUIRE(holds(full_of_ties<TestType>(n, seed), seed));
    }
    REQUIRE(holds(full_of_ties<TestType>(1'000'003, 5), 5));
}

TEMPLATE_TEST_CASE("minmax: every launch", "[order][minmax]", DETREDUCE_ALL_TYPES) {
    const std::size_t n = 40'000 / sizeof(TestType) * 4 + 3;
    const std::vector<TestType> inputs[] = {full_of_ties<TestType>(n, 8),
                                            vector_from<TestType>(Style::stratified, n, 7, finite_bits<TestType>)};
    for (const Draw& draw : TestBackend::all_draws(Method::tree)) {
        if (draw.launch.schedule != Schedule::automatic && draw.launch.schedule != Schedule::two_pass) continue;
        for (int k = 0; k < 4; ++k) {
            INFO("input " << k % 2 << " grid " << draw.launch.grid << " block " << draw.launch.block << " threads "
                          << draw.launch.threads << " isa " << name(draw.launch.isa) << " offset " << draw.offset);
            REQUIRE(is_min_and_max<TestType>(std::span<const TestType>(inputs[k % 2]), Method::exact,
                                             k < 2 ? NanPolicy::propagate : NanPolicy::ignore, draw, false));
        }
    }
}

TEMPLATE_TEST_CASE("minmax: what is alone is found wherever it lies", "[order][minmax]", DETREDUCE_ALL_TYPES) {
    const std::size_t n = 100'000;
    std::vector<TestType> x(n, number<TestType>(1));
    for (std::uint64_t k = 0; k < 100; ++k) {
        const std::size_t low = accuracy::hash(k, 1) % n, high = k < 20 ? k : accuracy::hash(k, 2) % n;
        if (low == high) continue;
        x[low] = number<TestType>(-3);
        x[high] = number<TestType>(2);
        const auto both =
            TestBackend::results<TestType>({.op = Op::minmax}, std::span<const TestType>(x), order_draw(k));
        REQUIRE(same_bits(both[0], x[low]));
        REQUIRE(same_bits(both[1], x[high]));
        x[low] = x[high] = number<TestType>(1);
    }
}

} // namespace detreduce::proptests
