// Laws of exact states, on every backend: a state is a function of the multiset of its elements,
// and the bytes of a normalized one are the same everywhere.
#include "laws/states.hpp"

namespace detreduce::proptests {

TEMPLATE_TEST_CASE("states: the bytes are those of one element after the other", "[exact][sanitizer]",
                   DETREDUCE_ALL_TYPES) {
    property("pieces", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const std::vector<TestType> x = any_vector<TestType>(word);
        ExactState state;
        for (const auto part : parts_of(std::span<const TestType>(x), 1 + word % 4, word))
            add_to(state, part, word);
        RC_ASSERT(same_bytes(state, one_by_one(std::span<const TestType>(x))));
    });
}

TEMPLATE_TEST_CASE("states: however the elements are dealt out, and however the states are merged", "[exact]",
                   DETREDUCE_ALL_TYPES) {
    property("merge", [] {
        const std::size_t most_states = TestBackend::kind == Backend::cuda ? 8 : 64; // a state takes some copies there
        auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        std::vector<TestType> x = any_vector<TestType>(word);
        const ExactState expected = one_by_one(std::span<const TestType>(x));
        accuracy::shuffle(std::span<TestType>(x), word);
        std::vector<ExactState> states;
        for (const auto part : parts_of(std::span<const TestType>(x), 1 + word / 2 % most_states, word))
            add_to(states.emplace_back(), part, word);
        while (states.size() > 1) { // into any other one
            accuracy::shuffle(std::span<ExactState>(states), word += states.size());
            TestBackend::merge(states[states.size() - 2], states.back());
            states.pop_back();
        }
        RC_ASSERT(same_bytes(normalized(states[0]), expected));
    });
}

TEST_CASE("states: elements of all formats in one, rounded to each of them", "[exact][sanitizer]") {
    property("formats", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        ExactState state, host;
        accuracy::ExactSum oracle;
        std::size_t n = 0;
        for (std::uint64_t k = 0; k < 1 + word % 5; ++k) {
            with_dtype_from_16_bits(dtypes()[accuracy::hash(word, k) % 4], [&](auto element) {
                using T = decltype(element);
                const std::vector<T> x = any_vector<T>(accuracy::hash(word, k + 50));
                add_to(state, std::span<const T>(x), word);
                for (const T v : x)
                    host.add(v);
                oracle.add(std::span<const T>(x));
                n += x.size();
            });
        }
        RC_ASSERT(same_bytes(state, normalized(host)));
        RC_ASSERT(state.count() == static_cast<std::int64_t>(n));
        for (const DType output : dtypes()) {
            with_dtype(output, [&](auto out) {
                using Out = decltype(out);
                RC_ASSERT(same_bits(TestBackend::round<Out>(state), oracle.round<Out>()));
                RC_ASSERT(same_bits(TestBackend::round<Out>(host), oracle.round<Out>())); // with carries to do
            });
        }
    });
}

TEST_CASE("states: rounding, with whatever carries to do", "[exact]") {
    property("round", [] {
        const ExactState state = unfinished_state(*rc::gen::arbitrary<std::uint64_t>());
        const accuracy::cpp_int value = limbs_of(state);
        for (const DType output : dtypes()) {
            with_dtype(output, [&](auto out) {
                using Out = decltype(out);
                const Out expected = accuracy::round_scaled<Out>(value, acc::exact::lowest_exponent);
                RC_ASSERT(same_bits(TestBackend::round<Out>(state), expected));
            });
        }
    });
}

TEST_CASE("states: merging those with as many carries to do as there may be wraps no word", "[exact]") {
    property("weight", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        ExactState state = unfinished_state(word);
        accuracy::cpp_int value = limbs_of(state);
        for (std::uint64_t i = 0; i < 6; ++i) { // the same limbs, so that they grow
            const ExactState term = unfinished_state(word, acc::exact::max_weight >> accuracy::hash(word, i) % 3);
            TestBackend::merge(state, term);
            value += limbs_of(term);
            RC_ASSERT(limbs_of(state) == value);
            RC_ASSERT(state.words()[acc::exact::weight] <= acc::exact::max_weight);
        }
        ExactState full = unfinished_state(word);
        const double x = 1.5;
        add_to(full, std::span<const double>(&x, 1), word);
        const accuracy::cpp_int more = accuracy::cpp_int(3) << (-acc::exact::lowest_exponent - 1);
        RC_ASSERT(limbs_of(full) == limbs_of(unfinished_state(word)) + more);
    });
}

} // namespace detreduce::proptests
