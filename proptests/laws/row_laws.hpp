// Laws of row ops, on every backend. Included once a backend, after `RowBackend` has been defined:
//     static constexpr Device device
//     static constexpr std::uint64_t longest                                     elements of a batch of longer rows, for the time it takes
//     static std::span<const RowOp> ops()
//     static std::vector<Launch> launches()
//     template <class T> Array(const std::vector<T>&, unsigned offset)           a copy, `offset` elements after a boundary: data(), fetched()
//     static void execute(const RowPlan&, const RowArrays&)                      throws Error
//     static RowResults<Out, V> expected<Out>(RowRequest, const RowData<T>&)     what is right, of rows next to each other, not reduced
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <detreduce/transform_reduce.hpp>

#include <support/catch.hpp>

#include "laws/row_draws.hpp"
#include "laws/row_results.hpp"

namespace detreduce::proptests {

/// A copy of rows next to each other, `stride` apart; between them lies what must neither be read
/// nor written.
template <class T>
std::vector<T> spread(const std::vector<T>& rows, std::uint64_t n, std::uint64_t count, std::uint64_t stride,
                      T between_rows) {
    if (rows.empty()) return {};
    std::vector<T> to((count - 1) * stride + n, between_rows);
    for (std::uint64_t i = 0; i < count; ++i)
        std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(i * n), n,
                    to.begin() + static_cast<std::ptrdiff_t>(i * stride));
    return to;
}
/// The rows of what spread() made; throws if something lies between them that was not there before.
template <class T>
std::vector<T> gathered(const std::vector<T>& from, std::uint64_t n, std::uint64_t count, std::uint64_t stride,
                        T between_rows) {
    std::vector<T> rows;
    for (std::uint64_t i = 0; i < from.size(); ++i) {
        if (i % stride < n) {
            rows.push_back(from[i]);
        } else if (fp::to_bits(from[i]) != fp::to_bits(between_rows)) {
            throw_if_error({StatusCode::invalid_argument, "test", "nothing may be written between rows"});
        }
    }
    (void)count;
    return rows;
}

/// What is written over, by what has elements of the same type.
enum class Over : std::uint8_t { nothing, x, upstream, probabilities };

/// Runs the request on the backend, with rows and results as far apart as it says.
template <class Out, class T>
RowResults<Out, fp::Arithmetic<T>> run_rows(RowRequest r, const RowData<T>& data, unsigned offset, bool extras = true,
                                            Over over = Over::nothing) {
    using V = fp::Arithmetic<T>;
    r.dtype = dtype_of<T>;
    r.output = dtype_of<Out>;
    r.device = RowBackend::device;
    r.reduction = r.reduction.value_or(Reduction::none);
    const RowPlan plan = make_row_plan(r);
    throw_if_error(plan.status());
    const std::uint64_t per_row = plan.results(), rows = is_reduced(r) ? 1 : r.rows, entire = rows * per_row,
                        apart = is_reduced(r) ? 1 : plan.output_stride();
    const auto array = [&]<class N>(const std::vector<N>& x, unsigned by) { return RowBackend::Array<N>(x, by); };
    const auto x = array(spread(data.x, r.n, r.rows, plan.stride(), quiet_nan<T>), offset);
    const auto scale = array(data.scale, offset / 2), shift = array(data.shift, offset / 3);
    const auto weights = array(data.weights, offset / 2);
    const auto targets = array(data.targets, offset % 2);
    const auto probabilities =
        array(spread(data.probabilities, r.n, r.rows, r.probability_stride ? r.probability_stride : r.n, quiet_nan<T>),
              offset);
    const auto factor = array(data.factor, offset % 3);
    const auto upstream =
        array(spread(data.upstream, r.n, r.rows, r.upstream_stride ? r.upstream_stride : r.n, quiet_nan<T>), offset);
    const auto row_upstream = array(data.row_upstream, offset % 3);
    const Out blank = number<Out>(77);
    const auto out = array(spread(std::vector<Out>(entire, blank), per_row, rows, apart, blank), offset);
    const auto& written_over = over == Over::x ? x : over == Over::upstream ? upstream : probabilities;
    const auto numbers = [&](bool has) { return array(std::vector<V>(has && extras ? r.rows : 0, V(77)), offset); };
    const auto mean = data.mean.empty() ? numbers(r.op == RowOp::layernorm) : array(data.mean, offset),
               rstd = data.rstd.empty() ? numbers(of_norms(r.op)) : array(data.rstd, offset);
    const auto weight = numbers(has_row_weights(r));
    const auto exp_sums = data.exp_sums.empty()
                              ? array(std::vector<V>(extras && keeps_exp_sums(r.op) ? 2 * r.rows : 0, V(77)), offset)
                              : array(data.exp_sums, offset);
    RowBackend::execute(
        plan, {.x = x.data(),
               .out = over == Over::nothing ? static_cast<void*>(out.data()) : written_over.data(),
               .scale = scale.data(),
               .shift = shift.data(),
               .mean = mean.data(),
               .rstd = rstd.data(),
               .targets = targets.data(),
               .probabilities = probabilities.data(),
               .weights = weights.data(),
               .row_weights = weight.data(),
               .factor = factor.data(),
               .upstream = data.upstream.empty() ? static_cast<const void*>(row_upstream.data()) : upstream.data(),
               .exp_sums = exp_sums.data()});
    const auto results = [&] {
        if constexpr (std::is_same_v<Out, T>) {
            if (over != Over::nothing) return gathered(written_over.fetched(), r.n, rows, apart, quiet_nan<T>);
        }
        return gathered(out.fetched(), per_row, rows, apart, blank);
    };
    const auto fetched_unless = [](const auto& given, const auto& from) {
        return given.empty() ? from.fetched() : std::vector<V>();
    };
    return {results(), fetched_unless(data.mean, mean), fetched_unless(data.rstd, rstd), weight.fetched(),
            fetched_unless(data.exp_sums, exp_sums)};
}

inline void choose(RowRequest& r, std::uint64_t word) {
    constexpr std::uint64_t rows[] = {1, 2, 5, 37}, gaps[] = {0, 1, 3, 32};
    r.rows = word % 23 == 0 ? 0 : rows[word / 32 % 4];
    if (r.n * r.rows > RowBackend::longest) r.rows = 1;
    const auto launches = RowBackend::launches();
    r.launch = launches[word / 128 % launches.size()];
    if (word / 1024 % 2) r.stride = r.n + gaps[word / 2048 % 4];
    if (word / 8192 % 2 && !has_one_result(r.op)) r.output_stride = r.n + gaps[word / 16384 % 4];
    if (word / 131072 % 2 && of_entropy(r.op)) r.probability_stride = r.n + gaps[word / 262144 % 4];
    if (word / 131072 % 2 && has_upstream(r.op)) r.upstream_stride = r.n + gaps[word / 262144 % 4];
}

/// Every op and variant with rows of every length: check(request, variant, word).
template <class T, class Check>
void for_requests(std::uint64_t seed, const Check& check) {
    for (const RowOp op : RowBackend::ops()) {
        const auto list = all_variants(op);
        for (std::size_t v = 0; v < list.size(); ++v) {
            for (const std::size_t n : row_lengths<T>()) {
                if (n == 0 && needs_elements(op)) continue;
                const auto word = accuracy::hash(seed * 64 + static_cast<std::uint64_t>(op), n * 16 + v);
                RowRequest r{.op = op, .n = n, .epsilon = word % 5 == 0 ? 0 : 1e-5, .reduction = Reduction::none};
                if (list[v].smoothing) r.label_smoothing = word % 3 == 0 ? 1 : 0.1;
                if (list[v].z_loss) r.z_loss = word % 3 == 0 ? 2 : 1e-4;
                if (word % 4 == 0 && of_targets(op)) r.ignore_index = 0;
                check(r, list[v], word >> 8);
            }
        }
    }
}
/// And of the rest what chance gives: check(request, data, word).
template <class T, class Check>
void for_rows(std::uint64_t seed, const Check& check) {
    for_requests<T>(seed, [&](RowRequest r, const RowVariant& v, std::uint64_t word) {
        choose(r, word);
        INFO(shown(r, v));
        check(r, row_data<T>(r, v, word >> 20), word >> 8);
    });
}

/// Calls f with the output types of elements of T, one of them or both.
template <class T, class F>
void for_outputs(const F& f) {
    f(T{});
    if constexpr (fp::is_narrow<T>) f(float{});
}

TEMPLATE_TEST_CASE("rows: bits are those of the text", "[rows]", float16, bfloat16, float, double) {
    for_rows<TestType>(1, [](const RowRequest& r, const auto& data, std::uint64_t word) {
        for_outputs<TestType>([&]<class Out>(Out) {
            const auto expected = RowBackend::template expected<Out>(r, data);
            const auto got = run_rows<Out>(r, data, static_cast<unsigned>(word % 9));
            require_same(got, expected);
        });
    });
}

/// What instruments that take fifty times as long have time for: rows of a few lanes, of one chunk,
/// aligned or not, and of two tiles; every way to a loss.
TEMPLATE_TEST_CASE("rows: every kernel, on few elements", "[rows][sanitizer]", float16, bfloat16, float, double) {
    using T = TestType;
    for (const RowOp op : RowBackend::ops()) {
        for (const std::uint64_t n : {5, 304, 305, int{spec::TreeOrder<sizeof(T)>::tile} + 9}) {
            bool seen[2] = {}; // of most lengths the first variant is enough, and the first by sums that are given
            for (const RowVariant& v : all_variants(op)) {
                if (n != 305 && std::exchange(seen[v.exp_sums], true)) continue;
                const RowRequest r = request_of(op, n, 2, v);
                INFO(shown(r, v));
                const auto data = row_data<T>(r, v, n % 10);
                require_same(run_rows<T>(r, data, 0), RowBackend::template expected<T>(r, data));
            }
        }
    }
}

/// What is lost by a last operation shows in few rows.
TEMPLATE_TEST_CASE("rows: bits of many short rows are those of the text", "[rows]", float16, bfloat16, float, double) {
    for (const RowOp op : RowBackend::ops()) {
        for (const std::uint64_t n : {1, 2, 3, 33}) {
            const RowRequest r{.op = op, .n = n, .rows = 2000, .reduction = Reduction::none};
            const auto data = row_data<TestType>(r, {}, n);
            INFO(shown(r, {}));
            for_outputs<TestType>([&]<class Out>(Out) {
                require_same(run_rows<Out>(r, data, 0), RowBackend::template expected<Out>(r, data));
            });
        }
    }
}

TEMPLATE_TEST_CASE("rows: one alone has the bits that it has among others", "[rows]", float16, bfloat16, float,
                   double) {
    using T = TestType;
    for_rows<T>(3, [](const RowRequest& r, const RowData<T>& data, std::uint64_t word) {
        if (r.rows == 0 || r.n == 0) return;
        const auto together = run_rows<T>(r, data, static_cast<unsigned>(word % 9));
        const std::uint64_t i = word / 16 % r.rows, per_row = has_one_result(r.op) ? 1 : r.n;
        const auto part = [&]<class N>(const std::vector<N>& all, std::uint64_t width) {
            const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i * width);
            return all.empty() ? all : std::vector<N>(begin, begin + static_cast<std::ptrdiff_t>(width));
        };
        RowRequest alone = r;
        alone.rows = 1;
        alone.stride = alone.output_stride = alone.probability_stride = alone.upstream_stride = 0;
        const auto launches = RowBackend::launches();
        alone.launch = launches[word / 4096 % launches.size()];
        RowData<T> own = data;
        own.x = part(data.x, r.n);
        own.targets = part(data.targets, 1);
        own.probabilities = part(data.probabilities, r.n);
        own.upstream = part(data.upstream, r.n);
        own.row_upstream = part(data.row_upstream, 1);
        own.mean = part(data.mean, 1);
        own.rstd = part(data.rstd, 1);
        own.exp_sums = part(data.exp_sums, 2);
        require_same(run_rows<T>(alone, own, static_cast<unsigned>(word / 16 % 5)),
                     RowResults<T, fp::Arithmetic<T>>{part(together.out, per_row), part(together.mean, 1),
                                                      part(together.rstd, 1), part(together.weight, 1),
                                                      part(together.exp_sums, 2)});
    });
}

} // namespace detreduce::proptests

#include "laws/row_batch_laws.hpp"
#include "laws/row_error_laws.hpp"
#include "laws/row_norm_error_laws.hpp"
#include "laws/row_grad_laws.hpp"
#include "laws/row_scale_laws.hpp"
#include "laws/row_overlap_laws.hpp"
#include "laws/row_golden_laws.hpp"
#include "laws/row_batch_golden_laws.hpp"
#include "laws/row_special_laws.hpp"
