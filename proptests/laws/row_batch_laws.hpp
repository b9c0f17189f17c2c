// Laws of losses that are reduced over rows, and of targets that are probabilities. Included by
// row_laws.hpp.
#pragma once

#include <numeric>

#include <detreduce/exact_state.hpp>
#include <detreduce/host.hpp>

namespace detreduce::proptests {

inline constexpr Method batch_methods[] = {Method::exact, Method::compensated, Method::kahan, Method::tree};

/// The rows' losses and weights, in the format in which they are computed.
template <class T>
RowResults<fp::Arithmetic<T>, fp::Arithmetic<T>> losses_of_rows(RowRequest r, RowData<T> data) {
    r.op = r.op == RowOp::nll || r.op == RowOp::nll_gradient ? RowOp::nll : RowOp::cross_entropy;
    r.reduction = Reduction::none;
    data.factor.clear();
    return RowBackend::template expected<fp::Arithmetic<T>>(r, data);
}
/// By reduce_as(), which other laws compare with the text.
template <class V>
double sum_of(const std::vector<V>& values, Method method) {
    return reduce_as<double>(Op::sum, values, method);
}
/// Section 17.5.
template <class Out, class T>
Out expected_of_batch(const RowRequest& r, const RowData<T>& data) {
    using V = fp::Arithmetic<T>;
    const auto rows = losses_of_rows(r, data);
    if (r.reduction == Reduction::mean)
        return fp::round_to<Out>(sum_of(rows.out, r.method) / sum_of(rows.weight, r.method));
    if (r.method == Method::exact || std::is_same_v<Out, V>) return reduce_as<Out>(Op::sum, rows.out, r.method);
    return fp::round_to<Out>(sum_of(rows.out, r.method));
}

/// Rows that all have a loss, so that more is seen than NaN.
template <class T>
void mend(RowData<T>& data, const RowRequest& r) {
    data.x = numbers_between<T>(-9, 0, data.x.size(), r.rows);
}

/// Losses and gradients of several lengths, in rows enough for a sum of several levels now and
/// then.
template <class T, class Check>
void for_batches(std::uint64_t seed, const Check& check) {
    for (const RowOp op : loss_row_ops) {
        const auto list = variants(op);
        for (std::size_t v = 0; v < list.size(); ++v) {
            for (const std::uint64_t n : {1, 5, 400}) {
                const auto word = accuracy::hash(seed * 64 + static_cast<std::uint64_t>(op), n * 16 + v);
                RowRequest r{
                    .op = op, .n = n, .label_smoothing = list[v].smoothing ? 0.1 : 0, .reduction = Reduction::none};
                choose(r, word);
                if (n == 1 && word / 2 % 4 == 0) r.rows = 9000;
                r.method = batch_methods[word / 8 % 4];
                auto data = row_data<T>(r, list[v], word);
                if (word / 512 % 2) mend(data, r);
                check(r, data, word >> 30);
            }
        }
    }
}
template <class T>
void require_number(T got, T expected) {
    CAPTURE(fp::widen(got), fp::widen(expected));
    REQUIRE(fp::to_bits(got) == fp::to_bits(expected));
}

TEMPLATE_TEST_CASE("rows: reduced, losses are the sum of those of the rows, or that over the sum of weights", "[rows]",
                   float16, bfloat16, float, double) {
    for_batches<TestType>(1, [](RowRequest r, const auto& data, std::uint64_t word) {
        if (has_factor(r.op)) return;
        for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
            r.reduction = reduction;
            if (reduction == Reduction::mean && r.rows == 0) continue;
            INFO(shown(r, {}));
            for_outputs<TestType>([&]<class Out>(Out) {
                require_number(run_rows<Out>(r, data, static_cast<unsigned>(word % 5)).out.at(0),
                               expected_of_batch<Out>(r, data));
            });
        }
    });
}

TEMPLATE_TEST_CASE("rows: every kernel of a batch, on few elements", "[rows][sanitizer]", float, double) {
    using T = TestType;
    for (const RowOp op : loss_row_ops) {
        const RowRequest r{.op = op, .n = 5, .rows = 40, .reduction = Reduction::mean};
        auto data = row_data<T>(r, {}, 3);
        mend(data, r);
        const auto got = run_rows<T>(r, data, 0);
        if (has_factor(op)) {
            REQUIRE(got.out.size() == 200);
        } else {
            require_number(got.out.at(0), expected_of_batch<T>(r, data));
        }
    }
}

TEMPLATE_TEST_CASE("rows: gradients of the mean are those of the rows, divided by the sum of weights", "[rows]",
                   float16, bfloat16, float, double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    for_batches<T>(2, [](RowRequest r, const RowData<T>& data, std::uint64_t word) {
        if (!has_factor(r.op)) return;
        INFO(shown(r, {}));
        const auto place = static_cast<unsigned>(word % 5);
        r.reduction = Reduction::sum;
        require_same(run_rows<T>(r, data, place), RowBackend::template expected<T>(r, data));
        const double weights = sum_of(losses_of_rows(r, data).weight, r.method);
        RowData<T> divided = data;
        divided.factor = {fp::round_to<V>((data.factor.empty() ? 1 : static_cast<double>(data.factor[0])) / weights)};
        r.reduction = Reduction::none;
        const auto expected = RowBackend::template expected<T>(r, divided);
        r.reduction = Reduction::mean;
        require_same(run_rows<T>(r, data, place), expected);
    });
}

/// The rows in another order.
template <class T>
RowData<T> reordered(const RowRequest& r, const RowData<T>& data, const std::vector<std::uint64_t>& order) {
    RowData<T> other = data;
    const auto move = [&](auto& to, const auto& from, std::uint64_t width) {
        for (std::uint64_t i = 0; !from.empty() && i < r.rows; ++i)
            std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(order[i] * width), width,
                        to.begin() + static_cast<std::ptrdiff_t>(i * width));
    };
    move(other.x, data.x, r.n);
    move(other.targets, data.targets, 1);
    move(other.probabilities, data.probabilities, r.n);
    return other;
}

TEMPLATE_TEST_CASE("rows: by exact, rows have no order, and batches grow by micro-batches", "[rows]", float16, bfloat16,
                   float, double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    for_batches<T>(3, [](RowRequest r, RowData<T> data, std::uint64_t word) {
        if (has_factor(r.op) || r.rows == 0) return;
        mend(data, r);
        r.method = Method::exact;
        r.reduction = word % 2 ? Reduction::sum : Reduction::mean;
        INFO(shown(r, {}));
        const T whole = run_rows<T>(r, data, 0).out.at(0);
        std::vector<std::uint64_t> order(r.rows);
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(),
                  [&](std::uint64_t a, std::uint64_t b) { return accuracy::hash(word, a) < accuracy::hash(word, b); });
        require_number(run_rows<T>(r, reordered(r, data, order), 0).out.at(0), whole);

        ExactState losses, weights;
        const auto rows = losses_of_rows(r, data);
        for (const auto& [first, count] :
             {std::pair{r.rows / 3, r.rows - r.rows / 3}, {std::uint64_t{0}, r.rows / 3}}) {
            throw_if_error(losses.add(std::span<const V>(rows.out).subspan(first, count)));
            throw_if_error(weights.add(std::span<const V>(rows.weight).subspan(first, count)));
        }
        const T grown = r.reduction == Reduction::sum
                            ? losses.template round<T>()
                            : fp::round_to<T>(losses.template round<double>() / weights.template round<double>());
        require_number(grown, whole);
    });
}

TEMPLATE_TEST_CASE("rows: a probability of 1 is a class", "[rows]", float16, bfloat16, float, double) {
    using T = TestType;
    for (const std::size_t n : row_lengths<T>()) {
        if (n == 0) continue;
        for (const bool weights : {false, true}) {
            const RowRequest r{.op = RowOp::cross_entropy, .n = n, .rows = 3, .reduction = Reduction::none};
            RowData<T> data = row_data<T>(r, {.weights = weights}, n);
            mend(data, r);
            for (std::uint64_t i = 0; i < r.rows; ++i)
                data.targets[i] = static_cast<std::int64_t>(accuracy::hash(n, i) % n);
            RowData<T> given = data;
            given.targets.clear();
            given.probabilities.assign(r.rows * n, T{});
            for (std::uint64_t i = 0; i < r.rows; ++i)
                given.probabilities[i * n + static_cast<std::uint64_t>(data.targets[i])] = fp::round_to<T>(1.0f);
            const auto by_class = run_rows<T>(r, data, 0).out, by_probability = run_rows<T>(r, given, 0).out;
            INFO("n " << n << " weights " << weights);
            for (std::uint64_t i = 0; i < r.rows; ++i)
                REQUIRE(fp::widen(by_class[i]) == fp::widen(by_probability[i]));
        }
    }
}

TEMPLATE_TEST_CASE("rows: special values of probabilities, and of what is reduced", "[rows]", float16, bfloat16, float,
                   double) {
    using T = TestType;
    const auto numbers = [](std::initializer_list<double> list) {
        std::vector<T> to;
        for (const double v : list)
            to.push_back(fp::round_to<T>(v));
        return to;
    };
    const double inf = infinity<double>, nan = proptests::quiet_nan<double>;
    const RowRequest r{.op = RowOp::cross_entropy, .n = 3, .reduction = Reduction::none};
    const auto soft = [&](std::initializer_list<double> x, std::initializer_list<double> q, double smoothing = 0) {
        RowRequest with = r;
        with.label_smoothing = smoothing;
        return run_rows<T>(with, RowData<T>{.x = numbers(x), .probabilities = numbers(q)}, 0).out[0];
    };
    // A class that is masked on both sides adds nothing; one that has a probability, an infinity;
    // and a NaN all.
    require_number(soft({0, -inf, 0}, {1, 0, 0}), soft({0, -1e4, 0}, {1, 0, 0}));
    require_number(soft({0, -inf, 0}, {0.5, 0.5, 0}), infinity<T>);
    require_number(soft({0, -inf, 0}, {1, 0, 0}, 0.1), infinity<T>);
    require_number(soft({0, nan, 0}, {1, 0, 0}), quiet_nan<T>);
    require_number(soft({0, 1, 0}, {1, nan, 0}), quiet_nan<T>);
    require_number(soft({0, inf, 0}, {0, 0, 0}), quiet_nan<T>);
    require_number(soft({0, 1, 0}, {0, 0, 0}), T{});

    struct Case {
        std::vector<std::int64_t> targets;
        T sum, mean;
    };
    const T n = quiet_nan<T>, two = fp::round_to<T>(2.0f), one = fp::round_to<T>(1.0f);
    std::vector<Case> cases{{{-100, -100}, T{}, n}, {{0, 1}, two, one}, {{1, -100}, two, two}};
    if (RowBackend::device.backend == Backend::cuda)
        cases.push_back({{1, 7}, n, n}); // the CPU refuses what is no class
    for (const Case& c : cases) {
        RowRequest of_nll{.op = RowOp::nll, .n = 2, .rows = 2, .reduction = Reduction::sum};
        const RowData<T> data{.x = numbers({-2, -2, -7, -0.0}), .targets = c.targets};
        for (const Method method : batch_methods) {
            of_nll.method = method;
            of_nll.reduction = Reduction::sum;
            require_number(run_rows<T>(of_nll, data, 0).out.at(0), c.sum);
            of_nll.reduction = Reduction::mean;
            require_number(run_rows<T>(of_nll, data, 0).out.at(0), c.mean);
        }
    }
    for (const RowOp op : {RowOp::cross_entropy, RowOp::nll}) {
        const RowRequest none{.op = op, .n = 4, .rows = 0, .reduction = Reduction::sum};
        require_number(run_rows<T>(none, RowData<T>{}, 0).out.at(0), T{});
    }
}

} // namespace detreduce::proptests
