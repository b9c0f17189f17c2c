// Laws of group_norm and batch_norm, on every backend. Included once a backend, after `NormBackend`
// has been defined, as CosineBackend is for cosine_laws.hpp.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include <detreduce/channel_norm.hpp>
#include <detreduce/host.hpp>

#include <support/bits.hpp>
#include <support/catch.hpp>

#include "laws/channel_norm_reference.hpp"
#include "laws/expect_status.hpp"
#include "laws/loss_draws.hpp"

namespace detreduce::proptests {

template <class T>
using NormArray = typename NormBackend::template Array<T>;

/// in_place: out is x.
template <class T, class P>
NormResults<T, P> normalized(const ChannelNormRequest& r, const NormData<T, P>& data, bool with_scale, bool with_shift,
                             bool in_place) {
    const ChannelNormPlan plan = make_channel_norm_plan(r);
    throw_if_error(plan.status());
    const NormArray<T> x(data.x, 1), out(data.x, 3);
    const NormArray<P> scale(data.scale, 1), shift(data.shift, 0), running_mean(data.running_mean, 1),
        running_variance(data.running_variance, 2);
    const std::vector<double> blank(plan.statistics());
    const NormArray<double> mean(blank, 0), rstd(blank, 1);
    const bool batch = r.norm == ChannelNorm::batch_norm;
    const auto workspace = NormBackend::memory(plan.workspace_bytes());
    const NormArray<T>& to = in_place ? x : out;
    throw_if_error(run(plan,
                       {.x = x.data(),
                        .out = to.data(),
                        .scale = with_scale ? scale.data() : nullptr,
                        .shift = with_shift ? shift.data() : nullptr,
                        .mean = mean.data(),
                        .rstd = rstd.data(),
                        .running_mean = batch ? running_mean.data() : nullptr,
                        .running_variance = batch ? running_variance.data() : nullptr},
                       workspace->data()));
    return {to.fetched(), mean.fetched(), rstd.fetched(), running_mean.fetched(), running_variance.fetched(), {}, {}};
}
/// in_place: 1: out is x, 2: out is upstream.
template <class T, class P>
NormResults<T, P> norm_gradient(const ChannelNormRequest& r, const NormData<T, P>& data, const NormResults<T, P>& kept,
                                bool with_scale, unsigned in_place) {
    const ChannelNormPlan plan = make_channel_norm_plan(r);
    throw_if_error(plan.status());
    const NormArray<T> x(data.x, 1), upstream(data.upstream, 0), out(data.x, 3);
    const NormArray<P> scale(data.scale, 1), scale_gradient(data.scale, 0), shift_gradient(data.scale, 1);
    const NormArray<double> mean(kept.mean, 0), rstd(kept.rstd, 1);
    const auto workspace = NormBackend::memory(plan.gradient_workspace_bytes());
    const NormArray<T>& to = in_place == 1 ? x : in_place == 2 ? upstream : out;
    throw_if_error(run_gradient(plan,
                                {.x = x.data(),
                                 .out = to.data(),
                                 .scale = with_scale ? scale.data() : nullptr,
                                 .mean = mean.data(),
                                 .rstd = rstd.data(),
                                 .upstream = upstream.data(),
                                 .scale_gradient = scale_gradient.data(),
                                 .shift_gradient = shift_gradient.data()},
                                workspace->data()));
    return {to.fetched(), {}, {}, {}, {}, scale_gradient.fetched(), shift_gradient.fetched()};
}

/// check(request, data, word): several shapes and methods.
template <class T, class P, class Check>
void for_norms(const Check& check) {
    struct Sizes {
        std::uint64_t n, channels, size, groups;
    };
    constexpr Sizes list[] = {{1, 1, 3, 1},  {2, 4, 5, 2},   {3, 6, 1, 3},  {1, 8, 7, 4},
                              {5, 3, 40, 1}, {2, 33, 9, 11}, {70, 2, 1, 2}, {3, 2, 4500, 1}};
    std::uint64_t word = 0;
    for (const Sizes& s : list) {
        for (const ChannelNorm norm : {ChannelNorm::group_norm, ChannelNorm::batch_norm}) {
            for (const bool given : {false, true}) {
                const bool batch = norm == ChannelNorm::batch_norm;
                if (given && !batch) continue;
                ++word;
                const bool tree = word % 3 == 0 && embeds(fp::is_narrow<T> ? DType::f32 : dtype_of<T>, dtype_of<P>);
                const ChannelNormRequest r{.norm = norm,
                                           .dtype = dtype_of<T>,
                                           .parameters = dtype_of<P>,
                                           .n = s.n,
                                           .channels = s.channels,
                                           .size = s.size,
                                           .groups = batch ? 1 : s.groups,
                                           .epsilon = word % 4 == 0 ? 1e-3 : 1e-5,
                                           .momentum = word % 5 == 0 ? 1 : 0.1,
                                           .given = given,
                                           .method = tree ? Method::tree : Method::exact,
                                           .device = NormBackend::device};
                INFO(name(norm) << " of " << s.n << ", " << s.channels << ", " << s.size << " groups " << r.groups
                                << ' ' << name(r.method) << " given " << given);
                check(r, NormData<T, P>(r, word), word);
            }
        }
    }
}

template <class T, class P>
void check_norms() {
    for_norms<T, P>([](const ChannelNormRequest& r, const NormData<T, P>& data, std::uint64_t word) {
        const bool with_scale = word % 4 != 1, with_shift = word % 8 < 6;
        const NormReference<T, P> right{r, data, with_scale, with_shift};
        const NormResults<T, P> kept = right.forward();
        require_same(normalized(r, data, with_scale, with_shift, word % 2 == 0), kept);
        require_same(norm_gradient(r, data, kept, with_scale, word % 3), right.gradient());
    });
}
TEST_CASE("norms of channels: values and gradients are those of the text, in place or not", "[norms]") {
    SECTION("f16") {
        check_norms<float16, float16>();
    }
    SECTION("bf16 with parameters of f32") {
        check_norms<bfloat16, float>();
    }
    SECTION("f32") {
        check_norms<float, float>();
    }
    SECTION("f64") {
        check_norms<double, double>();
    }
}

/// With more digits, and gradients without the formula: |value − truth| ≤ what channel_norm.hpp
/// says.
template <class T>
void check_norm_bounds() {
    using L = long double;
    for_norms<T, T>([](ChannelNormRequest r, const NormData<T, T>& data, std::uint64_t) {
        if (data.x.size() > 3000 || r.given) return;
        r.method = Method::exact;
        const NormIndices at(r);
        const auto values = normalized(r, data, true, true, false);
        const auto slopes = norm_gradient(r, data, values, true, 0);
        const L u = std::is_same_v<T, double> ? 0x1p-53L : 0x1p-24L;
        const auto near = [](T value, L truth, L error) {
            const L unit =
                std::ldexp(L{1}, std::ilogb(std::max(std::fabs(truth), L{0x1p-14})) - fp::Format<T>::precision);
            INFO(wide(value) << " for " << static_cast<double>(truth));
            REQUIRE(std::fabs(static_cast<L>(wide(value)) - truth) <= unit * (1 + 0x1p-30L) + error);
        };
        std::vector<L> z(data.x.size()), q(z), g(z), rstd(z);
        for (const auto& own : at.of_statistic) {
            L sum = 0, squares = 0;
            for (const std::uint64_t i : own)
                sum += wide(data.x[i]);
            const auto m = static_cast<L>(own.size());
            const L mean = sum / m;
            for (const std::uint64_t i : own)
                squares += (wide(data.x[i]) - mean) * (wide(data.x[i]) - mean);
            const L deviation = 1 / std::sqrt(squares / m + r.epsilon);
            L a = 0, b = 0, size_a = 0, size_b = 0;
            for (const std::uint64_t i : own) {
                rstd[i] = deviation;
                z[i] = (wide(data.x[i]) - mean) * deviation, q[i] = std::fabs(z[i]) + std::fabs(mean) * deviation;
                g[i] = static_cast<L>(wide(data.upstream[i])) * wide(data.scale[at.channel[i]]);
                a += g[i] / m, b += g[i] * z[i] / m;
                size_a += std::fabs(g[i]) / m, size_b += std::fabs(g[i]) * q[i] / m;
            }
            for (const std::uint64_t i : own) {
                const L scale = wide(data.scale[at.channel[i]]), y = z[i] * scale + wide(data.shift[at.channel[i]]);
                near(values.out[i], y, 0x1p-50L * (q[i] * std::fabs(scale) + std::fabs(y)));
                near(slopes.out[i], (g[i] - a - z[i] * b) * deviation,
                     deviation * ((u + 0x1p-49L) * (size_a + q[i] * size_b) + 0x1p-49L * std::fabs(g[i])));
            }
        }
        for (std::size_t c = 0; c < at.of_channel.size(); ++c) {
            L scale = 0, shift = 0, size = 0;
            for (const std::uint64_t i : at.of_channel[c]) {
                const L d = wide(data.upstream[i]);
                scale += d * z[i], shift += d, size += std::fabs(d) * q[i];
            }
            near(slopes.scale_gradient[c], scale, (u + 0x1p-49L) * size);
            near(slopes.shift_gradient[c], shift, 0x1p-60L);
        }
    });
}
TEST_CASE("norms of channels: values and gradients are near the true ones", "[norms][error]") {
    SECTION("bf16") {
        check_norm_bounds<bfloat16>();
    }
    SECTION("f32") {
        check_norm_bounds<float>();
    }
    SECTION("f64") {
        check_norm_bounds<double>();
    }
}

TEST_CASE("norms of channels: the order of samples means nothing by exact", "[norms]") {
    ChannelNormRequest r{
        .norm = ChannelNorm::batch_norm, .n = 9, .channels = 5, .size = 12, .device = NormBackend::device};
    const NormData<float, float> data(r, 5);
    NormData<float, float> turned = data;
    for (std::vector<float>* const of : {&turned.x, &turned.upstream})
        std::rotate(of->begin(), of->begin() + 4 * 60, of->end());
    const auto of_parameters = [&](const NormData<float, float>& from) {
        auto kept = normalized(r, from, true, true, false);
        auto slopes = norm_gradient(r, from, kept, true, 0);
        kept.out.clear();
        kept.scale_gradient = slopes.scale_gradient, kept.shift_gradient = slopes.shift_gradient;
        return kept;
    };
    require_same(of_parameters(turned), of_parameters(data));
    r.norm = ChannelNorm::group_norm;
    const auto all = normalized(r, data, true, true, false), moved = normalized(r, turned, true, true, false);
    for (std::size_t i = 0; i < all.out.size(); ++i)
        REQUIRE(fp::to_bits(moved.out[i]) == fp::to_bits(all.out[(i + 4 * 60) % all.out.size()]));
}

TEST_CASE("norms of channels: special values", "[norms]") {
    const float inf = infinity<float>, nan = quiet_nan<float>;
    const auto of = [](std::vector<float> x, double epsilon) {
        const ChannelNormRequest r{.n = 1, .size = x.size(), .epsilon = epsilon, .device = NormBackend::device};
        NormData<float, float> data(r, 1);
        data.x = std::move(x);
        return normalized(r, data, false, false, false).out;
    };
    require_same(of({1, 3}, 0), {-1, 1});
    require_same(of({0x1p120f, 3 * 0x1p120f}, 1e-5), {-1, 1});
    require_same(of({0x1p-140f, 3 * 0x1p-140f}, 0), {-1, 1});
    require_same(of({5, 5, 5}, 1e-5), {0, 0, 0});
    require_same(of({5, 5}, 0), {nan, nan});
    require_same(of({inf, 1}, 1e-5), {nan, nan});
    require_same(of({nan, 1}, 1e-5), {nan, nan});
    const ChannelNormRequest r{.dtype = DType::f64, .n = 1, .size = 2, .device = NormBackend::device};
    NormData<double, double> data(r, 1);
    data.x = {1e200, -1e200}; // the variance is beyond f64
    require_same(normalized(r, data, false, false, false).out, {quiet_nan<double>, quiet_nan<double>});
}

TEST_CASE("norms of channels: what is wrong is said by name", "[norms][status]") {
    constexpr auto invalid = StatusCode::invalid_argument;
    constexpr auto batch = ChannelNorm::batch_norm;
    const auto status_of = [](ChannelNormRequest r) {
        r.device = NormBackend::device;
        if (r.n == 0) r.n = 4;
        return make_channel_norm_plan(r).status();
    };
    expect(ChannelNormPlan().status(), invalid, "plan");
    expect(status_of({.norm = static_cast<ChannelNorm>(9)}), invalid, "norm");
    expect(status_of({.dtype = static_cast<DType>(99)}), invalid, "dtype");
    expect(status_of({.dtype = DType::f8e4m3}), StatusCode::unsupported, "dtype");
    expect(status_of({.parameters = static_cast<DType>(99)}), invalid, "parameters");
    expect(status_of({.parameters = DType::f8e5m2}), StatusCode::unsupported, "parameters");
    expect(status_of({.dtype = DType::bf16, .method = Method::tree}), invalid, "parameters");
    expect(status_of({.n = max_n + 1}), invalid, "n");
    expect(status_of({.norm = batch, .n = 1}), invalid, "n");
    expect(status_of({.channels = 0}), invalid, "channels");
    expect(status_of({.channels = max_n + 1}), invalid, "channels");
    expect(status_of({.size = 0}), invalid, "size");
    expect(status_of({.size = max_n + 1}), invalid, "size");
    expect(status_of({.channels = max_n, .size = 1 << 7, .groups = max_n}), invalid, "size");
    expect(status_of({.channels = 2, .size = max_n}), invalid, "size");
    expect(status_of({.norm = batch, .n = 2, .size = max_n}), invalid, "size");
    expect(status_of({.channels = 6, .groups = 4}), invalid, "groups");
    expect(status_of({.channels = 6, .groups = 0}), invalid, "groups");
    expect(status_of({.norm = batch, .channels = 6, .groups = 2}), invalid, "groups");
    for (const double bad : {-1.0, infinity<double>, quiet_nan<double>})
        expect(status_of({.epsilon = bad}), invalid, "epsilon");
    for (const double bad : {-0.1, 1.1, quiet_nan<double>})
        expect(status_of({.momentum = bad}), invalid, "momentum");
    expect(status_of({.given = true}), invalid, "given");
    expect(status_of({.method = static_cast<Method>(99)}), invalid, "method");
    for (const Method bad : {Method::serial, Method::kahan, Method::compensated, Method::atomic})
        expect(status_of({.method = bad}), StatusCode::unsupported, "method");

    const ChannelNormRequest r{.norm = batch, .n = 2, .channels = 2, .size = 2, .device = NormBackend::device};
    const ChannelNormPlan plan = make_channel_norm_plan(r);
    const NormArray<double> numbers(std::vector<double>(64, 1.0), 0);
    const NormArray<float> array(std::vector<float>(128, 1.0f), 0);
    float* const p = array.data();
    double* const d = numbers.data();
    const auto memory = NormBackend::memory(plan.gradient_workspace_bytes());
    void* const room = memory->data();
    const auto askew = [](void* q) { return static_cast<void*>(static_cast<char*>(q) + 1); };
    using Change = std::function<void(ChannelNormArrays&)>;
    const auto forward = [&](const ChannelNormPlan& of, void* workspace, const Change& change) {
        ChannelNormArrays a{.x = p, .out = p + 8, .running_mean = p + 16, .running_variance = p + 18};
        change(a);
        return run(of, a, workspace);
    };
    const auto backward = [&](void* workspace, const Change& change) {
        ChannelNormArrays a{.x = p, .out = p + 8, .mean = d, .rstd = d + 2, .upstream = p + 16};
        change(a);
        return run_gradient(plan, a, workspace);
    };
    using A = ChannelNormArrays;
    REQUIRE(forward(plan, room, [](A&) {}).ok());
    REQUIRE(backward(room, [](A&) {}).ok());
    expect(forward(plan, room, [&](A& a) { a.x = nullptr; }), invalid, "x");
    expect(forward(plan, room, [&](A& a) { a.x = askew(p); }), invalid, "x");
    expect(forward(plan, room, [&](A& a) { a.out = nullptr; }), invalid, "out");
    expect(forward(plan, room, [&](A& a) { a.out = p + 1; }), invalid, "out");
    expect(forward(plan, room, [&](A& a) { a.scale = askew(p); }), invalid, "scale");
    expect(forward(plan, room, [&](A& a) { a.scale = p + 9; }), invalid, "out");
    expect(forward(plan, room, [&](A& a) { a.shift = askew(p); }), invalid, "shift");
    expect(forward(plan, room, [&](A& a) { a.mean = static_cast<double*>(askew(d)); }), invalid, "mean");
    expect(forward(plan, room, [&](A& a) { a.mean = d, a.rstd = d + 1; }), invalid, "mean");
    expect(forward(plan, room, [&](A& a) { a.rstd = static_cast<double*>(askew(d)); }), invalid, "rstd");
    expect(forward(plan, room, [&](A& a) { a.running_mean = p + 19; }), invalid, "running_mean");
    expect(forward(plan, room, [&](A& a) { a.running_variance = askew(p); }), invalid, "running_variance");
    expect(forward(plan, room, [&](A& a) { a.upstream = p; }), invalid, "upstream");
    expect(forward(plan, room, [&](A& a) { a.scale_gradient = p; }), invalid, "scale_gradient");
    expect(forward(plan, room, [&](A& a) { a.shift_gradient = p; }), invalid, "shift_gradient");
    expect(forward(plan, nullptr, [](A&) {}), invalid, "workspace");
    expect(forward(plan, room, [&](A& a) { a.x = room; }), invalid, "workspace");
    ChannelNormRequest other = r;
    other.given = true;
    const ChannelNormPlan given = make_channel_norm_plan(other);
    expect(forward(given, room, [&](A& a) { a.running_mean = nullptr; }), invalid, "running_mean");
    expect(forward(given, room, [&](A& a) { a.running_variance = nullptr; }), invalid, "running_variance");
    other = {.n = 2, .channels = 2, .size = 2, .device = NormBackend::device};
    expect(forward(make_channel_norm_plan(other), room, [](A&) {}), invalid, "running_mean");
    expect(backward(room, [&](A& a) { a.x = nullptr; }), invalid, "x");
    expect(backward(room, [&](A& a) { a.upstream = nullptr; }), invalid, "upstream");
    expect(backward(room, [&](A& a) { a.out = p + 17; }), invalid, "out");
    expect(backward(room, [&](A& a) { a.mean = nullptr; }), invalid, "mean");
    expect(backward(room, [&](A& a) { a.rstd = nullptr; }), invalid, "rstd");
    expect(backward(room, [&](A& a) { a.shift = p; }), invalid, "shift");
    expect(backward(room, [&](A& a) { a.running_mean = p; }), invalid, "running_mean");
    expect(backward(room, [&](A& a) { a.running_variance = p; }), invalid, "running_variance");
    expect(backward(room, [&](A& a) { a.scale_gradient = p + 6; }), invalid, "scale_gradient");
    expect(backward(room, [&](A& a) { a.shift_gradient = askew(p); }), invalid, "shift_gradient");
    expect(backward(nullptr, [](A&) {}), invalid, "workspace");
    expect(backward(room, [&](A& a) { a.upstream = room; }), invalid, "workspace");

    // No samples: parameters have gradients of +0, and nothing else is touched.
    other.n = 0;
    const ChannelNormPlan none = make_channel_norm_plan(other);
    REQUIRE(run(none, {}, room).ok());
    REQUIRE(run_gradient(none, {.scale_gradient = p, .shift_gradient = p + 2}, room).ok());
    const auto after = array.fetched();
    for (int i = 0; i < 4; ++i)
        REQUIRE(fp::to_bits(after[static_cast<std::size_t>(i)]) == 0);
}

} // namespace detreduce::proptests
