// Laws of the ops that count, on every backend.
#include <count_reference.hpp>

#include "laws/ties.hpp"

namespace detreduce::proptests {

template <class T>
std::uint64_t counted(Op op, std::span<const T> x, const Draw& draw = {}, Method method = Method::exact) {
    return TestBackend::results<std::uint64_t>({.op = op, .method = method}, x, draw).at(0);
}

TEMPLATE_TEST_CASE("counts: those of SPEC.md", "[count][sanitizer]", DETREDUCE_ALL_TYPES) {
    property("any bits", [] {
        const Values<TestType> xs = *values<TestType>(any_bits<TestType>, lengths<TestType>());
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const auto methods = offered(true);
        const Method method = methods[accuracy::hash(word, 2) % methods.size()];
        for (const Op op : count_ops)
            RC_ASSERT(counted(op, xs.span(), order_draw(accuracy::hash(word, 4)), method) ==
                      reference::count(op, xs.span()));
    });
}

TEMPLATE_TEST_CASE("counts: ties, NaN with different payloads, zeros of both signs", "[count][sanitizer]",
                   DETREDUCE_ALL_TYPES) {
    const auto require = [](const std::vector<TestType>& x, std::uint64_t seed) {
        const std::span<const TestType> span(x);
        for (const Op op : count_ops) {
            INFO(name(op) << " n " << x.size() << " seed " << seed);
            REQUIRE(counted(op, span, order_draw(seed)) == reference::count(op, span));
        }
    };
    for (std::uint64_t seed = 0; seed < 300; ++seed)
        require(full_of_ties<TestType>(length_from(accuracy::hash(seed, 9), lengths<TestType>()), seed), seed);
    for (const std::size_t n : {std::size_t{300'000}, std::size_t{1'000'003}})
        require(full_of_ties<TestType>(n, n), n);
    // Every pattern of 16 bits at the top, and so all of them in the narrow formats: in some order,
    // some twice.
    std::vector<TestType> all;
    for (std::uint64_t i = 0; i < 100'000; ++i) {
        const std::uint64_t pattern = i * 40'503 % 65'536;
        all.push_back(fp::from_bits<TestType>(static_cast<fp::Bits<TestType>>(pattern << (8 * sizeof(TestType) - 16))));
    }
    for (const std::size_t n : {std::size_t{9}, std::size_t{5000}, all.size()})
        require({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)}, n);
}

TEMPLATE_TEST_CASE("counts: many different values, and one more", "[count]", DETREDUCE_ALL_TYPES) {
    constexpr std::size_t most = fp::has_16_bits<TestType> ? 30'000 : 200'000;
    std::vector<TestType> x(most);
    for (std::size_t i = 0; i < most; ++i) // finite, not zero, all different
        x[i] = fp::from_bits<TestType>(
            static_cast<fp::Bits<TestType>>((i + 1) * (fp::has_16_bits<TestType> ? 1
                                                       : fp::is_f32<TestType>    ? 10'007
                                                                                 : 0x1000'0000'37ull)));
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        accuracy::shuffle(std::span<TestType>(x), seed);
        const std::span<const TestType> span(x);
        REQUIRE(counted(Op::count_unique, span, order_draw(seed)) == most);
        REQUIRE(counted(Op::count_nonzero, span, order_draw(seed)) == most);
        const std::size_t at = accuracy::hash(seed, 1) % most, other = (at + 1 + accuracy::hash(seed, 2) % 9) % most;
        const TestType old = x[at];
        x[at] = x[other];
        REQUIRE(counted(Op::count_unique, span, order_draw(seed)) == most - 1);
        x[at] = number<TestType>(-0.0);
        REQUIRE(counted(Op::count_unique, span, order_draw(seed)) == most);
        REQUIRE(counted(Op::count_nonzero, span, order_draw(seed)) == most - 1);
        x[at] = old;
    }
}

TEMPLATE_TEST_CASE("counts: every launch", "[count]", DETREDUCE_ALL_TYPES) {
    const std::size_t n = 40'000 / sizeof(TestType) * 4 + 3;
    const std::vector<TestType> inputs[] = {full_of_ties<TestType>(n, 8),
                                            vector_from<TestType>(Style::sparse, n, 7, any_bits<TestType>)};
    for (const Op op : count_ops) {
        for (const auto& x : inputs) {
            const std::span<const TestType> span(x);
            const std::uint64_t expected = reference::count(op, span);
            for (const Draw& draw : TestBackend::all_draws(Method::tree)) {
                if (draw.launch.schedule != Schedule::automatic && draw.launch.schedule != Schedule::two_pass) continue;
                INFO(name(op) << " grid " << draw.launch.grid << " block " << draw.launch.block << " threads "
                              << draw.launch.threads << " isa " << name(draw.launch.isa) << " offset " << draw.offset);
                REQUIRE(counted(op, span, draw) == expected);
            }
        }
    }
}

TEMPLATE_TEST_CASE("counts: more ones in a lane than 16 bits count", "[count]", DETREDUCE_ALL_TYPES) {
    const std::vector<TestType> ones((std::size_t{1} << 23) + 5, number<TestType>(1));
    const bool on_cpu = TestBackend::kind == Backend::cpu;
    Draw draw;
    draw.launch.threads = on_cpu ? 1 : 0;
    std::vector<Isa> isas{Isa::automatic};
    if (on_cpu) isas.assign(available_isas().begin(), available_isas().end());
    for (const Isa isa : isas) {
        INFO(name(isa));
        draw.launch.isa = isa;
        REQUIRE(counted(Op::count_nonzero, std::span<const TestType>(ones), draw) == ones.size());
    }
}

TEST_CASE("counts: a few by hand", "[count]") {
    const auto count = [](Op op, std::vector<float> x) { return counted(op, std::span<const float>(x)); };
    const float nan = std::nanf(""), minus_nan = fp::negated(nan), other_nan = fp::from_bits<float>(0x7f800001u);
    REQUIRE(count(Op::count_nonzero, {}) == 0);
    REQUIRE(count(Op::count_unique, {}) == 0);
    REQUIRE(count(Op::count_nonzero, {0.0f, -0.0f}) == 0);
    REQUIRE(count(Op::count_unique, {0.0f, -0.0f}) == 1);
    REQUIRE(count(Op::count_nonzero, {nan, INFINITY, 0x1p-149f, -0.0f}) == 3);
    REQUIRE(count(Op::count_unique, {nan, minus_nan, other_nan}) == 1);
    REQUIRE(count(Op::count_unique, {1, -1, 1, INFINITY, -INFINITY, nan}) == 5);
}

} // namespace detreduce::proptests
