// Laws of mean and variance of rows, columns and segments, by exact, on every backend. Included once a backend, after `TestBackend` has been defined.
#pragma once

#include <detreduce/accuracy/moments_oracle.hpp>

#include "laws/group_laws.hpp"

namespace detreduce::proptests {

inline Op mean_or_variance(std::uint64_t word) {
    constexpr Op ops[] = {Op::variance, Op::stddev, Op::moments};
    return ops[accuracy::hash(word, 65) % std::size(ops)];
}

/// What SPEC.md says of a group: of nothing there is no mean, and of no more elements than ddof no variance.
template <class Out>
void append_moments(const Request& r, const accuracy::MomentsOracle& oracle, std::vector<Out>& to) {
    constexpr auto none = fp::Format<Out>::canonical_nan;
    const std::uint64_t n = oracle.count();
    if (r.op == Op::moments) to.push_back(n == 0 ? fp::from_bits<Out>(none) : oracle.round_mean<Out>());
    to.push_back(n <= r.ddof ? fp::from_bits<Out>(none) : oracle.round_variance<Out>(r.ddof, r.op == Op::stddev));
}

TEMPLATE_TEST_CASE("moments: exact of each group is that of its elements", "[groups][moments][sanitizer]",
                   DETREDUCE_ALL_TYPES) {
    property("exact moments of groups", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const auto cut = cut_from<TestType>(word, any_bits<TestType>);
        Request r = cut.request;
        r.op = mean_or_variance(word);
        r.method = Method::exact;
        r.ddof = accuracy::hash(word, 64) % 3;
        if (r.shape != Shape::segments && r.n <= r.ddof) return;
        with_dtype(some_output(r.method, dtype_of<TestType>, word), [&](auto out) {
            using Out = decltype(out);
            RC_LOG(text_of(cut));
            const auto results = TestBackend::template reduce_groups<Out>(
                r, cut.pair.first(), std::span<const TestType>(), cut.offsets, group_draw(r.method, word));
            const auto each = static_cast<std::size_t>(info(r.op).results);
            RC_ASSERT(results.size() == r.groups * each);
            for (const std::size_t g : some_groups(r.groups)) {
                const std::vector<TestType> group = cut.group(g).x;
                accuracy::MomentsOracle oracle;
                oracle.add(std::span<const TestType>(group));
                std::vector<Out> alone;
                append_moments(r, oracle, alone);
                for (std::size_t i = 0; i < each; ++i)
                    RC_ASSERT(same_bits(results[g * each + i], alone[i]));
            }
        });
    });
}

} // namespace detreduce::proptests
