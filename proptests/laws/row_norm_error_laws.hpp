// Laws of layernorm and rmsnorm that the oracle decides: how near their results are to the true
// ones. Included by row_laws.hpp.
#pragma once

namespace detreduce::proptests {

/// A row that layernorm or rmsnorm takes as it is, or scaled by a power of two: what its bounds are
/// made of.
template <class T>
struct NormCase {
    int exponent = 0; ///< what it is scaled by
    std::unique_ptr<accuracy::NormOracle> oracle;
    accuracy::NormSizes sizes;

    NormCase(const std::vector<T>& row, double epsilon, bool centred, bool scaled) {
        auto x = doubles(row);
        if (scaled) {
            double most = std::sqrt(epsilon);
            for (const double v : x)
                most = std::max(most, std::fabs(v));
            exponent = std::max(std::ilogb(most), -1022);
        }
        for (double& v : x)
            v = std::ldexp(v, -exponent);
        epsilon = std::ldexp(std::ldexp(epsilon, -exponent), -exponent);
        oracle = std::make_unique<accuracy::NormOracle>(x, epsilon, centred);
        sizes = {dtype_of<T>, x.size(), epsilon, oracle->abs_sum(), oracle->squares(), oracle->m2(), centred, scaled};
    }
};
/// How the row may be taken: near the ends of what is taken as it is, either way.
template <class T>
std::vector<NormCase<T>> norm_cases(const std::vector<T>& row, double epsilon, bool centred) {
    using V = fp::Arithmetic<T>;
    const NormCase<T> plain(row, epsilon, centred, false);
    const double minimum = std::ldexp(1.0, fp::is_f64<V> ? -900 : -96),
                 most = std::ldexp(1.0, fp::is_f64<V> ? 900 : 80);
    const double v = plain.sizes.m2 / static_cast<double>(row.size()) + epsilon, all = plain.sizes.squares;
    std::vector<NormCase<T>> cases;
    if (v > minimum * 0.99 && all < most * 0x1p+60) cases.emplace_back(row, epsilon, centred, false);
    const bool zero = std::all_of(row.begin(), row.end(), [](T x) { return fp::widen(x) == 0; });
    if (!zero && (v < minimum * 1.01 || !(all < most))) cases.emplace_back(row, epsilon, centred, true);
    return cases;
}

TEMPLATE_TEST_CASE("rows: layernorm and rmsnorm are within their bounds", "[rows][error]", float16, bfloat16, float,
                   double) {
    using T = TestType;
    for (const RowOp op : {RowOp::layernorm, RowOp::rmsnorm}) {
        for_hard_rows<T>(false, [op](const std::vector<T>& row, const auto& within_of) {
            const auto x = doubles(row);
            const std::size_t n = x.size();
            for (const double epsilon : {1e-5, 0.0}) {
                const RowRequest r{.op = op, .n = n, .epsilon = epsilon, .reduction = Reduction::none};
                const bool centred = op == RowOp::layernorm;
                const auto cases = norm_cases(row, epsilon, centred);
                const accuracy::NormOracle oracle(x, epsilon, centred);
                if (cases.empty() || !(oracle.rstd() < static_cast<double>(largest<fp::Arithmetic<T>>)))
                    continue; // zeros, or equal numbers
                for (const RowVariant& v : variants(op)) {
                    const auto data = row_data<T>(r, v, n);
                    const auto scale = doubles(data.scale), shift = doubles(data.shift);
                    const auto check = [&]<class Out>(Out) {
                        const auto got = run_row<Out>(r, row, data);
                        Within& within = within_of(Out{});
                        const auto most = [&](const auto& of) {
                            double bound = 0;
                            for (const auto& c : cases)
                                bound = std::max(bound, of(c));
                            return bound;
                        };
                        const double minimum = static_cast<double>(smallest<fp::Arithmetic<T>>);
                        if (centred)
                            within(oracle.mean_error(static_cast<double>(got.mean[0])), most([&](const auto& c) {
                                       return std::ldexp(accuracy::norm_errors(c.sizes).mean, c.exponent) + minimum;
                                   }));
                        within(oracle.rstd_error(static_cast<double>(got.rstd[0])), most([&](const auto& c) {
                                   return accuracy::norm_errors(c.sizes).rstd * oracle.rstd() + minimum;
                               }));
                        for (std::size_t i = 0; i < n; ++i) {
                            const double by = scale.empty() ? 1 : scale[i], to = shift.empty() ? 0 : shift[i];
                            const double bound = most([&](const NormCase<T>& c) {
                                const double deviation = c.oracle->deviation(i), rstd = c.oracle->rstd();
                                const double result = std::fabs(deviation * rstd * by) + std::fabs(to);
                                return accuracy::norm_bound(c.sizes, dtype_of<Out>,
                                                            {deviation, rstd, by, result, v.scale}) +
                                       (c.exponent < 0 ? 4 * minimum : 0);
                            });
                            within(oracle.error(i, by, to, static_cast<double>(fp::widen(got.out[i]))), bound);
                        }
                    };
                    for_outputs<T>(check);
                }
            }
        });
    }
}

} // namespace detreduce::proptests
