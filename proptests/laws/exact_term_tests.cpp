// What bins of terms hold, to the last bit: results are rounded, states are not.
#include <detreduce/states.hpp>

#include "laws/op_pairs.hpp"
#include "laws/window_edges.hpp"

namespace detreduce::proptests {
namespace {

using Words = std::vector<std::int64_t>;

template <class T>
Plan plan_of(Op op, std::size_t n, Isa isa) {
    return make_plan({.op = op,
                      .method = Method::exact,
                      .dtype = dtype_of<T>,
                      .n = n,
                      .device = cpu,
                      .launch = {.threads = 1, .isa = isa},
                      .state = true});
}

/// The state of n elements from `first` on.
template <class T>
Words words_of(Op op, const Pair<T>& pair, std::size_t first, std::size_t n, Isa isa) {
    const Plan plan = plan_of<T>(op, n, isa);
    throw_if_error(plan.status());
    Words words(plan.state_words());
    const T* const y = info(op).inputs == 2 ? pair.y.data() + first : nullptr;
    throw_if_error(run(plan, {pair.x.data() + first, y}, words.data()));
    return words;
}

/// By every instruction set, and three elements at a time, which are fewer than a register takes.
template <class T>
void require_states(const Pair<T>& pair) {
    const std::size_t n = pair.x.size(), few = 3;
    for (const OpInfo& op : sum_ops()) {
        if (op.transform == Transform::element) continue;
        const Plan plan = plan_of<T>(op.op, n, Isa::baseline);
        Words expected = words_of(op.op, pair, 0, few, Isa::baseline);
        for (std::size_t i = few; i < n; i += few) {
            const Words more = words_of(op.op, pair, i, std::min(few, n - i), Isa::baseline);
            throw_if_error(merge(plan, expected.data(), more.data()));
        }
        throw_if_error(normalize(plan, expected.data()));
        for (const Isa isa : available_isas()) {
            INFO(op.name << ' ' << name(isa));
            REQUIRE(words_of(op.op, pair, 0, n, isa) == expected);
        }
    }
}

} // namespace

TEMPLATE_TEST_CASE("exact terms: equal numbers fill bins with equal remainders", "[ops]", float, double) {
    for (std::uint64_t seed = 0; seed < 45; ++seed) {
        INFO("seed " << seed);
        const auto random = [seed](std::uint64_t k, int exponent) {
            return from_fields<TestType>({false, exponent, accuracy::hash(seed, k)});
        };
        // and one, which may be small: it decides how many bins that takes
        const std::size_t n = 4096;
        Pair<TestType> pair{std::vector<TestType>(n, random(0, 3)),
                            std::vector<TestType>(n, random(1, 3 - static_cast<int>(seed % 30)))};
        pair.x[5] = random(2, -static_cast<int>(seed));
        require_states(pair);
    }
}

TEMPLATE_TEST_CASE("exact terms: blocks that grow beyond the window of the one before", "[ops]", float, double) {
    constexpr std::size_t block = 4096, blocks = 3;
    for (int step = 1; step <= 8; ++step) {
        for (const int range : {2, 19}) {
            INFO("step " << step << " range " << range);
            Pair<TestType> pair;
            for (std::size_t k = 0; k < blocks; ++k) {
                const int lowest = static_cast<int>(k) * step - range;
                const auto x = at_both_edges<TestType>(block, lowest, range, block / (1 + k % 2)),
                           y = at_both_edges<TestType>(block, lowest, range, block / 3);
                pair.x.insert(pair.x.end(), x.begin(), x.end());
                pair.y.insert(pair.y.end(), y.begin(), y.end());
            }
            require_states(pair);
        }
    }
}

TEMPLATE_TEST_CASE("exact terms: any range of exponents, zeros and what is beyond every bin", "[ops]", float, double) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        INFO("seed " << seed);
        const std::size_t n = 4096 + seed % 5;
        const int range = 1 + static_cast<int>(seed * 6), top = fp::is_f64<TestType> && seed % 7 == 0 ? -380 : 20;
        Pair<TestType> pair{std::vector<TestType>(n), std::vector<TestType>(n)};
        for (std::size_t i = 0; i < n; ++i) {
            const auto draw = [&](std::uint64_t k) {
                const std::uint64_t word = accuracy::hash(seed * 4 + k, i);
                if (seed % 3 == 0 && word % 5 == 0)
                    return fp::from_bits<TestType>(word % 2 ? fp::sign_mask<TestType> : 0);
                const int exponent = top - static_cast<int>((word >> 8) % static_cast<unsigned>(range));
                return from_fields<TestType>(
                    {word % 2 == 0, std::max(exponent, -largest_exponent<TestType>), word * 0x9e3779b97f4a7c15u});
            };
            pair.x[i] = draw(0);
            pair.y[i] = draw(1);
        }
        if (seed % 8 == 3) { // products are all −0, or all but one
            std::fill(pair.x.begin(), pair.x.end(), fp::from_bits<TestType>(fp::sign_mask<TestType>));
            for (TestType& y : pair.y)
                y = fp::from_bits<TestType>(fp::magnitude_bits(y));
            pair.x[seed] = fp::from_bits<TestType>(seed % 16 == 3 ? fp::sign_mask<TestType> : 0);
        }
        if (seed % 11 == 0) pair.x[seed] = infinity<TestType>;
        if (seed % 13 == 0) pair.y[seed] = quiet_nan<TestType>;
        require_states(pair);
    }
}

} // namespace detreduce::proptests
