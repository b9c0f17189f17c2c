// Laws of losses that the oracle decides: how near terms, derivatives and weighted means are to the
// true ones. Included by loss_laws.hpp.
#pragma once

namespace detreduce::proptests {

/// How much further a loss with this parameter may be off.
template <class V>
double more_ulp(const accuracy::LossCase<V>& c) {
    return c.loss == Loss::bce_with_logits && c.parameter != 1 ? max_ulp_of_pos_weight : 0;
}
/// How many of the smallest subnormal an underflow costs: what is multiplied by a pos_weight, or
/// what the power of focal is multiplied by, may be above 1.
template <class V>
double cost_of_underflow(const accuracy::LossCase<V>& c) {
    const auto p = static_cast<double>(c.parameter), x = static_cast<double>(c.x);
    if (c.loss == Loss::focal) return (1 + p) * (1 + magnitude(x));
    return c.loss == Loss::bce_with_logits && p > 1 ? p : 1;
}

TEMPLATE_TEST_CASE("losses: terms are as near to the true ones as the table says", "[losses][error]", float, double) {
    using V = TestType;
    for (const Loss loss : all_losses) {
        loss_property(loss, [loss] {
            const auto seed = *rc::gen::arbitrary<std::uint64_t>();
            LossRequest r{.loss = loss, .reduction = Reduction::none, .parameter = loss_parameter(seed)};
            const auto data = loss_data<V>(loss, 8, seed);
            const auto terms = LossBackend::template run<V>(r, data, seed % 5);
            for (std::size_t i = 0; i < terms.size(); ++i) {
                const accuracy::LossCase<V> c{loss, fp::round_to<V>(r.parameter), data.x[i], data.target[i]};
                const double error = accuracy::term_error_in_ulps(c, terms[i]);
                if (!same_error(error, info(loss).max_ulp + more_ulp(c), terms[i], cost_of_underflow(c)))
                    RC_FAIL(hexadecimal(c.x) + ' ' + hexadecimal(c.t) + " parameter " + hexadecimal(c.parameter) +
                            " gives " + hexadecimal(terms[i]) + ", off by " + std::to_string(error));
            }
        });
    }
}

/// Where a formula's derivative is not that of its central differences: at the floors of bce, and
/// of focal where the difference of targets is larger than a probability.
template <class V>
bool is_bent(Loss loss, LossArgument argument, V x) {
    const auto wide = static_cast<double>(x);
    if (argument == LossArgument::x) return loss == Loss::bce && !(wide > 1e-11 && wide < 1 - 1e-11);
    return loss == Loss::focal && magnitude(wide) > 50;
}
template <class V>
void require_derivatives(Loss loss, LossArgument argument, std::uint64_t seed) {
    LossRequest r{
        .loss = loss, .reduction = Reduction::sum, .parameter = loss_parameter(seed), .with_respect_to = argument};
    const auto data = loss_data<V>(loss, 8, seed);
    const auto slopes = LossBackend::gradient(r, data, std::vector<V>{}, seed % 5);
    const double own = argument == LossArgument::x ? info(loss).max_ulp_gradient : info(loss).max_ulp_target_gradient;
    for (std::size_t i = 0; i < slopes.size(); ++i) {
        const accuracy::LossCase<V> c{loss, fp::round_to<V>(r.parameter), data.x[i], data.target[i]};
        const double bound = own + more_ulp(c);
        if (loss == Loss::kl_div && argument == LossArgument::target && c.t == 0) {
            RC_ASSERT(fp::to_bits(slopes[i]) == fp::to_bits(-infinity<V>));
            continue;
        }
        const double error = accuracy::slope_error_in_ulps(c, slopes[i], argument),
                     other =
                         is_bent(loss, argument, c.x) ? 0 : accuracy::difference_error_in_ulps(c, slopes[i], argument);
        const double underflow = cost_of_underflow(c);
        if (!same_error(error, bound, slopes[i], underflow) || !same_error(other, bound + 1e-6, slopes[i], underflow))
            RC_FAIL(std::string(name(argument)) + ' ' + hexadecimal(c.x) + ' ' + hexadecimal(c.t) + " parameter " +
                    hexadecimal(c.parameter) + " gives " + hexadecimal(slopes[i]) + ", off by " +
                    std::to_string(error) + ", " + std::to_string(other));
    }
}
TEMPLATE_TEST_CASE("losses: derivatives are as near to the true ones as the table says", "[losses][error]", float,
                   double) {
    using V = TestType;
    for (const LossInfo& info : losses) {
        loss_property(info.loss, [&info] {
            const auto seed = *rc::gen::arbitrary<std::uint64_t>();
            require_derivatives<V>(info.loss, LossArgument::x, seed);
            require_derivatives<V>(info.loss, LossArgument::target, seed);
        });
    }
}

/// The true weighted mean, and what its bound is made of.
template <class T>
struct JudgedMean {
    bool over_weights;
    accuracy::TrueLoss mean{};
    accuracy::MeanSizes sizes{};

    JudgedMean(const LossRequest& r, const LossData<T>& data) : over_weights(is_over_weights(r)) {
        using V = TermOf<T>;
        std::vector<accuracy::LossCase<V>> cases;
        std::vector<double> weights;
        for (std::size_t i = 0; i < data.x.size(); ++i) {
            const accuracy::LossCase<V> c{r.loss, fp::round_to<V>(r.parameter), fp::widen(data.x[i]),
                                          fp::widen(data.target[i])};
            const auto term = accuracy::true_loss(c);
            const double value = magnitude(term.high), weight = static_cast<double>(fp::widen(data.weight[i]));
            sizes.losses += weight * value;
            sizes.bounds += accuracy::weighted_term_bound(
                dtype_of<T>, {value, term.size, info(r.loss).max_ulp + more_ulp(c), cost_of_underflow(c), weight});
            sizes.weights += weight;
            cases.push_back(c), weights.push_back(weight);
        }
        if (!over_weights) sizes.weights = divisor_of(r, data);
        mean = accuracy::true_weighted_mean(std::span<const accuracy::LossCase<V>>(cases), weights,
                                            over_weights ? 0 : sizes.weights);
        sizes.mean = mean.size;
    }
};

TEMPLATE_TEST_CASE("losses: weighted means are within their bounds", "[losses][error]", float16, bfloat16, float,
                   double) {
    using T = TestType;
    constexpr std::size_t lengths[] = {1, 33, 700, spec::TreeOrder<sizeof(T)>::tile + 1};
    for (const Loss loss : all_losses) {
        const bool quick = loss == Loss::mse || loss == Loss::mae; // to the oracle
        std::uint64_t checked = 0;
        for (const std::size_t n : std::span(lengths).first(quick ? 4 : 3)) {
            auto data = loss_data<T>(loss, n, n);
            for (T& w : data.weight)
                w = magnitude(w);
            for (const std::uint64_t batch : {0, 7}) {
                LossRequest r{.loss = loss,
                              .reduction = Reduction::mean,
                              .parameter = loss_parameter(n),
                              .weighted = true,
                              .batch = batch};
                const JudgedMean<T> judged(r, data);
                for (const Method method : loss_methods) {
                    r.method = method;
                    for (const DType output : outputs(method, dtype_of<T>)) {
                        INFO(name(loss) << ' ' << name(method) << ' ' << name(output) << " n " << n << " batch "
                                        << batch);
                        with_dtype_from_16_bits(output, [&]<class Out>(Out) {
                            if (judged.mean.size > 0.99 * static_cast<double>(fp::widen(largest<Out>))) return;
                            const auto got = LossBackend::template run<Out>(r, data, n % 5).at(0);
                            const double error = magnitude(judged.mean.high - static_cast<double>(fp::widen(got)) +
                                                           judged.mean.low),
                                         bound = accuracy::weighted_mean_bound(method, dtype_of<T>, output, n,
                                                                               judged.sizes, judged.over_weights);
                            CAPTURE(error, bound, error / bound);
                            REQUIRE(error <= bound);
                            ++checked;
                        });
                    }
                }
            }
        }
        REQUIRE(checked >= 24);
    }
}

} // namespace detreduce::proptests
