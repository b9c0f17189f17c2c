// Row ops on the CPU: what is made of the sums, means and variances of a row (host/row.hpp).
#include "host/row_ops.hpp"

#include <detreduce/spec/row_grads.hpp>

#include "host/fp_environment.hpp"
#include "host/row.hpp"
#include "plan_parts.hpp"

namespace detreduce::host {
namespace {

/// The ops, on one row.
template <class T, class Out>
struct RowRun {
    using V = fp::Arithmetic<T>;
    const RowPlan& plan;
    const RowArrays& arrays;
    Row<T> row;
    std::uint64_t index;

    [[nodiscard]] Out* out() const { return static_cast<Out*>(arrays.out) + index * plan.output_stride(); }
    static void store(void* array, std::uint64_t i, V value) {
        if (array) static_cast<V*>(array)[i] = fp::canonical(value);
    }
    [[nodiscard]] V weight(std::uint64_t j) const {
        return arrays.weights ? fp::widen(static_cast<const T*>(arrays.weights)[j]) : V{1};
    }

    /// Two numbers of the row, or null.
    [[nodiscard]] V* kept() const { return arrays.exp_sums ? static_cast<V*>(arrays.exp_sums) + 2 * index : nullptr; }
    /// Of the row, which is read for it, and kept where that is asked for.
    [[nodiscard]] spec::ExpSum<T> found_sum() const {
        const auto sum = row.exp_sum();
        if (V* const to = kept()) sum.keep(to);
        return sum;
    }
    /// Of a gradient: what was kept, or else it is found out.
    [[nodiscard]] spec::ExpSum<T> known_sum() const {
        return arrays.exp_sums ? spec::ExpSum<T>::of_kept(kept()) : row.exp_sum();
    }
    /// Writes what of(the row's sum) makes of softmax, in a gradient.
    template <class F>
    spec::ExpSum<T> write_softmax(const F& of) const {
        if (!arrays.exp_sums) return row.write_softmax(out(), of);
        const auto sum = known_sum();
        row.write(out(), of(sum));
        return sum;
    }

    void softmax() const {
        row.write_softmax(out(), [](const spec::ExpSum<T>& sum) {
            return RowValues<V>{RowValue::softmax, sum.origin, sum.reciprocal, sum.reference};
        });
    }
    void log_softmax() const {
        const auto sum = row.exp_sum();
        row.write(out(), {RowValue::log_softmax, sum.maximum, sum.log});
    }
    void layernorm() const {
        const acc::Moments<V> m = row.template reduced<acc::CountedMoments<V>>(Transform::element).m;
        const V mean = fp::round_to<V>(m.mean);
        const double variance = acc::finished_variance(m.mean, m.m2, row.n, false).template as<double>();
        if (spec::asks_for_scale<V>(variance, epsilon()) && scaled(true)) return;
        const V rstd = spec::reciprocal_deviation<V>(variance, epsilon());
        store(arrays.mean, index, mean);
        store(arrays.rstd, index, rstd);
        write_normalized(mean, rstd);
    }
    void rmsnorm() const {
        const V sum = row.rounded(row.template reduced<acc::Rounded<V>>(Transform::square));
        const double square = static_cast<double>(sum) / static_cast<double>(row.n);
        if (spec::asks_for_scale<V>(square, epsilon()) && scaled(false)) return;
        const V rstd = spec::reciprocal_deviation<V>(square, epsilon());
        store(arrays.rstd, index, rstd);
        write_normalized(V{0}, rstd);
    }
    [[nodiscard]] double epsilon() const { return plan.request().epsilon; }
    [[nodiscard]] V maximum_magnitude() const {
        V most{0};
        for (std::uint64_t i = 0; i < row.n; ++i) {
            const V size = math::detail::magnitude(fp::widen(row.x[i]));
            if (!(size <= most)) most = most != most ? most : size;
        }
        return most;
    }
    /// Of a row whose squares overflow or underflow; false where there is no scale.
    [[nodiscard]] bool scaled(bool centred) const {
        using Scale = spec::NormScale<V>;
        const V maximum = maximum_magnitude();
        if (!Scale::exists(maximum)) return false;
        const Scale scale = Scale::of(maximum, epsilon());
        const auto element = [&](std::uint64_t i) { return scale.down(fp::widen(row.x[i])); };
        const std::uint64_t n = row.n;
        V mean{0};
        double square = 0;
        if (centred) {
            const V first = Scale::mean(V{0}, sum_over(element), n);
            const V more = sum_over([&](std::uint64_t i) { return element(i) - first; });
            const V squares = sum_over([&](std::uint64_t i) {
                const V d = element(i) - first;
                return d * d;
            });
            mean = Scale::mean(first, more, n);
            square = Scale::variance(more, squares, n);
        } else {
            square = static_cast<double>(sum_over([&](std::uint64_t i) { return element(i) * element(i); })) /
                     static_cast<double>(n);
        }
        const double w = scale.root(square);
        store(arrays.mean, index, scale.own_mean(mean));
        store(arrays.rstd, index, scale.own_rstd(w));
        write_normalized(scale.down, mean, Scale::rstd(w, epsilon()));
        return true;
    }
    void write_normalized(V mean, V rstd) const {
        row.write(out(), {RowValue::normalized, mean, rstd}, static_cast<const T*>(arrays.scale),
                  static_cast<const T*>(arrays.shift));
    }
    /// Of elements that were scaled.
    template <class Scale>
    void write_normalized(const Scale& down, V mean, V rstd) const {
        const auto* const scale = static_cast<const T*>(arrays.scale);
        const auto* const shift = static_cast<const T*>(arrays.shift);
        row.write(out(), [&](std::uint64_t i) {
            const V z = spec::normalized(down(fp::widen(row.x[i])), mean, rstd);
            if (!scale) return z;
            return shift ? fp::fused(z, fp::widen(scale[i]), fp::widen(shift[i])) : z * fp::widen(scale[i]);
        });
    }

    /// What there is one of a row.
    void put(V value, V target_weight) const {
        if (arrays.out) *out() = fp::round_to<Out>(value);
        store(arrays.row_weights, index, target_weight);
    }
    [[nodiscard]] spec::RowClass<V> row_class() const {
        return spec::RowClass<V>::of(arrays.targets[index], plan.request().ignore_index, row.n);
    }
    [[nodiscard]] std::uint64_t target() const { return static_cast<std::uint64_t>(arrays.targets[index]); }
    [[nodiscard]] V factor() const {
        if (arrays.upstream) return static_cast<const V*>(arrays.upstream)[index];
        return arrays.factor ? *static_cast<const V*>(arrays.factor) : V{1};
    }
    [[nodiscard]] V probability(std::uint64_t j) const {
        const std::uint64_t stride = plan.request().probability_stride;
        return fp::widen(static_cast<const T*>(arrays.probabilities)[index * (stride ? stride : row.n) + j]);
    }
    /// Σ f(i) by `tree`.
    template <class F>
    [[nodiscard]] V sum_over(const F& f) const {
        return row.sum([&](std::uint64_t first, std::uint32_t count, V* terms) {
            for (std::uint32_t i = 0; i < count; ++i)
                terms[i] = f(first + i);
        });
    }

    void nll() const {
        const auto c = row_class();
        if (!c.there) return put(c.otherwise, c.otherwise);
        const V own = weight(target());
        put(row.x ? spec::nll_loss(fp::widen(row.x[target()]), own) : V{0}, own);
    }
    void nll_gradient() const {
        const auto c = row_class();
        row.write(out(), [&](std::uint64_t i) {
            return !c.there ? c.otherwise : i == target() ? spec::nll_slope(weight(i), factor()) : V{0};
        });
    }

    /// −log_softmax of element i.
    [[nodiscard]] V neg_log_prob(const spec::ExpSum<T>& sum, std::uint64_t i) const {
        return sum.neg_log_prob(fp::widen(row.x[i]));
    }
    [[nodiscard]] V z_loss() const { return static_cast<V>(plan.request().z_loss); }
    [[nodiscard]] V z_slope(const spec::ExpSum<T>& sum) const {
        return spec::SmoothedTarget<V>::z_slope(z_loss(), sum.logsumexp());
    }
    void put_loss(V loss, const spec::ExpSum<T>& sum, V target_weight) const {
        put(spec::SmoothedTarget<V>::with_z_loss(loss, z_loss(), sum.logsumexp()), target_weight);
    }
    void cross_entropy() const {
        const auto smoothed = spec::SmoothedTarget<V>::of(plan.request().label_smoothing, row.n);
        if (arrays.probabilities) {
            const auto sum = found_sum();
            const auto of_class = [&](std::uint64_t i) {
                return smoothed.loss_of_class(neg_log_prob(sum, i), weight(i), probability(i));
            };
            return put_loss(sum_over(of_class), sum, V{1});
        }
        const auto c = row_class();
        if (!c.there) {
            if (V* const to = kept()) spec::ExpSum<T>::keep_none(to);
            return put(c.otherwise, c.otherwise);
        }
        const auto sum = found_sum();
        V of_all{0};
        if (smoothed.at_all != 0) of_all = sum_over([&](std::uint64_t i) { return weight(i) * neg_log_prob(sum, i); });
        const V own = weight(target());
        put_loss(smoothed.loss(neg_log_prob(sum, target()), own, of_all), sum, own);
    }
    void cross_entropy_gradient() const {
        const auto smoothed = spec::SmoothedTarget<V>::of(plan.request().label_smoothing, row.n);
        const V by = factor();
        if (arrays.probabilities) {
            const auto of_class = [&](std::uint64_t i) { return smoothed.coefficient(weight(i), probability(i)); };
            const V all = sum_over(of_class);
            const auto sum = known_sum();
            const V z = z_slope(sum);
            return row.write_of_terms(out(), sum, [&](std::uint64_t i, V term) {
                return spec::slope_of_class(sum, fp::widen(row.x[i]), term * sum.reciprocal, all, of_class(i), z) * by;
            });
        }
        const auto c = row_class();
        if (!c.there) return row.write(out(), [&](std::uint64_t) { return c.otherwise; });
        V all = static_cast<V>(row.n);
        if (arrays.weights && smoothed.at_all != 0) all = sum_over([&](std::uint64_t i) { return weight(i); });
        const V own = weight(target());
        const auto of_softmax_with = [&](V z) {
            return spec::SmoothedTarget<V>::with_z_slope(smoothed.of_softmax(own, all), z, V{1});
        };
        if (smoothed.at_all == 0) {
            const std::uint64_t t = target();
            const V x = fp::widen(row.x[t]); // before the row may be overwritten
            const auto sum = write_softmax([&](const spec::ExpSum<T>& of) {
                return RowValues<V>{
                    RowValue::slope, of.origin, of.reciprocal, of.reference, of_softmax_with(z_slope(of)), by};
            });
            const V p = sum.softmax(x), z = z_slope(sum);
            out()[t] = fp::round_to<Out>(smoothed.target_slope(p, sum.softmax_less_one(x, p), all, own, z) * by);
            return;
        }
        const auto sum = known_sum();
        const V z = z_slope(sum), of_softmax = of_softmax_with(z);
        row.write_of_terms(out(), sum, [&](std::uint64_t i, V term) {
            const V p = term * sum.reciprocal;
            if (i != target()) return smoothed.slope(p, of_softmax, weight(i)) * by;
            return smoothed.target_slope(p, sum.softmax_less_one(fp::widen(row.x[i]), p), all, own, z) * by;
        });
    }

    /// −log_softmax times what the class counts.
    void cross_entropy_target_gradient() const {
        const auto smoothed = spec::SmoothedTarget<V>::of(plan.request().label_smoothing, row.n);
        const V by = factor();
        const auto sum = known_sum();
        row.write(out(), [&](std::uint64_t i) {
            return row_grads::probability_slope(smoothed, neg_log_prob(sum, i), weight(i), by);
        });
    }
    void logsumexp_gradient() const {
        write_softmax([&](const spec::ExpSum<T>& sum) {
            return RowValues<V>{RowValue::slope, sum.origin, sum.reciprocal, sum.reference, V{1}, factor()};
        });
    }
    /// Sums over the row, and what is made of them, as spec/row_grads.hpp says.
    template <class G>
    void gradient() const {
        const std::uint64_t stride = plan.request().upstream_stride;
        const T* const upstream = static_cast<const T*>(arrays.upstream) + index * (stride != 0 ? stride : row.n);
        const auto* const scale = static_cast<const T*>(arrays.scale);
        RowGradMap<V> map{G::op, RowGradPart::first_term, {V{0}, V{1}, static_cast<V>(row.n)}, {}};
        if (G::op == RowOp::layernorm_gradient) map.row.mean = static_cast<const V*>(arrays.mean)[index];
        if (G::of_norm) map.row.rstd = static_cast<const V*>(arrays.rstd)[index];
        const auto compute = [&](RowGradPart part, std::uint64_t first, std::uint32_t count, V* values) {
            RowGradMap<V> of = map;
            of.part = part;
            row.isa.row_grads(of, row.x + first, upstream + first, scale != nullptr ? scale + first : nullptr, count,
                              values);
        };
        const auto sum_of = [&](RowGradPart part) {
            const V sum = row.sum(
                [&](std::uint64_t first, std::uint32_t count, V* terms) { compute(part, first, count, terms); });
            return row_grads::finished<G>(sum, map.row);
        };
        const V first = sum_of(RowGradPart::first_term);
        if (G::sums == 2) map.sum[1] = sum_of(RowGradPart::second_term);
        map.sum[0] = first;
        V* const to_sum = static_cast<V*>(arrays.scale_gradient);
        row.for_each_part([&](std::uint64_t begin, std::uint32_t count) {
            if (to_sum != nullptr) compute(RowGradPart::scale_term, begin, count, to_sum + index * row.n + begin);
            const Buffer<V> slope(count);
            compute(RowGradPart::slope, begin, count, slope.data());
            row.isa.store(slope.data(), count, out() + begin);
        });
    }

    void operator()() const {
        if (row.n == 0 && plan.request().op != RowOp::logsumexp) return;
        switch (plan.request().op) {
        case RowOp::logsumexp:
            *out() = fp::round_to<Out>(found_sum().logsumexp());
            break;
        case RowOp::softmax:
            return softmax();
        case RowOp::log_softmax:
            return log_softmax();
        case RowOp::layernorm:
            return layernorm();
        case RowOp::rmsnorm:
            return rmsnorm();
        case RowOp::cross_entropy:
            return cross_entropy();
        case RowOp::cross_entropy_gradient:
            return cross_entropy_gradient();
        case RowOp::nll:
            return nll();
        case RowOp::nll_gradient:
            return nll_gradient();
        case RowOp::logsumexp_gradient:
            return logsumexp_gradient();
        case RowOp::cross_entropy_target_gradient:
            return cross_entropy_target_gradient();
        case RowOp::softmax_gradient:
        case RowOp::log_softmax_gradient:
        case RowOp::layernorm_gradient:
        case RowOp::rmsnorm_gradient:
            return row_grads::with_grad(plan.request().op, [&]<class G>(G) { gradient<G>(); });
        }
    }
};

template <class T, class Out>
DETREDUCE_OPAQUE void run_all(const RowPlan& plan, const RowArrays& arrays) {
    const RowRequest& r = plan.request();
    const Launch& launch = plan.launch();
    const IsaFunctions<T>& isa = isa_table(launch.isa).of<T>();
    const Plan max = detail::PlanParts::part({.op = Op::max,
                                              .method = Method::exact,
                                              .dtype = r.dtype,
                                              .output = plan.arithmetic(),
                                              .n = r.n,
                                              .device = cpu,
                                              .launch = launch},
                                             false);
    const Search maximum(max);
    for_each_or_together(r.rows, launch.threads, [&](std::uint64_t i, std::uint32_t threads) {
        const T* const x = r.n == 0 || !arrays.x ? nullptr : static_cast<const T*>(arrays.x) + i * plan.stride();
        RowRun<T, Out>{plan, arrays, {isa, maximum, x, r.n, threads}, i}();
    });
}

} // namespace

void run_rows(const RowPlan& plan, const RowArrays& arrays) noexcept {
    const StandardFpEnvironment environment;
    with_dtype_from_16_bits(plan.request().dtype, [&]<class T>(T) {
        if (plan.output() == dtype_of<T>) {
            run_all<T, T>(plan, arrays);
        } else {
            run_all<T, float>(plan, arrays);
        }
    });
}

void write_quotient(const spec::Quotient& quotient) noexcept {
    const StandardFpEnvironment environment;
    quotient.write();
}

} // namespace detreduce::host
