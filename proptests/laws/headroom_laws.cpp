// The law of the headroom, on every backend: however states are merged, the result is the oracle's,
// or it is beyond. Never another number.
#include "laws/headroom.hpp"

namespace detreduce::proptests {

TEST_CASE("headroom: merges are the oracle's, or beyond", "[exact][sanitizer]") {
    property("trees", [] {
        const auto word = *rc::gen::arbitrary<std::uint64_t>();
        std::vector<UnboundedState> expected;
        std::vector<ExactState> states;
        for (std::uint64_t i = 0; i < 2 + word % 6; ++i) {
            expected.push_back(edge_state(accuracy::hash(word, i)));
            states.push_back(expected.back().state());
        }
        for (std::uint64_t i = 0; states.size() > 1; ++i) {
            const std::uint64_t r = accuracy::hash(word, 100 + i);
            const std::size_t from = states.size() - 1, to = r % from;
            TestBackend::merge(states[to], states[from]);
            expected[to].add(expected[from], 1);
            RC_ASSERT(same_bytes(normalized(states[to]), expected[to].state()));
            RC_ASSERT(fp::is_nan(TestBackend::round<double>(states[to])) ==
                      (expected[to].beyond || states[to].is_nan()));
            states.pop_back();
            expected.pop_back();
        }
    });
}

TEST_CASE("headroom: what is beyond it does not come back by a merge", "[exact]") {
    UnboundedState beyond;
    beyond.beyond = true;
    ExactState count, sum; // not in the one form
    count.words()[acc::exact::elements] = (acc::exact::Word{1} << 62) + 1;
    sum.words()[acc::exact::limbs - 1] = acc::exact::Word{1} << 30;
    sum.words()[acc::exact::weight] = 1;
    for (const ExactState& over : {count, sum, beyond.state()}) {
        ExactState less;
        less.words()[acc::exact::elements] = -1;
        less.words()[acc::exact::limbs - 1] = -1;
        less.words()[acc::exact::weight] = 1;
        ExactState state = over;
        TestBackend::merge(state, less);
        REQUIRE(same_bytes(state, beyond.state()));
        TestBackend::merge(less, over);
        REQUIRE(same_bytes(less, beyond.state()));
    }
}

TEST_CASE("headroom: elements added at the edge, and beyond it", "[exact][sanitizer]") {
    const std::vector<float> x(1000, 1.5f);
    const accuracy::cpp_int most = accuracy::cpp_int(1) << 62;
    for (const int left : {1000, 999, 1, 0}) {
        UnboundedState edge;
        edge.counters[3] = most - left;
        ExactState state = edge.state();
        UnboundedState expected = edge;
        expected.value = accuracy::cpp_int(1500) << 1088;
        expected.counters[3] += 1000;
        expected.check();
        try {
            add_to(state, std::span<const float>(x), static_cast<std::uint64_t>(left));
        } catch (const Error&) { // the host says so at once
            REQUIRE(expected.beyond);
        }
        REQUIRE(same_bytes(state, expected.state()));
        REQUIRE(expected.beyond == (left < 1000));
        if (!expected.beyond) continue;
        try { // and it stays so
            add_to(state, std::span<const float>(x), 5);
        } catch (const Error&) {
            REQUIRE(TestBackend::kind == Backend::cpu);
        }
        REQUIRE(same_bytes(state, expected.state()));
        REQUIRE(same_bits(TestBackend::round<float16>(state), quiet_nan<float16>));
    }
}

} // namespace detreduce::proptests
