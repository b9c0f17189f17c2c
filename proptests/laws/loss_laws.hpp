// Laws of losses, on every backend. Included once a backend, after `LossBackend` has been defined:
//     static constexpr bool has_other_arguments                                                    are there gradients with respect to others than x?
//     static constexpr int cases                                                                  of a property, at most
//     static std::vector<Launch> launches(const LossRequest&)
//     static std::vector<Out> run<Out>(LossRequest, const LossData<T>&, unsigned offset)          request.weighted says whether the weights count
//     static std::vector<T> gradient(LossRequest, const LossData<T>&, const std::vector<T>& upstream (empty: null), unsigned offset)
// which throw Error, and set the request's device, dtype, output and n.
#pragma once

#include <vector>

#include <detreduce/accuracy/loss_oracle.hpp>
#include <detreduce/accuracy/row_bounds.hpp>
#include <detreduce/exact_state.hpp>
#include <detreduce/losses.hpp>
#include <detreduce/math.hpp>
#include <detreduce/spec/tree_order.hpp>
#include <detreduce/transform_reduce.hpp>

#include <loss_reference.hpp>

#include <support/bits.hpp>
#include <support/catch.hpp>
#include <support/property.hpp>

#include "laws/draw.hpp"
#include "laws/expect_status.hpp"
#include "laws/loss_draws.hpp"

namespace detreduce::proptests {

inline constexpr Method loss_methods[] = {Method::exact, Method::compensated, Method::kahan, Method::tree};

template <class Out>
std::vector<fp::Bits<Out>> bits_of(const std::vector<Out>& values) {
    std::vector<fp::Bits<Out>> bits;
    for (const Out v : values)
        bits.push_back(fp::to_bits(v));
    return bits;
}
template <class T>
std::vector<TermOf<T>> widened(const std::vector<T>& x) {
    std::vector<TermOf<T>> wide;
    for (const T v : x)
        wide.push_back(fp::widen(v));
    return wide;
}
template <class Out, class V>
std::vector<Out> rounded(const std::vector<V>& values) {
    std::vector<Out> out;
    for (const V v : values)
        out.push_back(fp::round_to<Out>(v));
    return out;
}

/// The same with another reduction than mean.
inline LossRequest with_reduction(LossRequest r, Reduction reduction) {
    r.reduction = reduction;
    r.batch = 0;
    return r;
}

/// The terms on the CPU, one at a time and without vectors, in the format in which they are added.
template <class T>
std::vector<TermOf<T>> terms_in_full(LossRequest r, const LossData<T>& data) {
    r = with_reduction(r, Reduction::none);
    r.dtype = dtype_of<T>;
    r.output = dtype_of<TermOf<T>>;
    r.n = 1;
    r.device = cpu;
    r.launch = {.threads = 1, .isa = Isa::baseline};
    const LossPlan plan = make_loss_plan(r);
    std::vector<TermOf<T>> terms(data.x.size());
    for (std::size_t i = 0; i < terms.size(); ++i) {
        const T* const weight = r.weighted ? &data.weight[i] : nullptr;
        throw_if_error(run(plan, {&data.x[i], &data.target[i], weight}, &terms[i]));
    }
    return terms;
}

/// Their sum or mean, as transform_reduce() gives it. Of 16-bit elements that must be in the order
/// of such, and the terms are floats: so the elements are the numbers of the terms, of which there
/// are no more than a format has numbers.
template <class T, class Out>
Out reduced(const std::vector<TermOf<T>>& terms, Method method, Finalize finalize) {
    if constexpr (!fp::is_narrow<T>) {
        return reduce_as<Out>(finalize == Finalize::mean ? Op::mean : Op::sum, terms, method);
    } else {
        std::vector<T> numbers;
        for (std::uint32_t b = 0; numbers.size() < terms.size(); ++b) {
            const T number = fp::from_bits<T>(static_cast<std::uint16_t>(b));
            if (!fp::is_nan(number)) numbers.push_back(number);
        }
        std::vector<float> by_bits(1u << 16);
        for (std::size_t i = 0; i < terms.size(); ++i)
            by_bits[fp::to_bits(numbers[i])] = terms[i];
        return transform_reduce_as<Out>([&](float v) { return by_bits[fp::to_bits(fp::round_to<T>(v))]; }, numbers,
                                        {.method = method, .finalize = finalize});
    }
}

/// Lengths around those at which tiles end, of the orders and of the GPU's elementwise kernels.
template <class T>
std::vector<std::size_t> loss_lengths() {
    using Order = spec::TreeOrder<sizeof(T)>;
    return {1, 2, 7, 33, 1023, 1025, Order::chunk - 1, Order::tile, Order::tile + 1, 3 * std::size_t{Order::tile} + 77};
}

template <class T>
bool same_error(double error, double bound, T result, double underflow = 1) {
    // An underflow costs the smallest subnormal, where that is anything: below 2^p times the
    // smallest normal number.
    const bool small = magnitude(static_cast<double>(result)) < (fp::is_f32<T> ? 0x1p-90 : 0x1p-900);
    return error <= bound + (small ? underflow : 0);
}

/// A property of as many cases as the backend has time for.
template <class Testable>
void loss_property(Loss loss, Testable&& testable) {
    auto config = configuration();
    config.testParams.maxSuccess = std::min(config.testParams.maxSuccess, LossBackend::cases);
    const std::string description(name(loss));
    const Outcome outcome =
        run_property(property_id(description), rc::detail::toProperty(std::forward<Testable>(testable)), config);
    if (!outcome.passed) std::cerr << "\n- " << description << '\n' << outcome.message << '\n';
    INFO(description << ": the counterexample is on stderr");
    REQUIRE(outcome.passed);
}

/// Every loss, weighted or not, of several lengths, with a launch and an offset.
template <class T, class Check>
void for_losses(std::uint64_t seed, const Check& check, const std::vector<std::size_t>& lengths = loss_lengths<T>()) {
    for (const Loss loss : all_losses) {
        for (const std::size_t n : lengths) {
            const std::uint64_t word = accuracy::hash(seed, n * 8 + static_cast<std::size_t>(loss));
            LossRequest r{.loss = loss,
                          .reduction = word % 2 ? Reduction::sum : Reduction::mean,
                          .method = loss_methods[word / 2 % 4],
                          .n = n,
                          .parameter = loss_parameter(word / 8),
                          .weighted = word / 64 % 2 == 0};
            if (r.reduction == Reduction::mean && word >> 20 & 1) r.batch = 1 + word / 128 % 11;
            const auto data = loss_data<T>(loss, n, word);
            INFO(name(loss) << ' ' << name(*r.reduction) << ' ' << name(r.method) << " n " << n
                            << (r.weighted ? " weighted" : "") << " parameter " << r.parameter);
            check(r, data, word >> 8);
        }
    }
}
/// A launch that the backend has for the request, by chance.
inline void choose_launch(LossRequest& r, std::uint64_t word) {
    const auto launches = LossBackend::launches(r);
    r.launch = launches[word % launches.size()];
}

template <class T>
void require_terms(LossRequest r, const LossData<T>& data, std::uint64_t word) {
    r = with_reduction(r, Reduction::none);
    choose_launch(r, word);
    const auto terms = terms_in_full<T>(r, data);
    with_dtype_from_16_bits(dtypes()[word / 64 % 4], [&]<class Out>(Out) {
        REQUIRE(bits_of(LossBackend::template run<Out>(r, data, word / 256 % 9)) == bits_of(rounded<Out>(terms)));
    });
}
TEMPLATE_TEST_CASE("losses: terms are the same whatever the launch and wherever the elements lie", "[losses]", float16,
                   bfloat16, float, double) {
    for_losses<TestType>(1, require_terms<TestType>);
}

TEMPLATE_TEST_CASE("losses: those of narrow elements are those of floats, and weights multiply them", "[losses]",
                   float16, bfloat16, float, double) {
    using V = TermOf<TestType>;
    for_losses<TestType>(2, [](LossRequest r, const auto& data, std::uint64_t word) {
        r = with_reduction(r, Reduction::none);
        const auto wide = LossData<V>{widened(data.x), widened(data.target), widened(data.weight)};
        LossRequest plain = r;
        plain.weighted = false;
        auto expected = LossBackend::template run<V>(plain, wide, 0);
        for (std::size_t i = 0; r.weighted && i < expected.size(); ++i)
            expected[i] = fp::canonical(expected[i] * wide.weight[i]);
        REQUIRE(bits_of(LossBackend::template run<V>(r, data, word % 9)) == bits_of(expected));
    });
}

/// Is a mean over the sum of the weights?
inline bool is_over_weights(const LossRequest& r) {
    return r.weighted && (r.loss == Loss::mse || r.loss == Loss::mae) && r.reduction == Reduction::mean && r.batch == 0;
}
/// What a mean is over.
template <class T>
double divisor_of(const LossRequest& r, const LossData<T>& data) {
    if (is_over_weights(r)) return reduce_as<double>(Op::sum, data.weight, r.method);
    return static_cast<double>(r.batch != 0 ? r.batch : data.x.size());
}

template <class T>
void require_sum(LossRequest r, const LossData<T>& data, std::uint64_t word) {
    r.n = data.x.size();
    r.dtype = dtype_of<T>;
    r.device = cpu;
    if (make_loss_plan(r).is_op()) r.weighted = true;
    choose_launch(r, word);
    const auto gives = outputs(r.method, dtype_of<T>);
    const auto terms = terms_in_full<T>(r, data);
    with_dtype_from_16_bits(gives[word / 64 % gives.size()], [&]<class Out>(Out) {
        const auto expected = [&] {
            if (is_over_weights(r) || (r.reduction == Reduction::mean && r.batch != 0))
                return fp::round_to<Out>(reduced<T, double>(terms, r.method, Finalize::sum) / divisor_of(r, data));
            return reduced<T, Out>(terms, r.method, r.reduction == Reduction::mean ? Finalize::mean : Finalize::sum);
        }();
        REQUIRE(bits_of(LossBackend::template run<Out>(r, data, word / 256 % 9)) ==
                bits_of(std::vector<Out>{expected}));
    });
}
TEMPLATE_TEST_CASE("losses: sums and means are those of the terms", "[losses]", float16, bfloat16, float, double) {
    for_losses<TestType>(3, require_sum<TestType>);
}

TEMPLATE_TEST_CASE("losses: mse and mae without weights are ops", "[losses]", float16, float, double) {
    for (const Method method : loss_methods) {
        const auto data = loss_data<TestType>(Loss::mse, 20011, 7);
        const auto check = [&](Loss loss, Reduction reduction, Op op) {
            LossRequest r{.loss = loss, .reduction = reduction, .method = method};
            const auto expected = reduce_as<TestType>(op, data.x, data.target, method);
            INFO(name(op) << ' ' << name(method));
            REQUIRE(bits_of(LossBackend::template run<TestType>(r, data, 3)) ==
                    bits_of(std::vector<TestType>{expected}));
        };
        check(Loss::mse, Reduction::sum, Op::sumdiffsq);
        check(Loss::mse, Reduction::mean, Op::mse);
        check(Loss::mae, Reduction::mean, Op::mae);
        const double sum = reduce_as<double>(Op::sumdiffsq, data.x, data.target, method);
        REQUIRE(bits_of(LossBackend::template run<TestType>({.method = method, .batch = 7}, data, 3)) ==
                bits_of(std::vector<TestType>{fp::round_to<TestType>(sum / 7)}));
    }
}

TEMPLATE_TEST_CASE("losses: exact sums know no order, and grow by micro-batches", "[losses]", bfloat16, float, double) {
    using T = TestType;
    for (const Loss loss : all_losses) {
        loss_property(loss, [loss] {
            const auto seed = *rc::gen::arbitrary<std::uint64_t>();
            const std::size_t n = 1 + seed % 200, cut = accuracy::hash(seed, 1) % n;
            LossRequest r{.loss = loss, .reduction = Reduction::sum, .weighted = true};
            auto data = loss_data<T>(loss, n, seed);
            const auto whole = LossBackend::template run<double>(r, data, 0);
            r.reduction = Reduction::none;
            ExactState state;
            for (const auto& [first, count] : {std::pair{cut, n - cut}, std::pair{std::size_t{0}, cut}}) {
                const auto part = [first = first, count = count](const std::vector<T>& v) {
                    return std::vector<T>(v.begin() + static_cast<std::ptrdiff_t>(first),
                                          v.begin() + static_cast<std::ptrdiff_t>(first + count));
                };
                if (count == 0) continue;
                const auto terms = LossBackend::template run<TermOf<T>>(
                    r, LossData<T>{part(data.x), part(data.target), part(data.weight)}, 1);
                throw_if_error(state.add(std::span<const TermOf<T>>(terms)));
            }
            RC_ASSERT(fp::to_bits(state.round<double>()) == fp::to_bits(whole[0]));
            for (std::vector<T>* v : {&data.x, &data.target, &data.weight})
                std::rotate(v->begin(), v->begin() + static_cast<std::ptrdiff_t>(cut), v->end());
            r.reduction = Reduction::sum;
            RC_ASSERT(bits_of(LossBackend::template run<double>(r, data, 2)) == bits_of(whole));
        });
    }
}

/// With respect to a weight it is the term.
inline LossRequest plain_terms(LossRequest r) {
    r.with_respect_to = LossArgument::x;
    return r;
}
template <class T>
void require_gradient(LossRequest r, const LossData<T>& data, std::uint64_t word) {
    using V = TermOf<T>;
    constexpr LossArgument arguments[] = {LossArgument::x, LossArgument::x, LossArgument::target, LossArgument::weight};
    r.with_respect_to = arguments[word / 4096 % (r.weighted ? 4 : 3)];
    const bool of_weight = r.with_respect_to == LossArgument::weight;
    LossRequest plain = with_reduction(r, Reduction::sum);
    plain.weighted = false;
    const auto wide = LossData<V>{widened(data.x), widened(data.target), widened(data.weight)};
    const auto slopes = of_weight ? terms_in_full<V>(plain_terms(plain), wide)
                                  : LossBackend::gradient(plain, wide, std::vector<V>{}, 0);
    if (word % 3 == 0) r = with_reduction(r, Reduction::none);
    std::vector<T> upstream;
    for (std::size_t i = 0; word % 5 != 0 && i < (r.reduction == Reduction::none ? slopes.size() : 1); ++i)
        upstream.push_back(fp::round_to<T>(scattered(word, i, -3, 3)));
    // With respect to the weights of what is divided by their sum: terms less the mean.
    const V center = of_weight && is_over_weights(r)
                         ? fp::round_to<V>(reduced<T, double>(terms_in_full<T>(r, data), r.method, Finalize::sum) /
                                           divisor_of(r, data))
                         : V(0);
    const V divisor = r.reduction == Reduction::mean ? fp::round_to<V>(divisor_of(r, data)) : V(1);
    std::vector<T> expected;
    for (std::size_t i = 0; i < slopes.size(); ++i) {
        const V factor = upstream.empty() ? V(1) : fp::widen(upstream[upstream.size() == 1 ? 0 : i]);
        const V weighted = r.weighted && !of_weight ? slopes[i] * wide.weight[i] : slopes[i] - center;
        expected.push_back(fp::round_to<T>(weighted * (factor / divisor)));
    }
    choose_launch(r, word / 256);
    REQUIRE(bits_of(LossBackend::gradient(r, data, upstream, word / 64 % 9)) == bits_of(expected));
}
TEMPLATE_TEST_CASE("losses: gradients are slope times weight times factor", "[losses]", float16, bfloat16, float,
                   double) {
    for_losses<TestType>(4, require_gradient<TestType>);
}

/// What instruments that take fifty times as long have time for.
TEMPLATE_TEST_CASE("losses: every kernel, on few elements", "[losses][sanitizer]", float16, bfloat16, float, double) {
    const auto all = [](const LossRequest& r, const LossData<TestType>& data, std::uint64_t word) {
        require_terms(r, data, word);
        require_sum(r, data, word);
        require_gradient(r, data, word);
    };
    for_losses<TestType>(5, all, {1025});
}

} // namespace detreduce::proptests

#include "laws/loss_error_laws.hpp"
#include "laws/loss_golden_laws.hpp"
#include "laws/loss_special_laws.hpp"
