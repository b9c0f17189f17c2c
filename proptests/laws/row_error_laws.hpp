// Laws of row ops that the oracle decides: how near results are to the true ones. Included by
// row_laws.hpp.
#pragma once

#include <deque>
#include <memory>
#include <numeric>

#include <detreduce/accuracy/oracle.hpp>
#include <detreduce/accuracy/row_bounds.hpp>
#include <detreduce/accuracy/row_oracle.hpp>
#include <detreduce/spec/exp_term.hpp>

namespace detreduce::proptests {

template <class T>
std::vector<double> doubles(const std::vector<T>& x) {
    std::vector<double> to;
    for (const T v : x)
        to.push_back(static_cast<double>(fp::widen(v)));
    return to;
}

inline constexpr std::size_t longest_of_all_kinds = 400;

/// Finite rows, with elements −∞ where those are asked for too: every family of generators, and
/// every kind.
template <class T>
std::vector<std::vector<T>> hard_rows(std::size_t n, std::uint64_t seed, bool infinite) {
    std::vector<std::vector<T>> rows;
    if (n > longest_of_all_kinds) { // where sums have more levels: a few kinds, for the time an oracle takes
        for (const RowKind kind : {RowKind::wide, RowKind::at_lowest_term, RowKind::far_ahead})
            rows.push_back(row_of<T>(kind, n, seed));
        return rows;
    }
    for (const accuracy::Family family : accuracy::families()) {
        if (family != accuracy::Family::nonfinite) rows.push_back(accuracy::generate<T>(family, n, seed));
    }
    for (int kind = 0; kind < finite_row_kinds; ++kind)
        rows.push_back(row_of<T>(static_cast<RowKind>(kind), n, seed));
    if (infinite) rows.push_back(row_of<T>(RowKind::some_minus, n, seed));
    return rows;
}
/// Lengths: one element, one lane, rows, several chunks, and a tile and a bit.
template <class T>
inline constexpr std::size_t error_lengths[] = {
    1, 2, 33, longest_of_all_kinds, 3 * spec::TreeOrder<sizeof(T)>::chunk + 5, spec::TreeOrder<sizeof(T)>::tile + 5};

/// A row's oracle, and its bounds.
template <class T>
struct JudgedRow {
    using V = fp::Arithmetic<T>;
    std::vector<double> x;
    accuracy::RowOracle oracle;
    accuracy::ExpSumCase sum;

    explicit JudgedRow(const std::vector<T>& row) : x(doubles(row)), oracle(x), sum{dtype_of<T>, x.size()} {}
    [[nodiscard]] double logsumexp_bound(DType output) const {
        return accuracy::logsumexp_bound(sum, output, oracle.log_others(), std::fabs(oracle.log_sum(0)));
    }
    [[nodiscard]] double softmax_bound(DType output, std::size_t i) const {
        return accuracy::softmax_bound(sum, output, oracle.softmax(i));
    }
    [[nodiscard]] double log_softmax_bound(DType output, std::size_t i) const {
        return accuracy::log_softmax_bound(sum, output, oracle.log_others(), oracle.maximum() - x[i]);
    }
    /// For a λ that every format has.
    [[nodiscard]] accuracy::ZSizes z_sizes() const {
        return {0x1p-7, std::fabs(oracle.log_sum(0)), logsumexp_bound(dtype_of<V>)};
    }
    /// Are x − m, and what is made of it, numbers of the output?
    template <class Out>
    [[nodiscard]] bool fits(std::size_t i) const {
        return std::fabs(oracle.log_softmax(i)) < 0.99 * static_cast<double>(fp::widen(largest<Out>));
    }
};

/// One row, in one format.
template <class Out, class T>
RowResults<Out, fp::Arithmetic<T>> run_row(RowRequest r, const std::vector<T>& x, RowData<T> data = {}) {
    data.x = x;
    r.n = x.size();
    return run_rows<Out>(r, data, static_cast<unsigned>(x.size() % 3));
}
/// Requires errors to be within their bounds, and counts them: a row may have none that can be
/// judged.
class Within {
  public:
    void operator()(double error, double bound) {
        ++checked_;
        if (error <= bound) return; // as nearly all are
        CAPTURE(error, bound, error / bound);
        REQUIRE(error <= bound);
    }
    [[nodiscard]] std::uint64_t checked() const { return checked_; }

  private:
    std::uint64_t checked_ = 0;
};

/// check(row, within) for hard rows of several lengths. Three in four of each length must have
/// something to check, in each output.
template <class T, class Check>
void for_hard_rows(bool infinite, const Check& check) {
    for (const std::size_t n : error_lengths<T>) {
        std::size_t number = 0, judged[fp::is_narrow<T> ? 2 : 1] = {};
        for (const auto& row : hard_rows<T>(n, n + 3, infinite)) {
            INFO("n " << n << ", row " << number++);
            Within within[std::size(judged)];
            check(row, [&]<class Out>(Out) -> Within& { return within[sizeof(Out) != sizeof(T)]; });
            for (std::size_t k = 0; k < std::size(judged); ++k)
                judged[k] += within[k].checked() > 0;
        }
        for (const std::size_t rows : judged) {
            CAPTURE(n, rows, number);
            REQUIRE(4 * rows >= 3 * number);
        }
    }
}

TEMPLATE_TEST_CASE("rows: logsumexp, softmax and log_softmax are within their bounds", "[rows][error]", float16,
                   bfloat16, float, double) {
    using T = TestType;
    for_hard_rows<T>(true, [](const std::vector<T>& row, const auto& within_of) {
        if (std::all_of(row.begin(), row.end(), [](T v) { return !fp::is_finite(v); })) return;
        const JudgedRow<T> judged(row);
        const auto check = [&]<class Out>(Out) {
            const DType out = dtype_of<Out>;
            Within& within = within_of(Out{});
            const auto lse = doubles(run_row<Out>({.op = RowOp::logsumexp}, row).out),
                       p = doubles(run_row<Out>({.op = RowOp::softmax}, row).out),
                       v = doubles(run_row<Out>({.op = RowOp::log_softmax}, row).out);
            within(judged.oracle.logsumexp_error(lse[0]), judged.logsumexp_bound(out));
            double sum_of_bounds = 0;
            accuracy::ExactSum sum;
            for (std::size_t i = 0; i < row.size(); ++i) {
                within(judged.oracle.softmax_error(i, p[i]), judged.softmax_bound(out, i));
                REQUIRE(!(v[i] > 0));
                if (!fp::is_finite(row[i]) || judged.template fits<Out>(i))
                    within(judged.oracle.log_softmax_error(i, v[i]), judged.log_softmax_bound(out, i));
                sum.add(p[i]);
                sum_of_bounds += judged.softmax_bound(out, i);
            }
            within(std::fabs(sum.template round<double>() - 1), sum_of_bounds + 0x1p-53);
        };
        for_outputs<T>(check);
    });
}

TEMPLATE_TEST_CASE("rows: adding a number to a row adds it to logsumexp", "[rows][error]", float16, bfloat16, float,
                   double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    Within within;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const std::size_t n = 1 + seed * seed;
        const double shift = std::floor(between(-40, 40, seed, 1)) * (!fp::is_narrow<T> && seed % 3 == 0 ? 100 : 1);
        std::vector<T> x, moved;
        for (std::size_t i = 0; i < n; ++i) {
            const double v = std::floor(between(-40, 40, seed, i + 9)) / 2; // exact, and so is the sum
            x.push_back(fp::round_to<T>(v));
            moved.push_back(fp::round_to<T>(v + shift));
            REQUIRE(static_cast<double>(fp::widen(moved.back())) == v + shift);
        }
        const double a = static_cast<double>(run_row<V>({.op = RowOp::logsumexp}, x).out[0]),
                     b = static_cast<double>(run_row<V>({.op = RowOp::logsumexp}, moved).out[0]);
        const JudgedRow<T> from(x), to(moved);
        INFO("seed " << seed << " shift " << shift);
        within(std::fabs(b - a - shift),
               from.logsumexp_bound(dtype_of<V>) + to.logsumexp_bound(dtype_of<V>) + 0x1p-50 * std::fabs(b));
    }
    REQUIRE(within.checked() == 40);
}

/// A target with what the op is told of it.
template <class T>
struct Judgement {
    RowRequest request;
    RowData<T> data;
    std::vector<double> weights, probabilities;
    accuracy::RowTarget target;

    /// What class i counts.
    [[nodiscard]] double share(std::size_t i) const {
        const double q = !probabilities.empty() ? probabilities[i] : i == target.y ? 1 : 0;
        const double smooth = (1 - target.smoothing) * q + target.smoothing / static_cast<double>(request.n);
        return smooth * (weights.empty() ? 1 : weights[i]);
    }
    /// Does the target count alone?
    [[nodiscard]] bool is_alone() const { return probabilities.empty() && target.smoothing == 0; }
    [[nodiscard]] accuracy::LossSizes sizes(const JudgedRow<T>& row) const {
        accuracy::LossSizes sizes{};
        for (std::size_t i = 0; i < request.n; ++i) {
            if (share(i) == 0) continue;
            sizes.sizes += share(i) * std::fabs(row.oracle.log_softmax(i));
            sizes.bounds += share(i) * row.log_softmax_bound(dtype_of<fp::Arithmetic<T>>, i);
        }
        sizes.loss = sizes.sizes;
        sizes.alone = is_alone();
        return sizes;
    }
};
/// Of class y, unless there are probabilities.
template <class T>
Judgement<T> judgement(RowOp op, const RowVariant& v, std::size_t n, std::uint64_t seed, std::size_t y) {
    Judgement<T> j;
    j.request = {.op = op, .n = n, .label_smoothing = v.smoothing ? 0.1 : 0, .reduction = Reduction::none};
    j.data = row_data<T>(j.request, v, seed);
    if (!v.probabilities) j.data.targets = {static_cast<std::int64_t>(y)};
    j.weights = doubles(j.data.weights);
    j.probabilities = doubles(j.data.probabilities);
    const auto& factor = v.upstream ? j.data.row_upstream : j.data.factor;
    j.target = {y, j.weights, j.request.label_smoothing, factor.empty() ? 1 : static_cast<double>(factor[0]),
                j.probabilities};
    return j;
}
template <class T>
Judgement<T> judgement(RowOp op, const RowVariant& v, std::size_t n, std::uint64_t seed) {
    return judgement<T>(op, v, n, seed, accuracy::hash(seed, 3) % n);
}

TEMPLATE_TEST_CASE("rows: cross entropy is within its bound", "[rows][error]", float16, bfloat16, float, double) {
    using T = TestType;
    for_hard_rows<T>(false, [](const std::vector<T>& row, const auto& within_of) {
        const JudgedRow<T> judged(row);
        const std::size_t n = row.size();
        double longest = 0;
        for (std::size_t i = 0; i < n; ++i)
            longest = std::max(longest, std::fabs(judged.oracle.log_softmax(i)));
        if (longest > 1e36 && !fp::is_f64<T>) return; // sums of them would overflow
        const accuracy::ZSizes z = judged.z_sizes();
        for (const RowVariant& v : all_variants(RowOp::cross_entropy)) {
            auto j = judgement<T>(RowOp::cross_entropy, v, n, n);
            if (v.z_loss) j.request.z_loss = j.target.z_loss = z.lambda;
            const auto sizes = j.sizes(judged);
            const double loss = sizes.loss + j.target.z_loss * z.logsumexp * z.logsumexp;
            const auto check = [&]<class Out>(Out) {
                if (loss > 0.99 * static_cast<double>(fp::widen(largest<Out>))) return;
                const auto got = doubles(run_row<Out>(j.request, row, j.data).out);
                REQUIRE(got[0] >= 0);
                const auto bound = [&](DType output) {
                    return accuracy::cross_entropy_bound(dtype_of<T>, output, n, sizes);
                };
                constexpr DType out = dtype_of<Out>, wide = dtype_of<fp::Arithmetic<T>>;
                within_of(Out{})(judged.oracle.loss_error(j.target, got[0]),
                                 v.z_loss ? accuracy::z_loss_bound(dtype_of<T>, out, z, sizes.loss, bound(wide))
                                          : bound(out));
            };
            for_outputs<T>(check);
        }
    });
}

TEMPLATE_TEST_CASE("rows: the mean of cross entropy is within its bound", "[rows][error]", float16, bfloat16, float,
                   double) {
    using T = TestType;
    constexpr std::size_t n = 33;
    Within within;
    std::size_t expected = 0;
    for (const RowVariant& v : variants(RowOp::cross_entropy)) {
        std::deque<Judgement<T>> judgements; // to which losses point
        std::vector<std::unique_ptr<JudgedRow<T>>> rows;
        std::vector<accuracy::RowOracle::Loss> losses;
        RowData<T> all;
        accuracy::MeanSizes sizes{};
        constexpr RowKind kinds[] = {RowKind::ordinary, RowKind::wide, RowKind::very_low, RowKind::at_lowest_term};
        while (rows.size() < 40) {
            const auto row = row_of<T>(kinds[rows.size() % 4], n, rows.size());
            const auto& j = judgements.emplace_back(
                judgement<T>(RowOp::cross_entropy, v, n, 5, accuracy::hash(3, rows.size()) % n));
            rows.push_back(std::make_unique<JudgedRow<T>>(row));
            losses.push_back({&rows.back()->oracle, j.target});
            all.x.insert(all.x.end(), row.begin(), row.end());
            all.targets.insert(all.targets.end(), j.data.targets.begin(), j.data.targets.end());
            all.probabilities.insert(all.probabilities.end(), j.data.probabilities.begin(), j.data.probabilities.end());
            const auto of_row = j.sizes(*rows.back());
            sizes.losses += of_row.sizes;
            sizes.bounds += accuracy::cross_entropy_bound(dtype_of<T>, dtype_of<fp::Arithmetic<T>>, n, of_row);
            sizes.weights += v.probabilities || !v.weights ? 1 : j.weights[j.target.y];
        }
        RowRequest r = judgements[0].request;
        all.weights = judgements[0].data.weights;
        sizes.mean = sizes.losses / sizes.weights;
        r.rows = rows.size();
        r.reduction = Reduction::mean;
        for (const Method method : batch_methods) {
            r.method = method;
            INFO(shown(r, v));
            for_outputs<T>([&]<class Out>(Out) {
                ++expected;
                const auto got = doubles(run_rows<Out>(r, all, 0).out);
                within(accuracy::RowOracle::mean_loss_error(losses, got.at(0)),
                       accuracy::mean_loss_bound(method, dtype_of<T>, dtype_of<Out>, r.rows, sizes));
            });
        }
    }
    REQUIRE(expected >= std::size(batch_methods));
    REQUIRE(within.checked() == expected);
}

/// The gradient of cross entropy at some elements of a row.
template <class T>
class JudgedSlopes {
  public:
    JudgedSlopes(const JudgedRow<T>& row, const Judgement<T>& j) : row_(row), j_(j), z_(row.z_sizes()) {
        if (j.target.smoothing == 0 && j.probabilities.empty()) {
            all_ = j.share(j.target.y);
        } else {
            for (std::size_t i = 0; i < j.request.n; ++i)
                all_ += j.share(i);
        }
    }
    [[nodiscard]] double bound(DType output, std::size_t i) const {
        const double p = row_.oracle.softmax(i), factor = j_.target.factor;
        const accuracy::SlopeSizes of{p, all_, j_.share(i), factor};
        if (j_.target.z_loss != 0) return accuracy::z_gradient_bound(row_.sum, output, of, z_);
        if (!j_.is_alone()) return accuracy::cross_entropy_gradient_bound(row_.sum, output, of);
        const bool target = i == j_.target.y;
        return accuracy::own_gradient_bound(row_.sum, output, target ? row_.oracle.rest(i) : p, factor * all_, target);
    }
    /// Of all results those of these elements; the sum of their bounds.
    double operator()(const std::vector<double>& got, std::span<const std::size_t> elements, DType output,
                      Within& within) const {
        const auto errors = row_.oracle.slope_errors(j_.target, got, elements);
        double sum_of_bounds = 0;
        for (std::size_t k = 0; k < elements.size(); ++k) {
            const double b = bound(output, elements[k]);
            within(errors[k], b);
            sum_of_bounds += b;
        }
        return sum_of_bounds;
    }

  private:
    const JudgedRow<T>& row_;
    const Judgement<T>& j_;
    accuracy::ZSizes z_;
    double all_ = 0;
};

TEMPLATE_TEST_CASE("rows: the gradient of cross entropy is within its bound, also of central differences",
                   "[rows][error]", float16, bfloat16, float, double) {
    using T = TestType;
    for_hard_rows<T>(false, [](const std::vector<T>& row, const auto& within_of) {
        const JudgedRow<T> judged(row);
        const std::size_t n = row.size();
        const bool small = n <= longest_of_all_kinds &&
                           std::all_of(judged.x.begin(), judged.x.end(), [](double v) { return std::fabs(v) < 1e30; });
        std::vector<std::size_t> elements(n);
        std::iota(elements.begin(), elements.end(), 0);
        for (const RowVariant& v : all_variants(RowOp::cross_entropy_gradient)) {
            if (v.exp_sums || (n > longest_of_all_kinds && (v.factor || v.upstream))) continue;
            auto j = judgement<T>(RowOp::cross_entropy_gradient, v, n, n);
            if (v.z_loss) j.request.z_loss = j.target.z_loss = judged.z_sizes().lambda;
            const JudgedSlopes<T> judge(judged, j);
            const auto check = [&]<class Out>(Out) {
                const auto got = doubles(run_row<Out>(j.request, row, j.data).out);
                Within& within = within_of(Out{});
                const double sum_of_bounds = judge(got, elements, dtype_of<Out>, within);
                if (small) {
                    for (const std::size_t i : {n / 2, j.target.y})
                        within(judged.oracle.difference_error(j.target, i, got[i]),
                               judge.bound(dtype_of<Out>, i) + 0x1p-100);
                }
                // softmax sums to 1, and so does what is subtracted, weights or not; with λ
                // 2λ·logsumexp remains.
                const double sum = accuracy::correctly_rounded_sum(std::span<const double>(got)),
                             left = 2 * j.target.z_loss * judged.oracle.log_sum(0) * j.target.factor;
                within(std::fabs(sum - left), sum_of_bounds * (1 + 0x1p-40) + std::fabs(left) * 0x1p-50);
            };
            for_outputs<T>(check);
        }
    });
}

/// Logits of a network, of so few different numbers that an oracle of a long row takes no time.
struct Logits {
    double mean, deviation;
    bool one_ahead; ///< by so much that it is nearly certain
};
template <class T>
std::vector<T> row_of(const Logits& of, std::size_t n, std::uint64_t seed) {
    const auto normal = accuracy::generate<double>(accuracy::Family::normal, 2000, seed);
    std::vector<T> x;
    for (std::size_t i = 0; i < n; ++i)
        x.push_back(fp::round_to<T>(of.mean + of.deviation * normal[accuracy::hash(seed, i) % normal.size()]));
    if (of.one_ahead) x[accuracy::hash(seed, n) % n] = fp::round_to<T>(of.mean + 12 * of.deviation);
    return x;
}

TEMPLATE_TEST_CASE("rows: cross entropy and its gradient are within their bounds in rows as long as vocabularies",
                   "[rows][error]", float16, bfloat16, float, double) {
    using T = TestType;
    constexpr struct {
        Logits logits;
        std::size_t n;
    } list[] = {{{0, 5, false}, 50257},   {{0, 5, false}, 262144}, {{-100, 10, false}, 131072},
                {{60, 20, false}, 65537}, {{0, 5, true}, 50257},   {{0, 5, true}, 262144}};
    for (const auto& [logits, n] : list) {
        INFO("n " << n << " about " << logits.mean << (logits.one_ahead ? ", one ahead" : ""));
        const auto row = row_of<T>(logits, n, n);
        const JudgedRow<T> judged(row);
        const auto peak =
            static_cast<std::size_t>(std::max_element(judged.x.begin(), judged.x.end()) - judged.x.begin());
        for (const std::size_t y : {peak, n / 2}) {
            std::vector<std::size_t> elements{peak, n / 2, n - 1};
            for (std::size_t i = 0; i < n; i += 61)
                elements.push_back(i);
            for (const RowVariant& v : {RowVariant{}, RowVariant{.smoothing = true}, RowVariant{.z_loss = true}}) {
                auto j = judgement<T>(RowOp::cross_entropy_gradient, v, n, n, y);
                if (v.z_loss) j.request.z_loss = j.target.z_loss = judged.z_sizes().lambda;
                const JudgedSlopes<T> judge(judged, j);
                for_outputs<T>([&]<class Out>(Out) {
                    Within within;
                    const auto got = doubles(run_row<Out>(j.request, row, j.data).out);
                    (void)judge(got, elements, dtype_of<Out>, within);
                    REQUIRE(within.checked() == elements.size());
                    if (v.smoothing || v.z_loss) return; // the oracle of a target alone is quick
                    RowRequest r = j.request;
                    r.op = RowOp::cross_entropy;
                    const double loss = doubles(run_row<Out>(r, row, j.data).out)[0];
                    within(judged.oracle.loss_error(j.target, loss),
                           accuracy::cross_entropy_bound(dtype_of<T>, dtype_of<Out>, n, j.sizes(judged)));
                });
            }
        }
    }
}

} // namespace detreduce::proptests
