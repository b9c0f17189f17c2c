// Laws of cosine similarity, on every backend. Included once a backend, after `CosineBackend` has
// been defined:
//     static constexpr Device device
//     template <class T> Array(const std::vector<T>&, unsigned offset)                 data(), fetched()
// and memory(bytes), a workspace.
#pragma once

#include <cmath>
#include <vector>

#include <detreduce/cosine_similarity.hpp>
#include <detreduce/host.hpp>

#include <support/bits.hpp>
#include <support/catch.hpp>

#include "laws/expect_status.hpp"
#include "laws/golden_hash.hpp"
#include "laws/loss_draws.hpp"

namespace detreduce::proptests {

/// Rows x and y, and what comes from upstream, in the middle of a matrix.
template <class T>
struct CosineData {
    std::uint64_t n, rows, stride;
    std::vector<T> x, y, upstream;

    CosineData(std::uint64_t length, std::uint64_t count, std::uint64_t apart, std::uint64_t seed)
        : n(length), rows(count), stride(apart) {
        const int deepest = fp::is_narrow<T> ? -6 : -20;
        for (std::uint64_t i = 0; i < rows * stride; ++i) {
            const double one = scattered(seed, i, deepest, 4), other = scattered(seed + 1, i, deepest, 4);
            x.push_back(fp::round_to<T>(one));
            y.push_back(fp::round_to<T>(i / stride % 3 == 1 ? -one : i / stride % 3 == 2 ? one + other / 64 : other));
        }
        for (std::uint64_t i = 0; i < rows; ++i)
            upstream.push_back(fp::round_to<T>(scattered(seed + 2, i, -3, 3)));
    }
    [[nodiscard]] std::vector<T> row(const std::vector<T>& of, std::uint64_t i) const {
        const auto begin = of.begin() + static_cast<std::ptrdiff_t>(i * stride);
        return {begin, begin + static_cast<std::ptrdiff_t>(n)};
    }
};

/// Section 17.8 of lib/SPEC.md, of one row.
struct CosineReference {
    double dot, a, b, epsilon;
    template <class T>
    CosineReference(const std::vector<T>& x, const std::vector<T>& y, double minimum, Method method)
        : dot(reduce_as<double>(Op::dot, x, y, method)), a(reduce_as<double>(Op::nrm2, x, method)),
          b(reduce_as<double>(Op::nrm2, y, method)), epsilon(minimum) {}
    [[nodiscard]] double over(double v) const { return v / (a < epsilon ? epsilon : a) / (b < epsilon ? epsilon : b); }
    [[nodiscard]] double value() const { return over(dot) > 1 ? 1 : over(dot) < -1 ? -1 : over(dot); }
    [[nodiscard]] double slope(double x, double y, double upstream) const {
        const double of_x = a < epsilon ? 0 : over(dot) / a / a;
        return std::fma(y, over(1), -(x * of_x)) * upstream;
    }
};

template <class Out, class T>
std::vector<Out> cosines(CosineRequest r, const CosineData<T>& data, unsigned offset) {
    r.output = dtype_of<Out>;
    const typename CosineBackend::template Array<T> x(data.x, offset), y(data.y, offset / 2);
    const typename CosineBackend::template Array<Out> out(std::vector<Out>(data.rows), offset);
    const CosinePlan plan = make_cosine_plan(r);
    throw_if_error(plan.status());
    const auto workspace = CosineBackend::memory(plan.workspace_bytes());
    throw_if_error(run(plan, x.data(), y.data(), out.data(), workspace->data()));
    return out.fetched();
}
/// in_place: 1: over x, 2: over y.
template <class T>
std::vector<T> cosine_gradient(const CosineRequest& r, const CosineData<T>& data, bool upstream, unsigned in_place) {
    const typename CosineBackend::template Array<T> x(data.x, 1), y(data.y, 0), g(data.upstream, 0), dx(data.x, 3);
    const CosinePlan plan = make_cosine_plan(r);
    throw_if_error(plan.status());
    const auto workspace = CosineBackend::memory(plan.workspace_bytes());
    const auto& to = in_place == 1 ? x : in_place == 2 ? y : dx;
    throw_if_error(run_gradient(plan, x.data(), y.data(), upstream ? g.data() : nullptr, to.data(), workspace->data()));
    return to.fetched();
}

/// check(request, data, word): several shapes, methods and epsilons.
template <class T, class Check>
void for_cosines(const Check& check) {
    constexpr Method list[] = {Method::exact, Method::tree, Method::compensated, Method::kahan};
    std::uint64_t word = 0;
    for (const std::uint64_t n : {1, 3, 40, 1000}) {
        for (const std::uint64_t rows : {1, 5, 70}) {
            const CosineData<T> data(n, rows, n + word % 3, word);
            ++word;
            const CosineRequest r{.dtype = dtype_of<T>,
                                  .n = n,
                                  .rows = rows,
                                  .stride = data.stride,
                                  .epsilon = word % 4 == 3 ? 10 : 1e-8,
                                  .method = list[word % 4],
                                  .device = CosineBackend::device};
            INFO("n " << n << " rows " << rows << ' ' << name(r.method));
            check(r, data, word);
        }
    }
}

TEMPLATE_TEST_CASE("cosine similarity: values are those of the text, and within 1", "[cosine]", float16, bfloat16,
                   float, double) {
    using T = TestType;
    for_cosines<T>([](const CosineRequest& r, const CosineData<T>& data, std::uint64_t word) {
        const auto own = cosines<T>(r, data, word % 7);
        const auto wide = cosines<double>(r, data, 0);
        for (std::uint64_t i = 0; i < data.rows; ++i) {
            const CosineReference right(data.row(data.x, i), data.row(data.y, i), r.epsilon, r.method);
            REQUIRE(fp::to_bits(wide[i]) == fp::to_bits(right.value()));
            REQUIRE(fp::to_bits(own[i]) == fp::to_bits(fp::round_to<T>(right.value())));
            REQUIRE(std::fabs(wide[i]) <= 1);
            if (r.method == Method::exact && r.epsilon < 1 && i % 3 == 1) REQUIRE(wide[i] <= -1 + 0x1p-50);
        }
    });
}

TEMPLATE_TEST_CASE("cosine similarity: gradients are those of the text, in place or not", "[cosine]", float16, bfloat16,
                   float, double) {
    using T = TestType;
    for_cosines<T>([](const CosineRequest& r, const CosineData<T>& data, std::uint64_t word) {
        const bool upstream = word % 2 == 0;
        const unsigned in_place = word % 3;
        std::vector<T> expected = in_place == 2 ? data.y : data.x; // what lies between rows stays
        for (std::uint64_t i = 0; i < data.rows; ++i) {
            const CosineReference right(data.row(data.x, i), data.row(data.y, i), r.epsilon, r.method);
            const double g = upstream ? static_cast<double>(fp::widen(data.upstream[i])) : 1;
            for (std::uint64_t j = 0; j < data.n; ++j) {
                const std::uint64_t at = i * data.stride + j;
                expected[at] = fp::round_to<T>(right.slope(static_cast<double>(fp::widen(data.x[at])),
                                                           static_cast<double>(fp::widen(data.y[at])), g));
            }
        }
        const auto got = cosine_gradient(r, data, upstream, in_place);
        for (std::size_t i = 0; i < got.size(); ++i)
            REQUIRE(fp::to_bits(got[i]) == fp::to_bits(expected[i]));
    });
}

/// Computed again with more digits, without a formula for the gradient.
TEST_CASE("cosine similarity: values and gradients are near the true ones", "[cosine][error]") {
    for (const std::uint64_t n : {2, 17, 300}) {
        const CosineData<double> data(n, 6, n, n);
        const CosineRequest r{.dtype = DType::f64, .n = n, .rows = 6, .device = CosineBackend::device};
        const auto values = cosines<double>(r, data, 0);
        const auto slopes = cosine_gradient(r, data, false, 0);
        for (std::uint64_t i = 0; i < 6; ++i) {
            const auto x = data.row(data.x, i), y = data.row(data.y, i);
            const auto cosine = [&](std::size_t moved, long double by) {
                long double dot = 0, xx = 0, yy = 0;
                for (std::size_t j = 0; j < n; ++j) {
                    const long double v = static_cast<long double>(x[j]) + (j == moved ? by : 0), w = y[j];
                    dot += v * w, xx += v * v, yy += w * w;
                }
                return dot / std::sqrt(xx) / std::sqrt(yy);
            };
            const auto truth = static_cast<double>(cosine(n, 0));
            REQUIRE(std::fabs(values[i] - truth) <= 0x1p-51 * std::fabs(truth) + 0x1p-54);
            const std::size_t j = i * 7 % n;
            const long double h = std::fabs(x[j]) * 1e-6L;
            const auto slope = static_cast<double>((cosine(j, h) - cosine(j, -h)) / (2 * h));
            REQUIRE(std::fabs(slopes[i * n + j] - slope) <= 1e-7 * std::fabs(slope) + 1e-9 / std::fabs(x[j]));
        }
    }
}

TEST_CASE("cosine similarity: special values", "[cosine]") {
    const float inf = infinity<float>, nan = quiet_nan<float>;
    const auto of = [](std::vector<float> x, std::vector<float> y, double epsilon) {
        CosineData<float> data(x.size(), 1, x.size(), 1);
        data.x = std::move(x), data.y = std::move(y);
        const CosineRequest r{.n = data.n, .rows = 1, .epsilon = epsilon, .device = CosineBackend::device};
        return cosines<float>(r, data, 0)[0];
    };
    REQUIRE(of({3, 4}, {4, 3}, 1e-8) == 24.0f / 25);
    REQUIRE(of({3, 4}, {-3, -4}, 1e-8) == -1);
    REQUIRE(of({1e30f, 0}, {1e30f, 0}, 1e-8) == 1);
    REQUIRE(of({0x1p-100f, 0}, {0x1p-100f, 0}, 0) == 1);
    REQUIRE(of({0, 0}, {1, 1}, 1e-8) == 0);
    REQUIRE(of({0x1p-30f, 0}, {0x1p30f, 0}, 0x1p-20) == 0x1p-10f);
    REQUIRE(fp::to_bits(of({0, 0}, {1, 1}, 0)) == fp::to_bits(nan));
    REQUIRE(fp::to_bits(of({inf, 0}, {1, 1}, 1e-8)) == fp::to_bits(nan));
    REQUIRE(fp::to_bits(of({nan, 0}, {1, 1}, 1e-8)) == fp::to_bits(nan));
}

TEST_CASE("cosine similarity: what is wrong is said by name", "[cosine][status]") {
    constexpr auto invalid = StatusCode::invalid_argument;
    const auto status_of = [](CosineRequest r) {
        r.device = CosineBackend::device;
        if (r.n == 0) r.n = 4;
        return make_cosine_plan(r).status();
    };
    expect(CosinePlan().status(), invalid, "plan");
    expect(status_of({.dtype = static_cast<DType>(99)}), invalid, "dtype");
    expect(status_of({.dtype = DType::f8e4m3}), StatusCode::unsupported, "dtype");
    expect(status_of({.output = DType::f8e5m2}), StatusCode::unsupported, "output");
    expect(status_of({.n = max_n + 1}), invalid, "n");
    expect(status_of({.rows = max_groups + 1}), invalid, "rows");
    expect(status_of({.stride = 3}), invalid, "stride");
    for (const double bad : {-1.0, infinity<double>, quiet_nan<double>})
        expect(status_of({.epsilon = bad}), invalid, "epsilon");
    expect(status_of({.method = Method::serial}), StatusCode::unsupported, "method");
    const CosinePlan plan = make_cosine_plan({.n = 4, .rows = 2, .device = CosineBackend::device});
    const typename CosineBackend::template Array<float> array(std::vector<float>(64, 1.0f), 0);
    float* const p = array.data();
    const auto memory = CosineBackend::memory(plan.workspace_bytes());
    void* const room = memory->data();
    const auto askew = [](void* q) { return static_cast<void*>(static_cast<char*>(q) + 1); };
    expect(run(plan, nullptr, p, p + 32, room), invalid, "x");
    expect(run(plan, p, askew(p), p + 32, room), invalid, "y");
    expect(run(plan, p, p + 8, nullptr, room), invalid, "out");
    expect(run(plan, p, p + 8, p + 7, room), invalid, "out");
    expect(run(plan, p, p + 8, p + 32, nullptr), invalid, "workspace");
    expect(run(plan, p, room, p + 32, room), invalid, "workspace");
    expect(run_gradient(plan, p, p + 8, askew(p), p + 32, room), invalid, "upstream");
    expect(run_gradient(plan, p, p + 8, nullptr, nullptr, room), invalid, "dx");
    expect(run_gradient(plan, p, p + 8, nullptr, p + 4, room), invalid, "dx");
    expect(run_gradient(plan, p, p + 8, p + 33, p + 32, room), invalid, "dx");
    REQUIRE(run(make_cosine_plan({.n = 4, .rows = 0, .device = CosineBackend::device}), nullptr, nullptr, nullptr, room)
                .ok());
}

/// They change only with a new spec_version_of(RowOp).
TEST_CASE("cosine similarity: golden bits", "[cosine][golden]") {
    constexpr Golden golden{"cosine_similarity", 0xc164b4721d6b0183, 0x8c672533cb1f574e, 0x19dc37e33d8c380a,
                            0x72afdb314e527bf4};
    check_golden(golden, []<class T>(T) {
        GoldenHash hash;
        for_cosines<T>([&](const CosineRequest& r, const CosineData<T>& data, std::uint64_t word) {
            hash.put(cosines<double>(r, data, 0));
            hash.put(cosine_gradient(r, data, word % 2 == 0, 0));
        });
        return hash.value();
    });
}

} // namespace detreduce::proptests
