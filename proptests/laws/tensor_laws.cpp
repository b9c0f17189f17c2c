// Laws of lists of tensors, on every backend.
#include <detreduce/accuracy/moments_oracle.hpp>

#include "laws/tensor_lists.hpp"

namespace detreduce::proptests {

/// Whether the values of all, and, if wanted, before them of each, are these, and of the list
/// backwards that of all is the same: nothing, or what is not.
[[nodiscard]] std::string wrong_of_tensors(Request r, TensorLists lists, const std::vector<double>& expected,
                                           std::uint64_t word) {
    r.shape = Shape::tensors;
    r.groups = lists.x.size();
    const Draw draw = group_draw(Method::exact, word);
    const auto results = TestBackend::reduce_tensors<double>(r, lists.x, lists.y, draw);
    const std::string what =
        std::string(name(r.op)) + ' ' + std::to_string(r.groups) + " tensors, n " + std::to_string(r.n);
    if (results.size() != expected.size()) return what + ": number of results";
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (!same_bits(results[i], expected[i])) return what + ": result " + std::to_string(i);
    }
    lists.reverse();
    const auto reversed = TestBackend::reduce_tensors<double>(r, lists.x, lists.y, draw);
    for (std::size_t i = 1; i <= static_cast<std::size_t>(info(r.op).results); ++i) {
        if (!same_bits(reversed[results.size() - i], results[results.size() - i])) return what + ": backwards";
    }
    return "";
}

TEST_CASE("tensors: a list is one array, in any order", "[groups][sanitizer]") {
    property("tensors", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const TensorLists lists = tensors_from(word);
        constexpr Op ops[] = {Op::sum, Op::mean,      Op::asum, Op::sumsq, Op::nrm2,
                              Op::dot, Op::sumdiffsq, Op::mse,  Op::mae};
        Request r{.op = ops[accuracy::hash(word, 62) % std::size(ops)], .n = lists.n()};
        r.each = accuracy::hash(word, 63) % 2 == 0;
        const OpInfo& op = info(r.op);
        accuracy::TermOracle all(op.transform);
        std::vector<double> expected;
        for (std::size_t i = 0; i < lists.x.size(); ++i) {
            accuracy::TermOracle one(op.transform);
            lists.with(i, [&]<class T>(const std::vector<T>& x, const std::vector<T>& y) {
                const auto second = op.inputs == 2 ? std::span<const T>(y) : std::span<const T>();
                all.add(std::span<const T>(x), second);
                one.add(std::span<const T>(x), second);
            });
            const bool no_mean = lists.x[i].n() == 0 && op.finalize == Finalize::mean;
            if (r.each)
                expected.push_back(no_mean ? fp::from_bits<double>(fp::Format<double>::canonical_nan)
                                           : one.round<double>(op.finalize));
        }
        RC_PRE(r.n > 0 || op.finalize != Finalize::mean);
        expected.push_back(all.round<double>(op.finalize));
        const std::string wrong = wrong_of_tensors(r, lists, expected, word);
        RC_LOG(wrong);
        RC_ASSERT(wrong.empty());
    });
}

Op mean_or_variance(std::uint64_t word) {
    constexpr Op ops[] = {Op::variance, Op::stddev, Op::moments};
    return ops[accuracy::hash(word, 65) % std::size(ops)];
}

/// What SPEC.md says of it: of nothing there is no mean, and of no more elements than ddof no
/// variance.
template <class Out>
void append_moments(const Request& r, const accuracy::MomentsOracle& oracle, std::vector<Out>& to) {
    constexpr auto none = fp::Format<Out>::canonical_nan;
    const std::uint64_t n = oracle.count();
    if (r.op == Op::moments) to.push_back(n == 0 ? fp::from_bits<Out>(none) : oracle.round_mean<Out>());
    to.push_back(n <= r.ddof ? fp::from_bits<Out>(none) : oracle.round_variance<Out>(r.ddof, r.op == Op::stddev));
}

[[nodiscard]] std::string wrong_moments_of_tensors(const TensorLists& lists, bool each, std::uint64_t word) {
    Request r{.op = mean_or_variance(word), .n = lists.n()};
    r.each = each;
    r.ddof = accuracy::hash(word, 64) % 3 % r.n;
    accuracy::MomentsOracle all;
    std::vector<double> expected;
    for (std::size_t i = 0; i < lists.x.size(); ++i) {
        accuracy::MomentsOracle one;
        lists.with(i, [&]<class T>(const std::vector<T>& x, const std::vector<T>&) {
            all.add(std::span<const T>(x));
            one.add(std::span<const T>(x));
        });
        if (each) append_moments(r, one, expected);
    }
    append_moments(r, all, expected);
    return wrong_of_tensors(r, lists, expected, word);
}

TEST_CASE("tensors: mean and variance of a list", "[groups][moments][sanitizer]") {
    property("moments of tensors", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const TensorLists lists = tensors_from(word);
        RC_PRE(lists.n() > 0);
        const std::string wrong = wrong_moments_of_tensors(lists, accuracy::hash(word, 63) % 2 == 0, word);
        RC_LOG(wrong);
        RC_ASSERT(wrong.empty());
    });
}

/// More than go to a device at a time, three times over, of one dtype (word % 3 == 0) and of all.
TEST_CASE("tensors: mean and variance of thousands", "[groups][moments]") {
    for (const std::uint64_t word : {0u, 1u, 2u, 3u})
        REQUIRE(wrong_moments_of_tensors(tensors_from(word, 3001), word < 2, word) == "");
}

} // namespace detreduce::proptests
