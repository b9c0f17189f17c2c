// Laws of row ops for which a formula is enough. Included by row_laws.hpp.
#pragma once

#include <detreduce/plan.hpp>

namespace detreduce::proptests {

TEMPLATE_TEST_CASE("rows: equal elements are normalized to nothing but the shift", "[rows]", float16, bfloat16, float,
                   double) {
    using T = TestType;
    for (const std::size_t n : row_lengths<T>()) {
        if (n == 0) continue;
        for (const double value : {0.0, -1.0, 3.14159, 6e4, -1e-7}) {
            const RowRequest r{.op = RowOp::layernorm, .n = n, .reduction = Reduction::none};
            const std::vector<T> x(n, fp::round_to<T>(value));
            INFO("n " << n << " of " << value);
            const auto plain = run_row<T>(r, x);
            RowData<T> data;
            data.scale = numbers_between<T>(-2, 2, n, 1);
            data.shift = numbers_between<T>(1, 2, n, 2);
            const auto shifted = run_row<T>(r, x, data);
            REQUIRE(fp::widen(x[0]) == plain.mean[0]);
            REQUIRE(std::all_of(plain.out.begin(), plain.out.end(), [](T v) { return fp::to_bits(v) == 0; }));
            REQUIRE(std::equal(shifted.out.begin(), shifted.out.end(), data.shift.begin(), is_bits<T>));
        }
    }
}

/// What run() gives for the row on the CPU.
template <class Out, class T>
std::vector<Out> of_run(Op op, const std::vector<T>& x, std::size_t results) {
    std::vector<Out> out(results);
    const Plan plan = make_plan({.op = op,
                                 .method = Method::tree,
                                 .dtype = dtype_of<T>,
                                 .output = dtype_of<Out>,
                                 .n = x.size(),
                                 .device = cpu});
    throw_if_error(plan.status());
    throw_if_error(run(plan, x.data(), out.data()));
    return out;
}

TEMPLATE_TEST_CASE("rows: mean and deviation are those of the ops", "[rows]", float16, bfloat16, float, double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    for (const std::size_t n : row_lengths<T>()) {
        for (int kind = 0; kind < row_kinds && n > 0; ++kind) {
            if (static_cast<RowKind>(kind) == RowKind::huge && !fp::is_f64<T>) continue; // its squares overflow
            const auto x = row_of<T>(static_cast<RowKind>(kind), n, n);
            const double epsilon = kind % 2 ? 1e-5 : 1e-12;
            const auto layer = run_row<T>({.op = RowOp::layernorm, .epsilon = epsilon}, x),
                       rms = run_row<T>({.op = RowOp::rmsnorm, .epsilon = epsilon}, x);
            const auto rstd = [&](double square) { return fp::round_to<V>(1 / std::sqrt(square + epsilon)); };
            INFO("n " << n << " kind " << kind);
            REQUIRE(is_bits(layer.mean[0], of_run<V>(Op::moments, x, 2)[0]));
            REQUIRE(is_bits(layer.rstd[0], rstd(of_run<double>(Op::moments, x, 2)[1])));
            const auto squares = static_cast<double>(of_run<V>(Op::sumsq, x, 1)[0]);
            REQUIRE(is_bits(rms.rstd[0], rstd(squares / static_cast<double>(n))));
        }
    }
}

TEMPLATE_TEST_CASE("rows: what is not finite", "[rows]", float16, bfloat16, float, double) {
    using T = TestType;
    const T nan = quiet_nan<T>, inf = infinity<T>, minus = fp::negated(inf);
    for (const std::size_t n : row_lengths<T>()) {
        if (n == 0) continue;
        for (const RowOp op : row_ops_of_x) {
            RowData<T> data;
            if (of_targets(op)) data.targets = {static_cast<std::int64_t>(n / 3)};
            const auto all = [&](const std::vector<T>& x, T value) {
                INFO(name(op) << " n " << n);
                const auto got = run_row<T>({.op = op}, x, data);
                REQUIRE(std::all_of(got.out.begin(), got.out.end(), [&](T v) { return is_bits(v, value); }));
            };
            // A NaN with a sign and a payload.
            auto x = row_of<T>(RowKind::ordinary, n, n);
            x[n / 2] = fp::from_bits<T>(static_cast<fp::Bits<T>>(~fp::Bits<T>{0}));
            if (op == RowOp::nll_gradient) continue; // which does not read it
            if (data.targets.size() == 1) data.targets[0] = static_cast<std::int64_t>(n / 2);
            all(x, nan);
            if (!of_exponentials(op)) continue;
            all(row_of<T>(RowKind::one_infinite, n, n), op == RowOp::logsumexp ? inf : nan);
            all(row_of<T>(RowKind::all_minus, n, n), op == RowOp::logsumexp ? minus : nan);
        }
    }
}

/// Which one it is shows in how the sum of the others is rounded. Beyond ±32768 elements are taken
/// less the maximum.
TEMPLATE_TEST_CASE("rows: of equal maxima the first is taken out", "[rows]", float16, bfloat16, float, double) {
    using T = TestType;
    constexpr double maxima[] = {0, 40'000, -40'000};
    for (const std::size_t n : row_lengths<T>()) {
        for (const RowOp op : row_ops_of_x) {
            if (!of_exponentials(op) || n == 0) continue;
            RowRequest r{.op = op, .n = n, .rows = 6, .reduction = Reduction::none};
            RowData<T> data;
            for (std::uint64_t i = 0; i < r.rows * n; ++i) {
                const auto below = static_cast<double>(accuracy::hash(n, i) % 4);
                data.x.push_back(fp::round_to<T>(maxima[i / n % 3] - below));
            }
            for (std::uint64_t row = 0; of_targets(op) && row < r.rows; ++row)
                data.targets.push_back(static_cast<std::int64_t>(accuracy::hash(row, n) % n));
            const auto launches = RowBackend::launches();
            r.launch = launches[accuracy::hash(n, static_cast<std::uint64_t>(op)) % launches.size()];
            INFO(shown(r, {}));
            require_same(run_rows<T>(r, data, 1), RowBackend::template expected<T>(r, data));
        }
    }
}

/// −log_softmax at y, in binary64 and by its own formula, of a row with one element ahead of others
/// that are equal.
inline double loss_ahead(double margin, double others) {
    return std::log1p(others * std::exp(-margin));
}

TEMPLATE_TEST_CASE("rows: losses near 0 are right to the last digits, and never negative", "[rows]", bfloat16, float,
                   double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    const double ulps = fp::is_narrow<T> ? 16 * 0x1p-24 : fp::is_f32<T> ? 12 * 0x1p-24 : 12 * 0x1p-53;
    const auto is_near = [&](double got, double truth) {
        // (In binary64 the truth itself is made of subnormal numbers.)
        const double minimum = (fp::is_f64<V> ? 60'000 : 2) * static_cast<double>(smallest<V>);
        return got >= 0 && std::fabs(got - truth) <= truth * ulps + minimum;
    };
    // One logit among zeros, and a single one; a loss that is subnormal, and one that is nothing.
    for (const std::size_t n : {std::size_t{10}, std::size_t{1000}, std::size_t{50257}}) {
        const RowRequest r{.op = RowOp::cross_entropy, .n = n, .reduction = Reduction::none};
        for (double margin = -30; margin <= (fp::is_f64<V> ? 750 : 115); margin += n > 1000 ? 29 : 0.5) {
            std::vector<T> x(n);
            const std::size_t y = n / 3;
            x[y] = fp::round_to<T>(margin);
            const double at = static_cast<double>(fp::widen(x[y]));
            const auto count = static_cast<double>(n - 1);
            const double truth = at > 0 ? loss_ahead(at, count) : std::log(count + std::exp(at)) - at;
            const auto loss = run_row<V>(r, x, RowData<T>{.targets = {static_cast<std::int64_t>(y)}});
            INFO("n " << n << " margin " << margin << ": " << loss.out[0] << ", not " << truth);
            REQUIRE(is_near(static_cast<double>(loss.out[0]), truth));
            if (at <= 0) continue;
            // Of a target that is equal to the maximum, the gradient is −R / (1 + R).
            const auto slope = run_row<V>({.op = RowOp::cross_entropy_gradient}, x,
                                          RowData<T>{.targets = {static_cast<std::int64_t>(y)}});
            const double R = count * std::exp(-at);
            INFO("gradient " << slope.out[y]);
            REQUIRE(is_near(-static_cast<double>(slope.out[y]), R / (1 + R)));
            // And so many probabilities are kept, subnormal or not.
            const auto p = run_row<V>({.op = RowOp::softmax}, x);
            REQUIRE(is_near(static_cast<double>(p.out[0]), std::exp(-at) / (1 + R)));
        }
    }
    for (const double m : {-1e4, -300.0, -1.0, 0.0, 1.0, 60.0, 3e4, 1e6}) {
        const std::vector<T> pair{fp::round_to<T>(m), fp::round_to<T>(m - 20)};
        const double at = static_cast<double>(fp::widen(pair[0])) - static_cast<double>(fp::widen(pair[1]));
        const auto loss = run_row<V>({.op = RowOp::cross_entropy}, pair, RowData<T>{.targets = {0}});
        INFO(m << ": " << loss.out[0]);
        REQUIRE(is_near(static_cast<double>(loss.out[0]), std::log1p(std::exp(-at))));
    }
    for (const double alone : {1.0, -7.0, 0.0, 1e6, -1e30}) {
        const std::vector<T> x{fp::round_to<T>(alone)};
        REQUIRE(is_bits(run_row<T>({.op = RowOp::log_softmax}, x).out[0], T{}));
        REQUIRE(is_bits(run_row<T>({.op = RowOp::softmax}, x).out[0], fp::round_to<T>(1.0f)));
        REQUIRE(is_bits(run_row<T>({.op = RowOp::logsumexp}, x).out[0], x[0]));
        REQUIRE(fp::widen(run_row<T>({.op = RowOp::cross_entropy}, x, RowData<T>{.targets = {0}}).out[0]) == 0);
        REQUIRE(fp::widen(run_row<T>({.op = RowOp::cross_entropy_gradient}, x, RowData<T>{.targets = {0}}).out[0]) ==
                0);
    }
    // A target that is masked; and one class that is not.
    std::vector<T> masked(40, fp::negated(infinity<T>));
    masked[3] = fp::round_to<T>(2.0f);
    require_number(run_row<T>({.op = RowOp::cross_entropy}, masked, RowData<T>{.targets = {5}}).out[0], infinity<T>);
    require_number(run_row<T>({.op = RowOp::cross_entropy}, masked, RowData<T>{.targets = {3}}).out[0], T{});
    // Masked rows as others mask them: all the same, and so of equal probability.
    const std::vector<T> low(16, fp::round_to<T>(-1e9));
    REQUIRE(is_bits(run_row<T>({.op = RowOp::softmax}, low).out[7], fp::round_to<T>(1.0f / 16)));
}

TEMPLATE_TEST_CASE("rows: norms of rows whose squares overflow or vanish", "[rows]", bfloat16, float, double) {
    using T = TestType;
    const auto near = [](T got, double truth) {
        return std::fabs(static_cast<double>(fp::widen(got)) - truth) <= 0.01 * std::fabs(truth);
    };
    for (const double size : {1e20, 1e37, 1e-30, 1e-37, fp::is_f64<T> ? 1e300 : 1e25, fp::is_f64<T> ? 1e-300 : 1e-25}) {
        std::vector<T> x;
        for (const double v : {1.0, -1.0, 3.0})
            x.push_back(fp::round_to<T>(v * size));
        const auto layer = run_row<T>({.op = RowOp::layernorm, .epsilon = 0}, x),
                   rms = run_row<T>({.op = RowOp::rmsnorm, .epsilon = 0}, x);
        INFO(size << ": " << fp::widen(layer.out[0]) << ' ' << fp::widen(rms.out[0]));
        REQUIRE(fp::widen(layer.out[0]) <= 0.01);
        REQUIRE(near(layer.out[1], -1.2247));
        REQUIRE(near(layer.out[2], 1.2247));
        REQUIRE(near(rms.out[0], 0.5222));
        REQUIRE(near(rms.out[2], 1.5667));
        REQUIRE(std::fabs(static_cast<double>(layer.mean[0]) / size - 1) < 0.01);
        // Equal numbers are normalized to nothing, whatever their size.
        const std::vector<T> equal(5, x[2]);
        for (const T v : run_row<T>({.op = RowOp::layernorm, .epsilon = 1e-5}, equal).out)
            REQUIRE(fp::widen(v) == 0);
    }
    // Scaled so far down that numbers of binary32 are zeros; what scales back up is no number of
    // it.
    const std::vector<T> x{fp::round_to<T>(1e20), fp::round_to<T>(1e20), fp::round_to<T>(3e20)};
    for (const double epsilon : {1e153, 4e153, 1e154, 1e155, 1e156, 1e300}) {
        const auto scaled = run_row<T>({.op = RowOp::layernorm, .epsilon = epsilon}, x);
        INFO(epsilon << ": " << scaled.mean[0]);
        REQUIRE((fp::is_f64<T> ? near(scaled.out[2], 1.3333e20 / std::sqrt(epsilon)) : scaled.mean[0] == 0));
    }
}

TEMPLATE_TEST_CASE("rows: no elements, and no rows", "[rows]", float16, bfloat16, float, double) {
    using T = TestType;
    const RowData<T> nothing;
    const auto empty = run_rows<T>({.op = RowOp::logsumexp, .n = 0, .rows = 3}, nothing, 1);
    REQUIRE(empty.out.size() == 3);
    REQUIRE(std::all_of(empty.out.begin(), empty.out.end(), [](T v) { return is_bits(v, fp::negated(infinity<T>)); }));
    for (const RowOp op : {RowOp::softmax, RowOp::log_softmax})
        REQUIRE(run_rows<T>({.op = op, .n = 0, .rows = 3}, nothing, 0).out.empty());
    for (const RowOp op : RowBackend::ops())
        REQUIRE(run_rows<T>({.op = op, .n = 5, .rows = 0}, nothing, 0).out.empty());
}

TEMPLATE_TEST_CASE("rows: targets that are ignored, and that are none", "[rows]", float16, bfloat16, float, double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    constexpr std::size_t n = 37;
    for (const RowOp op : loss_row_ops) {
        for (const RowVariant& v : all_variants(op)) {
            if (v.probabilities || v.z_loss) continue;
            for (const std::int64_t ignored : {std::int64_t{-100}, std::int64_t{5}, std::int64_t{1} << 40}) {
                RowRequest r{.op = op, .n = n, .rows = 6, .ignore_index = ignored, .reduction = Reduction::none};
                if (v.smoothing) r.label_smoothing = 0.25;
                auto data = row_data<T>(r, v, 1);
                // On the CPU what is no class is refused (row_cpu_tests.cpp).
                if (RowBackend::device.backend == Backend::cpu) {
                    data.targets = {ignored, ignored, ignored, ignored, 7, ignored};
                } else {
                    data.targets = {ignored, -1, n, std::numeric_limits<std::int64_t>::min(), 7, ignored};
                }
                if (v.exp_sums) data.exp_sums = kept_exp_sums(data.x, r.n, r.rows);
                const auto got = run_rows<T>(r, data, 1);
                const std::size_t per_row = has_one_result(op) ? 1 : n;
                INFO(shown(r, v));
                for (std::size_t i = 0; i < got.out.size(); ++i) {
                    const std::size_t row = i / per_row;
                    if (row == 4) continue; // that is a class
                    const bool zero = data.targets[row] == ignored;
                    REQUIRE(is_bits(got.out[i], zero ? T{} : quiet_nan<T>));
                    if (has_one_result(op)) REQUIRE(is_bits(got.weight[i], zero ? V{} : quiet_nan<V>));
                }
            }
        }
    }
}

/// Of a GPU's plan pointers are looked at before anything runs.
TEST_CASE("rows: what forward writes over what it reads is refused by name", "[rows][status]") {
    constexpr std::uint64_t n = 8, rows = 3;
    const RowBackend::Array<double> memory(std::vector<double>(1 << 20), 0);
    auto* const p = reinterpret_cast<float*>(memory.data());
    const std::vector<std::int64_t> classes{1, 0, 7};
    const RowBackend::Array<std::int64_t> targets(classes, 0);
    RowRequest r;
    RowArrays good;
    const auto status = [&](const RowArrays& arrays, char* workspace) {
        r.n = n;
        r.rows = rows;
        r.device = RowBackend::device;
        const RowPlan plan = make_row_plan(r);
        throw_if_error(plan.status());
        return run(plan, arrays, workspace);
    };
    // A workspace that is askew is refused after all arrays: nothing runs.
    std::vector<double> other(1 << 16);
    char* const askew = reinterpret_cast<char*>(other.data()) + 4;
    const auto right = [&](const RowArrays& arrays) {
        const Status got = status(arrays, askew);
        return got.ok() || got.argument == std::string_view("workspace");
    };
    const auto wrong = [&](auto RowArrays::*member, std::initializer_list<int> places, const char* argument) {
        for (const int at : places) {
            RowArrays bad = good;
            bad.*member = p + at;
            INFO(name(r.op) << ' ' << argument << " at " << at);
            expect(status(bad, askew), StatusCode::invalid_argument, argument);
        }
    };
    for (const RowOp op : {RowOp::softmax, RowOp::log_softmax, RowOp::layernorm, RowOp::rmsnorm, RowOp::logsumexp}) {
        if (!is_offered(op)) continue;
        r = {.op = op};
        good = {.x = p, .out = p + 24};
        REQUIRE(right(good));
        wrong(&RowArrays::out, {0, 1, 23}, "out"); // not in place either
        good.out = p + 600;
        wrong(&RowArrays::x, {577, op == RowOp::logsumexp ? 602 : 623}, "out");
        r.stride = 20; // logsumexp, whose results are next to each other, has them between two rows
        if (op == RowOp::logsumexp) {
            good = {.x = p, .out = p + 8};
            REQUIRE(right(good));
            wrong(&RowArrays::out, {7, 18, 47}, "out");
            continue;
        }
        r.output_stride = 20;
        good = {.x = p, .out = p + 8};
        REQUIRE(right(good));
        wrong(&RowArrays::out, {7, 13, 47}, "out");
    }
    if (is_offered(RowOp::layernorm)) {
        r = {.op = RowOp::layernorm};
        good = {.x = p, .out = p + 50, .scale = p + 100, .shift = p + 110, .mean = p + 120, .rstd = p + 123};
        REQUIRE(right(good));
        wrong(&RowArrays::out, {93, 107, 110, 117}, "out");
        wrong(&RowArrays::mean, {0, 23, 48, 73, 98, 107, 117}, "mean");
        wrong(&RowArrays::rstd, {0, 23, 48, 73, 98, 107, 117, 118, 122}, "rstd");
    }
    const bool no_workspace = RowBackend::device.backend == Backend::cpu;
    for (const RowOp op : {RowOp::cross_entropy, RowOp::nll}) {
        for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
            r = {.op = op, .reduction = reduction};
            good = {.x = p, .out = p + 24, .targets = targets.data(), .weights = p + 40};
            REQUIRE(right(good));
            wrong(&RowArrays::out, {0, 23, 40, 47}, "out");
            if (reduction == Reduction::none) {
                wrong(&RowArrays::row_weights, {0, 22, 24, 26, 38, 47}, "row_weights");
                wrong(&RowArrays::out, {38}, "out");
            } else { // one number of all rows
                good.out = p + 39;
                REQUIRE(right(good));
            }
            RowArrays bad = good;
            bad.out = const_cast<std::int64_t*>(targets.data());
            expect(status(bad, askew), StatusCode::invalid_argument, "out");
            if (reduction == Reduction::none) continue;
            r.n = n, r.rows = rows, r.device = RowBackend::device;
            const std::size_t bytes = make_row_plan(r).workspace_bytes();
            REQUIRE((bytes > 0 && bytes < sizeof(float) << 20));
            float* const far = p + (1 << 20);
            good = {.x = far, .out = far + 100, .targets = targets.data()};
            const auto at = [&](float* place) { return reinterpret_cast<char*>(place); };
            for (float* const bad_place : {far, far + 22, far + 100, far - bytes / 4 + 2}) {
                const Status got = status(good, at(bad_place));
                expect(got, StatusCode::invalid_argument, "workspace");
                REQUIRE(std::string_view(got.allowed).find("overlap") != std::string_view::npos);
            }
            if (no_workspace) REQUIRE(status(good, at(far - bytes / 4)).ok());
        }
    }
    if (is_offered(RowOp::layernorm_gradient)) { // gradients by tree, whose terms are in the workspace
        r = {.op = RowOp::layernorm_gradient, .parameters = true, .method = Method::tree};
        good = {.x = p,
                .out = p + 50,
                .mean = p + 120,
                .rstd = p + 130,
                .upstream = p + 150,
                .scale_gradient = p + 200,
                .shift_gradient = p + 220};
        for (const int place : {0, 22, 50, 72, 120, 132, 150, 172, 206, 226}) {
            const Status got = status(good, reinterpret_cast<char*>(p + place));
            expect(got, StatusCode::invalid_argument, "workspace");
            REQUIRE(std::string_view(got.allowed).find("overlap") != std::string_view::npos);
        }
    }
}

} // namespace detreduce::proptests
