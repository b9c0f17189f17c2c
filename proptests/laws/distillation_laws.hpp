// Laws of distillation, on every backend. Included once a backend, after `DistillationBackend` has
// been defined, as CosineBackend is for cosine_laws.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include <detreduce/distillation.hpp>
#include <detreduce/host.hpp>

#include <support/bits.hpp>
#include <support/catch.hpp>

#include "laws/expect_status.hpp"
#include "laws/loss_draws.hpp"

namespace detreduce::proptests {

/// Logits of a student and a teacher, in the middle of a matrix.
template <class T>
struct DistillationData {
    std::vector<T> x, y, upstream;
    DistillationData(const DistillationRequest& r, std::uint64_t stride, std::uint64_t seed) {
        for (std::uint64_t i = 0; i < r.rows * stride; ++i) {
            x.push_back(fp::round_to<T>(scattered(seed, i, -4, 4)));
            const double other = scattered(seed + 1, i, -4, 4);
            y.push_back(
                fp::round_to<T>(i / stride % 2 == 1 ? static_cast<double>(fp::widen(x[i])) + other / 256 : other));
        }
        upstream.push_back(fp::round_to<T>(scattered(seed + 2, 0, -3, 3)));
    }
};

/// Section 17.10 of lib/SPEC.md.
template <class T>
struct DistillationReference {
    using V = fp::Arithmetic<T>;
    const DistillationRequest& r;
    std::uint64_t stride;
    [[nodiscard]] double over() const { return r.reduction == Reduction::sum ? 1 : static_cast<double>(r.rows); }

    /// What `op` gives of each row over the temperature.
    [[nodiscard]] std::vector<V> rows_of(RowOp op, const std::vector<T>& x) const {
        std::vector<V> all;
        const RowPlan plan = make_row_plan({.op = op, .dtype = dtype_of<V>, .n = r.n, .device = cpu});
        throw_if_error(plan.status());
        for (std::uint64_t row = 0; row < r.rows; ++row) {
            std::vector<V> logits, out(r.n);
            for (std::uint64_t i = 0; i < r.n; ++i)
                logits.push_back(fp::round_to<V>(static_cast<double>(fp::widen(x[row * stride + i])) / r.temperature));
            throw_if_error(run(plan, {.x = logits.data(), .out = out.data()}));
            all.insert(all.end(), out.begin(), out.end());
        }
        return all;
    }
    [[nodiscard]] double value(const DistillationData<T>& data) const {
        const auto x = rows_of(RowOp::log_softmax, data.x), y = rows_of(RowOp::log_softmax, data.y);
        const auto sum =
            loss_as<double>(Loss::kl_div_log_target, x, y, {}, {.reduction = Reduction::sum, .method = r.method});
        return sum / (over() / (r.temperature * r.temperature));
    }
    [[nodiscard]] std::vector<T> slopes(const DistillationData<T>& data, std::vector<T> into, bool upstream) const {
        const auto x = rows_of(RowOp::softmax, data.x), y = rows_of(RowOp::softmax, data.y);
        const double factor =
            r.temperature / over() * (upstream ? static_cast<double>(fp::widen(data.upstream[0])) : 1);
        for (std::uint64_t i = 0; i < r.rows * r.n; ++i)
            into[i / r.n * stride + i % r.n] =
                fp::round_to<T>((static_cast<double>(x[i]) - static_cast<double>(y[i])) * factor);
        return into;
    }
};

template <class Out, class T>
Out distilled(DistillationRequest r, const DistillationData<T>& data) {
    r.output = dtype_of<Out>;
    const typename DistillationBackend::template Array<T> x(data.x, 1), y(data.y, 2);
    const typename DistillationBackend::template Array<Out> out(std::vector<Out>(1), 3);
    const DistillationPlan plan = make_distillation_plan(r);
    throw_if_error(plan.status());
    const auto workspace = DistillationBackend::memory(plan.workspace_bytes());
    throw_if_error(run(plan, x.data(), y.data(), out.data(), workspace->data()));
    return out.fetched()[0];
}
/// in_place: 1: over x, 2: over y.
template <class T>
std::vector<T> distillation_gradient(const DistillationRequest& r, const DistillationData<T>& data, bool upstream,
                                     unsigned in_place) {
    const typename DistillationBackend::template Array<T> x(data.x, 1), y(data.y, 0), g(data.upstream, 0),
        dx(data.x, 3);
    const DistillationPlan plan = make_distillation_plan(r);
    throw_if_error(plan.status());
    const auto workspace = DistillationBackend::memory(plan.workspace_bytes());
    const auto& to = in_place == 1 ? x : in_place == 2 ? y : dx;
    throw_if_error(run_gradient(plan, x.data(), y.data(), upstream ? g.data() : nullptr, to.data(), workspace->data()));
    return to.fetched();
}

/// check(request, data, stride, word): several shapes, methods and temperatures.
template <class T, class Check>
void for_distillations(const Check& check) {
    constexpr Method list[] = {Method::exact, Method::tree, Method::compensated, Method::kahan};
    constexpr double temperatures[] = {1, 2.3, 0.7, 7};
    std::uint64_t word = 0;
    for (const std::uint64_t n : {1, 3, 40, 1000}) {
        for (const std::uint64_t rows : {1, 5, 33}) {
            const std::uint64_t stride = n + word % 3;
            ++word;
            const DistillationRequest r{.dtype = dtype_of<T>,
                                        .n = n,
                                        .rows = rows,
                                        .stride = stride,
                                        .temperature = temperatures[word / 2 % 4],
                                        .reduction = word % 3 == 0 ? Reduction::sum : Reduction::mean,
                                        .method = list[word % 4],
                                        .device = DistillationBackend::device};
            INFO("n " << n << " rows " << rows << ' ' << name(r.method) << " temperature " << r.temperature);
            check(r, DistillationData<T>(r, stride, word), stride, word);
        }
    }
}

TEMPLATE_TEST_CASE("distillation: values and gradients are those of the text, in place or not", "[distillation]",
                   float16, bfloat16, float, double) {
    using T = TestType;
    for_distillations<T>(
        [](const DistillationRequest& r, const DistillationData<T>& data, std::uint64_t stride, std::uint64_t word) {
            const DistillationReference<T> right{r, stride};
            const double value = right.value(data);
            REQUIRE(fp::to_bits(distilled<double>(r, data)) == fp::to_bits(value));
            REQUIRE(fp::to_bits(distilled<T>(r, data)) == fp::to_bits(fp::round_to<T>(value)));
            const bool upstream = word % 2 == 0;
            const unsigned in_place = word % 3;
            const auto expected = right.slopes(data, in_place == 2 ? data.y : data.x, upstream);
            const auto got = distillation_gradient(r, data, upstream, in_place);
            for (std::size_t i = 0; i < got.size(); ++i)
                REQUIRE(fp::to_bits(got[i]) == fp::to_bits(expected[i]));
        });
}

/// With more digits: the bounds of section 17.10, by exact.
template <class T>
void check_distillation_bounds() {
    using L = long double;
    for_distillations<T>(
        [](DistillationRequest r, const DistillationData<T>& data, std::uint64_t stride, std::uint64_t) {
            r.method = Method::exact;
            const L u = std::is_same_v<T, double> ? 0x1p-53L : 0x1p-24L, t = r.temperature;
            const L over = r.reduction == Reduction::sum ? 1 : static_cast<L>(r.rows);
            const auto slopes = distillation_gradient(r, data, false, 0);
            L loss = 0, error = 0;
            for (std::uint64_t row = 0; row < r.rows; ++row) {
                L maximum = 0;
                const auto logarithms = [&](const std::vector<T>& of) {
                    std::vector<L> p;
                    L sum = 0;
                    for (std::uint64_t i = 0; i < r.n; ++i) {
                        p.push_back(static_cast<L>(fp::widen(of[row * stride + i])) / t);
                        maximum = std::max(maximum, std::fabs(p[i]));
                        sum += std::exp(p[i]);
                    }
                    for (L& v : p)
                        v -= std::log(sum);
                    return p;
                };
                const auto p = logarithms(data.x), q = logarithms(data.y);
                for (std::uint64_t i = 0; i < r.n; ++i) {
                    const L y = std::exp(q[i]), x = std::exp(p[i]),
                            away = u * (2 * maximum + 16 * (1 + std::fabs(p[i]) + std::fabs(q[i])));
                    loss += y * (q[i] - p[i]), error += y * away * (2 + std::fabs(q[i] - p[i]));
                    const L slope = (x - y) * t / over, value = static_cast<L>(fp::widen(slopes[row * stride + i]));
                    const L unit =
                        std::ldexp(L{1}, std::ilogb(std::max(std::fabs(slope), L{0x1p-14})) - fp::Format<T>::precision);
                    INFO("row " << row << " element " << i << ' ' << static_cast<double>(value) << " for "
                                << static_cast<double>(slope));
                    REQUIRE(std::fabs(value - slope) <= unit + t / over * away * (x + y));
                }
            }
            INFO(static_cast<double>(loss * t * t / over));
            REQUIRE(std::fabs(distilled<double>(r, data) - loss * t * t / over) <= error * t * t / over);
        });
}
TEST_CASE("distillation: values and gradients are near the true ones", "[distillation][error]") {
    SECTION("bf16") {
        check_distillation_bounds<bfloat16>();
    }
    SECTION("f32") {
        check_distillation_bounds<float>();
    }
    SECTION("f64") {
        check_distillation_bounds<double>();
    }
}

TEST_CASE("distillation: the order of the rows means nothing by exact, and equal rows cost nothing", "[distillation]") {
    const DistillationRequest r{.n = 50, .rows = 9, .temperature = 3, .device = DistillationBackend::device};
    const DistillationData<float> data(r, 50, 4);
    DistillationData<float> turned = data, same = data;
    for (auto* const of : {&turned.x, &turned.y})
        std::rotate(of->begin(), of->begin() + 200, of->end());
    REQUIRE(fp::to_bits(distilled<float>(r, turned)) == fp::to_bits(distilled<float>(r, data)));
    same.y = same.x;
    REQUIRE(distilled<float>(r, same) == 0);
    for (const float slope : distillation_gradient(r, same, false, 0))
        REQUIRE(slope == 0);
}

TEST_CASE("distillation: special values", "[distillation]") {
    const float inf = infinity<float>, nan = quiet_nan<float>;
    const auto of = [](std::vector<float> x, std::vector<float> y) {
        const DistillationRequest r{.n = x.size(), .device = DistillationBackend::device};
        DistillationData<float> data(r, x.size(), 1);
        data.x = std::move(x), data.y = std::move(y);
        return distilled<float>(r, data);
    };
    REQUIRE(of({0, 0}, {0, -inf}) == std::log(2.0f));
    REQUIRE(of({0, -inf}, {0, 0}) == inf);
    REQUIRE(of({0, -inf}, {0, -inf}) == 0);
    REQUIRE(fp::to_bits(of({nan, 0}, {0, 0})) == fp::to_bits(nan));
    REQUIRE(fp::to_bits(of({inf, 0}, {0, 0})) == fp::to_bits(nan));
    REQUIRE(fp::to_bits(of({-inf, -inf}, {0, 0})) == fp::to_bits(nan));
}

TEST_CASE("distillation: what is wrong is said by name", "[distillation][status]") {
    constexpr auto invalid = StatusCode::invalid_argument;
    const auto status_of = [](DistillationRequest r, std::uint64_t n = 4) {
        r.device = DistillationBackend::device, r.n = n;
        return make_distillation_plan(r).status();
    };
    expect(DistillationPlan().status(), invalid, "plan");
    expect(status_of({.dtype = static_cast<DType>(99)}), invalid, "dtype");
    expect(status_of({.dtype = DType::f8e4m3}), StatusCode::unsupported, "dtype");
    expect(status_of({.output = static_cast<DType>(99)}), invalid, "output");
    expect(status_of({.output = DType::f8e5m2}), StatusCode::unsupported, "output");
    for (const std::uint64_t bad : {std::uint64_t{0}, max_n + 1})
        expect(status_of({}, bad), invalid, "n");
    expect(status_of({.rows = max_groups + 1}), invalid, "rows");
    expect(status_of({.rows = max_groups}), invalid, "rows");
    expect(status_of({.rows = 0}), invalid, "rows");
    expect(status_of({.stride = 3}), invalid, "stride");
    expect(status_of({.rows = 2, .stride = max_extent}), invalid, "stride");
    for (const double bad : {0.0, -1.0, 1e-200, 1e200, infinity<double>, quiet_nan<double>})
        expect(status_of({.temperature = bad}), invalid, "temperature");
    for (const Reduction bad : {Reduction::none, static_cast<Reduction>(9)})
        expect(status_of({.reduction = bad}), invalid, "reduction");
    expect(status_of({.method = static_cast<Method>(99)}), invalid, "method");
    expect(status_of({.method = Method::serial}), StatusCode::unsupported, "method");
    const DistillationPlan plan = make_distillation_plan({.n = 4, .rows = 2, .device = DistillationBackend::device});
    const typename DistillationBackend::template Array<float> array(std::vector<float>(64, 1.0f), 0);
    float* const p = array.data();
    const auto memory = DistillationBackend::memory(plan.workspace_bytes());
    void* const room = memory->data();
    const auto askew = [](void* q) { return static_cast<void*>(static_cast<char*>(q) + 1); };
    expect(run(plan, nullptr, p, p + 32, room), invalid, "x");
    expect(run(plan, p, askew(p), p + 32, room), invalid, "y");
    expect(run(plan, p, p + 8, nullptr, room), invalid, "out");
    expect(run(plan, p, p + 8, askew(p), room), invalid, "out");
    expect(run(plan, p, p + 8, p + 7, room), invalid, "out");
    expect(run(plan, p, p + 8, p + 32, nullptr), invalid, "workspace");
    expect(run(plan, p, room, p + 32, room), invalid, "workspace");
    expect(run(plan, p, p + 8, room, room), invalid, "workspace");
    expect(run_gradient(plan, p, p + 8, askew(p), p + 32, room), invalid, "upstream");
    expect(run_gradient(plan, p, p + 8, nullptr, nullptr, room), invalid, "dx");
    expect(run_gradient(plan, p, p + 8, nullptr, p + 4, room), invalid, "dx");
    expect(run_gradient(plan, p, p + 8, p + 33, p + 32, room), invalid, "dx");
    expect(run_gradient(plan, p, p + 8, nullptr, p + 32, nullptr), invalid, "workspace");
    const DistillationPlan one = make_distillation_plan({.n = 1, .device = DistillationBackend::device});
    expect(run(one, p, p + 8, p, room), invalid, "out");
    expect(run_gradient(one, p, p + 8, p + 16, p + 16, room), invalid, "dx");
    REQUIRE(run_gradient(one, p, p + 8, p + 16, p, room).ok());
    const DistillationPlan none =
        make_distillation_plan({.n = 4, .rows = 0, .reduction = Reduction::sum, .device = DistillationBackend::device});
    REQUIRE(run(none, nullptr, nullptr, p, room).ok());
    REQUIRE(fp::to_bits(array.fetched()[0]) == 0);
    REQUIRE(run_gradient(none, nullptr, nullptr, nullptr, nullptr, room).ok());
}

} // namespace detreduce::proptests
