// Laws of row ops for which a formula is enough. Included by row_laws.hpp.
#pragma once

#include <detreduce/plan.hpp>

namespace detreduce::proptests {

template <class T>
bool is_bits(T x, T y) {
    return fp::to_bits(x) == fp::to_bits(y);
}

TEMPLATE_TEST_CASE("rows: equal elements are normalized to nothing but the shift", "[rows]", float16, bfloat16, float,
                   double) {
    using T = TestType;
    for (const std::size_t n : row_lengths<T>()) {
        if (n == 0) continue;
        for (const double value : {0.0, -1.0, 3.14159, 6e4, -1e-7}) {
            const RowRequest r{.op = RowOp::layernorm, .n = n};
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
        for (const RowOp op : all_row_ops) {
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

TEMPLATE_TEST_CASE("rows: no elements, and no rows", "[rows]", float16, bfloat16, float, double) {
    using T = TestType;
    const RowData<T> nothing;
    const auto empty = run_rows<T>({.op = RowOp::logsumexp, .n = 0, .rows = 3}, nothing, 1);
    REQUIRE(empty.out.size() == 3);
    REQUIRE(std::all_of(empty.out.begin(), empty.out.end(), [](T v) { return is_bits(v, fp::negated(infinity<T>)); }));
    for (const RowOp op : {RowOp::softmax, RowOp::log_softmax})
        REQUIRE(run_rows<T>({.op = op, .n = 0, .rows = 3}, nothing, 0).out.empty());
    for (const RowOp op : all_row_ops)
        REQUIRE(run_rows<T>({.op = op, .n = 5, .rows = 0}, nothing, 0).out.empty());
}

TEMPLATE_TEST_CASE("rows: targets that are ignored, and that are none", "[rows]", float16, bfloat16, float, double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    constexpr std::size_t n = 37;
    for (const RowOp op : loss_row_ops) {
        for (const RowVariant& v : variants(op)) {
            if (v.probabilities) continue;
            for (const std::int64_t ignored : {std::int64_t{-100}, std::int64_t{5}, std::int64_t{1} << 40}) {
                RowRequest r{.op = op, .n = n, .rows = 6, .ignore_index = ignored};
                if (v.smoothing) r.label_smoothing = 0.25;
                auto data = row_data<T>(r, v, 1);
                // On the CPU what is no class is refused (row_cpu_tests.cpp).
                if (RowBackend::device.backend == Backend::cpu) {
                    data.targets = {ignored, ignored, ignored, ignored, 7, ignored};
                } else {
                    data.targets = {ignored, -1, n, std::numeric_limits<std::int64_t>::min(), 7, ignored};
                }
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

} // namespace detreduce::proptests
