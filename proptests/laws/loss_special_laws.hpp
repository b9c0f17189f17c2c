// Laws of losses with bits that are known: special values, what the text gives, and nothing at all.
// Included by loss_laws.hpp.
#pragma once

namespace detreduce::proptests {

/// A term and a derivative with bits that are known, of V.
template <class V>
struct KnownLoss {
    Loss loss;
    V x, t, term, slope;
    double parameter = 1;
};

template <class V>
std::vector<KnownLoss<V>> known_losses() {
    constexpr V inf = infinity<V>, nan = quiet_nan<V>, big = fp::is_f32<V> ? V(0x1p100) : V(0x1p900);
    const V tiny = smallest<V>;
    const auto soft = [](V a) { return reference::LossReference<V>{Loss::bce_with_logits, 1, a, 0}.soft(); };
    using enum Loss;
    return {
        {mse, 3, 1, 4, 4},
        {mse, 1, 1, 0, 0},
        {mse, -inf, 1, inf, -inf},
        {mse, inf, inf, nan, nan},
        {mse, nan, 0, nan, nan},
        {mse, big, 0, inf, 2 * big},
        {mae, -3, 1, 4, -1},
        {mae, 2, 2, 0, 0},
        {mae, V(-0.0), 0, 0, 0},
        {mae, 0, nan, nan, nan},
        {mae, inf, 0, inf, 1},
        {huber, 1, 0, V(0.5), 1},
        {huber, 3, 0, V(2.5), 1},
        {huber, -3, 0, 4, -2, 2},
        {huber, -inf, 0, inf, -1},
        {huber, nan, 0, nan, nan},
        {smooth_l1, 1, 0, V(0.5), 1},
        {smooth_l1, V(0.5), 0, V(0.125), V(0.5)},
        {smooth_l1, -4, 0, 3, -1, 2},
        {smooth_l1, -4, 0, 4, -1, 0},
        {smooth_l1, 1, 1, 0, 0, 0},
        {smooth_l1, 0, nan, nan, nan},
        {bce, 0, 0, 0, 0},
        {bce, 1, 1, 0, 0},
        {bce, 0, 1, 100, -1 / V(1e-12)},
        {bce, 1, 0, 100, 1 / V(1e-12)},
        {bce, V(-0.0), 1, 100, -1 / V(1e-12)},
        {bce, -tiny, 1, nan, nan},
        {bce, next_up(V(1)), 0, nan, nan},
        {bce, nan, 0, nan, nan},
        {bce, V(0.5), nan, nan, nan},
        {bce_with_logits, inf, 1, 0, 0},
        {bce_with_logits, inf, 0, inf, 1},
        {bce_with_logits, -inf, 0, 0, 0},
        {bce_with_logits, -inf, 1, inf, -1},
        {bce_with_logits, inf, V(0.5), inf, V(0.5)},
        {bce_with_logits, big, 1, 0, 0},
        {bce_with_logits, big, 0, big, 1},
        {bce_with_logits, -big, 1, big, -1},
        {bce_with_logits, 0, V(0.5), soft(0), 0},
        {bce_with_logits, 40, 1, soft(40), -math::sigmoid(V(-40))},
        {bce_with_logits, -40, 0, soft(40), math::sigmoid(V(-40))},
        {bce_with_logits, nan, 0, nan, nan},
        {bce_with_logits, 0, nan, nan, nan},
        {bce_with_logits, 0, 1, 3 * soft(0), V(-1.5), 3},
        {bce_with_logits, inf, 1, 0, 0, 3},
        {bce_with_logits, -inf, 1, inf, -3, 3},
        {bce_with_logits, inf, 0, inf, 1, 3},
        {bce_with_logits, -inf, 1, 0, 0, 0},
        {kl_div, -1, 1, 1, -1},
        {kl_div, -inf, 0, 0, 0},
        {kl_div, inf, 0, 0, 0},
        {kl_div, -inf, 1, inf, -1},
        {kl_div, 5, V(-0.0), 0, 0},
        {kl_div, -1, -tiny, nan, nan},
        {kl_div, nan, 0, nan, nan},
        {kl_div, -1, nan, nan, nan},
        {kl_div_log_target, -1, 0, 1, -1},
        {kl_div_log_target, -inf, 0, inf, -1},
        {kl_div_log_target, -inf, -inf, 0, 0},
        {kl_div_log_target, 5, -inf, 0, 0},
        {kl_div_log_target, nan, -inf, nan, nan},
        {kl_div_log_target, -1, nan, nan, nan},
        {focal, 0, 1, V(0.25) * soft(0), V(-0.25) * (soft(0) + V(0.5)), 2},
        {focal, 2, 1, soft(2), -math::sigmoid(V(-2)), 0},
        {focal, inf, 1, 0, 0, 2},
        {focal, -inf, 1, inf, -1, 2},
        {focal, -inf, 0, 0, 0, 2},
        {focal, nan, 0, nan, nan, 2},
        {focal, 0, nan, nan, nan, 0},
    };
}

TEMPLATE_TEST_CASE("losses: special values", "[losses]", float, double) {
    using V = TestType;
    for (const KnownLoss<V>& known : known_losses<V>()) {
        // Alone, and nine times over, so that vectors and tails both see it.
        for (const std::size_t n : {std::size_t{1}, std::size_t{9}}) {
            LossRequest r{.loss = known.loss, .reduction = Reduction::none, .parameter = known.parameter};
            const LossData<V> data{std::vector<V>(n, known.x), std::vector<V>(n, known.t), {}};
            INFO(name(known.loss) << ' ' << hexadecimal(known.x) << ' ' << hexadecimal(known.t) << " n " << n);
            REQUIRE(bits_of(LossBackend::template run<V>(r, data, 1)) == bits_of(std::vector<V>(n, known.term)));
            REQUIRE(bits_of(LossBackend::gradient(r, data, std::vector<V>{}, 1)) ==
                    bits_of(std::vector<V>(n, known.slope)));
        }
    }
}

/// Of any bits, and of what the loss is for, with parameters that are treated on their own among
/// others.
template <class V>
void require_reference(Loss loss, std::uint64_t seed) {
    constexpr double parameters[] = {1, 2, 3, 0.375, 0x1p-20};
    LossRequest r{.loss = loss, .reduction = Reduction::none, .parameter = parameters[seed % std::size(parameters)]};
    LossData<V> data = loss_data<V>(loss, 24, seed);
    for (std::size_t i = 0; i < data.x.size(); i += 3) {
        data.x[i] = number_from<V>(accuracy::hash(seed, i), any_bits<V>);
        if (i % 2 == 1) data.target[i] = number_from<V>(accuracy::hash(~seed, i), any_bits<V>);
    }
    const auto terms = LossBackend::template run<V>(r, data, seed % 5);
    const auto slopes = LossBackend::gradient(r, data, std::vector<V>{}, seed % 5);
    r.with_respect_to = LossArgument::target;
    const auto target_slopes = LossBackend::gradient(r, data, std::vector<V>{}, seed % 5);
    for (std::size_t i = 0; i < terms.size(); ++i) {
        const reference::LossReference<V> right{loss, static_cast<V>(r.parameter), data.x[i], data.target[i]};
        const auto same = [](V value, V expected) {
            return fp::to_bits(value) == fp::to_bits(fp::canonical(expected));
        };
        if (!same(terms[i], right.term()) || !same(slopes[i], right.slope()) ||
            !same(target_slopes[i], right.target_slope()))
            RC_FAIL(hexadecimal(right.x) + ' ' + hexadecimal(right.t) + " parameter " + hexadecimal(right.p) + ": " +
                    hexadecimal(terms[i]) + ' ' + hexadecimal(slopes[i]) + ' ' + hexadecimal(target_slopes[i]) +
                    ", by the text " + hexadecimal(right.term()) + ' ' + hexadecimal(right.slope()) + ' ' +
                    hexadecimal(right.target_slope()));
    }
}
TEMPLATE_TEST_CASE("losses: terms and derivatives are those of the text", "[losses]", float, double) {
    using V = TestType;
    for (const Loss loss : all_losses)
        loss_property(loss, [loss] { require_reference<V>(loss, *rc::gen::arbitrary<std::uint64_t>()); });
}

TEMPLATE_TEST_CASE("losses: of any bits, NaN comes of NaN and of what is no probability", "[losses]", float, double) {
    using V = TestType;
    for (const Loss loss : all_losses) {
        loss_property(loss, [loss](std::uint64_t seed) {
            const Values<V> xs = *values<V>(any_bits<V>, {1, 2, 100});
            LossRequest r{.loss = loss, .reduction = Reduction::none};
            LossData<V> data{xs.xs, xs.xs, {}};
            for (std::size_t i = 0; i < xs.size(); ++i) {
                // Of kl_div any number, so that there are targets below 0.
                const bool any = info(loss).target == LossDomain::number || loss == Loss::kl_div;
                data.target[i] = any ? number_from<V>(accuracy::hash(seed, i), finite_bits<V>)
                                     : static_cast<V>(drawn(info(loss).target, seed, i, -60));
            }
            RC_PRE(xs.size() > 0);
            const auto terms = LossBackend::template run<V>(r, data, 0);
            const auto slopes = LossBackend::gradient(r, data, std::vector<V>{}, 0);
            for (std::size_t i = 0; i < xs.size(); ++i) {
                const V x = data.x[i], t = data.target[i];
                const bool nan =
                    fp::is_nan(x) || (loss == Loss::bce && !(x >= 0 && x <= 1)) || (loss == Loss::kl_div && t < 0);
                RC_ASSERT(fp::is_nan(terms[i]) == nan);
                RC_ASSERT(fp::is_nan(slopes[i]) == nan);
                RC_ASSERT(!nan || fp::to_bits(terms[i]) == fp::to_bits(quiet_nan<V>));
                RC_ASSERT(!nan || fp::to_bits(slopes[i]) == fp::to_bits(quiet_nan<V>));
            }
        });
    }
}

TEMPLATE_TEST_CASE("losses: of nothing", "[losses]", float16, double) {
    for (const Loss loss : all_losses) {
        for (const bool weighted : {false, true}) {
            LossRequest r{.loss = loss, .reduction = Reduction::sum, .weighted = weighted};
            REQUIRE(bits_of(LossBackend::template run<TestType>(r, LossData<TestType>{}, 0)) ==
                    bits_of(std::vector<TestType>(1, fp::round_to<TestType>(0.0))));
            REQUIRE(LossBackend::gradient(r, LossData<TestType>{}, std::vector<TestType>{}, 0).empty());
            r.reduction = Reduction::none;
            REQUIRE(LossBackend::template run<TestType>(r, LossData<TestType>{}, 0).empty());
        }
    }
}

} // namespace detreduce::proptests
