// Section 1: ops other than the sum, here those that end a sum of terms, and the variance, against
// their oracles.
#include <fmt/format.h>

#include <detreduce/accuracy/moments_oracle.hpp>
#include <detreduce/accuracy/term_oracle.hpp>

#include "measure.hpp"
#include "op_error.hpp"
#include "out_of_memory.hpp"

namespace detreduce::report {
namespace {

using accuracy::cpp_int;
using accuracy::Family;
using accuracy::MomentsOracle;
using accuracy::TermOracle;

constexpr const char *cancelling = "cancelling products", *far_off = "normal + 1000", *near_target = "near the target";

template <class T>
struct Data {
    std::vector<T> x, y;
};

/// Pairs of products that cancel, eight of them but for a product with the last place of a factor:
/// after GenDot of Ogita, Rump and Oishi (see accuracy/src/ill_conditioned.cpp), with condition
/// numbers of about n / u.
template <class T>
Data<T> cancelling_products(std::size_t n, std::uint64_t seed) {
    Data<T> d{accuracy::generate<T>(Family::normal, n, seed), accuracy::generate<T>(Family::normal, n, ~seed)};
    for (std::size_t i = 0; i + 1 < n; i += 2) {
        d.x[i + 1] = d.x[i];
        d.y[i + 1] = fp::negated(d.y[i]);
    }
    for (std::size_t i = 1; i < std::min<std::size_t>(n, 16); i += 2)
        d.y[i] = fp::from_bits<T>(static_cast<fp::Bits<T>>(fp::to_bits(d.y[i]) ^ 1));
    accuracy::shuffle(std::span<T>(d.x), seed);
    accuracy::shuffle(std::span<T>(d.y), seed); // in the same way
    return d;
}

/// The elements of a family of this file, or of a generator.
template <class T>
Data<T> data_of(Op op, const std::string& family, std::size_t n, std::uint64_t seed) {
    if (family == cancelling) return cancelling_products<T>(n, seed);
    if (family == far_off) return {moved<T>(Family::normal, n, seed, 1000), {}};
    const Family kind = accuracy::parse_family(family).value_or(Family::normal);
    Data<T> d{accuracy::generate<T>(kind, n, seed), {}};
    if (info(op).inputs < 2) return d;
    d.y = accuracy::generate<T>(kind, n, ~seed);
    for (std::size_t i = 0; family == near_target && i < n; ++i)
        d.y[i] =
            fp::round_to<T>(static_cast<double>(fp::widen(d.x[i])) + 0x1p-6 * static_cast<double>(fp::widen(d.y[i])));
    return d;
}

std::vector<std::string> families_of(Op op) {
    if (op == Op::dot) return {"normal", "lognormal", cancelling};
    if (op == Op::nrm2) return {"normal", "lognormal", "wide"};
    if (op == Op::mse || op == Op::mae) return {"normal", near_target};
    return {"normal", "lognormal", far_off};
}

constexpr unsigned unit = -TermOracle::lowest_exponent;

cpp_int power_of_two(unsigned exponent) {
    return cpp_int(1) << exponent;
}
double in_units(const cpp_int& magnitude, const cpp_int& units) {
    return accuracy::round_quotient(magnitude, units);
}

/// x in the units of TermOracle, those of x².
cpp_int scaled(double x) {
    return accuracy::scaled_value(x) * power_of_two(unit / 2);
}

/// |result − the ending of the true sum|, without cancellation.
double error_of(double result, const TermOracle& oracle, Finalize finalize, std::uint64_t n) {
    if (!std::isfinite(result)) return INFINITY;
    const cpp_int sum = oracle.scaled();
    if (finalize == Finalize::root) { // |r − √S| = |r² − S| / (r + √S)
        const cpp_int r = accuracy::scaled_value(result);
        const double apart = in_units(abs(cpp_int(r * r - sum)), power_of_two(unit));
        return apart == 0 ? 0 : apart / (result + oracle.round<double>(finalize));
    }
    const cpp_int times = finalize == Finalize::mean ? cpp_int(n) : cpp_int(1);
    return in_units(abs(cpp_int(scaled(result) * times - sum)), times * power_of_two(unit));
}

/// What error_bound() allows the sum of the terms, taken through the finalize, which rounds once
/// (lib/SPEC.md, 8.2 and 8.3).
Metric limit_of(Op op, const Contender& c, DType input, DType output, std::uint64_t n, const TermOracle& oracle) {
    const accuracy::ErrorBound bound = accuracy::error_bound(op, c.method, input, output, n);
    const double size = in_units(oracle.scaled_abs(), power_of_two(unit)),
                 sum = in_units(abs(oracle.scaled()), power_of_two(unit));
    const double largest = accuracy::accumulator_of(input) == DType::f64 ? 0x1p1023 : 0x1p127;
    if (2 * size > largest || !std::isfinite(bound.of_abs)) return {};
    const double flushed = c.device.backend == Backend::cuda ? accuracy::flush_bound(c.method, input, n) : 0;
    const double of_terms = bound.of_abs * size + bound.absolute + flushed;
    const auto [u, smallest] = precision_of(output);
    switch (info(op).finalize) {
    case Finalize::sum:
        return (bound.of_sum * sum + of_terms) * rounded_up;
    case Finalize::mean:
        return limit_of_mean(output, sum / static_cast<double>(n), of_terms, n);
    case Finalize::root:
        break;
    }
    // √(1 ± r) is 1 off by at most r / (1 + √(1 − r)), below; above r = 1 by √(1 + r) − 1, or by 1.
    const double r = sum == 0 ? 1 : of_terms / sum;
    const double off = r < 1 ? r / (1 + std::sqrt(1 - r)) : std::max(1.0, std::sqrt(1 + r) - 1);
    return (std::sqrt(sum) * (u + (1 + u) * off) + smallest) * rounded_up;
}

template <class T>
std::optional<ResultOf<T>> result_of(Op op, const Contender& c, const Data<T>& data) {
    const Plan plan = make_plan({.op = op,
                                 .method = c.method,
                                 .dtype = dtype_of<T>,
                                 .output = dtype_of<ResultOf<T>>,
                                 .n = data.x.size(),
                                 .device = c.device,
                                 .ddof = op == Op::variance ? 1u : 0u});
    if (!offered(plan.status(), name(op))) return std::nullopt;
    std::vector<HostArray> arrays{array_of(data.x)};
    if (info(op).inputs == 2) arrays.push_back(array_of(data.y));
    ResultOf<T> result{};
    run_on(c.device, arrays, &result, sizeof result, plan.workspace_bytes(),
           [&](std::span<const void* const> in, void* out, void* workspace) {
               return run(plan, {in[0], in.size() > 1 ? in[1] : nullptr}, out, workspace);
           });
    return result;
}

template <class T>
Judge judge_of_terms(Op op, Data<T> data) {
    TermOracle oracle(info(op).transform);
    oracle.add(std::span<const T>(data.x), std::span<const T>(data.y));
    return [op, oracle, data = std::move(data)](const Contender& c) -> std::optional<Judged> {
        using Out = ResultOf<T>;
        const auto result = result_of(op, c, data);
        if (!result) return std::nullopt;
        const Finalize finalize = info(op).finalize;
        const std::uint64_t n = data.x.size();
        const cpp_int sum = oracle.scaled();
        return Judged{.result = *result,
                      .truth = oracle.template round<double>(finalize),
                      .error = error_of(*result, oracle, finalize, n),
                      .limit = limit_of(op, c, dtype_of<T>, dtype_of<Out>, n, oracle),
                      .right = fp::to_bits(*result) == fp::to_bits(oracle.template round<Out>(finalize)),
                      .condition = quotient(oracle.scaled_abs(), abs(sum))};
    };
}

/// moments_bound(), as accuracy/bounds.hpp has it, with ddof = 1; of exact the one rounding.
Metric limit_of_variance(const Contender& c, DType input, DType output, const MomentsOracle& oracle) {
    const double m2 = oracle.m2(), squares = oracle.sum_of_squares(), divisor = static_cast<double>(oracle.count() - 1);
    const auto [u, smallest] = precision_of(output);
    if (c.method == Method::exact) return (u * m2 / divisor + smallest) * rounded_up;
    const auto b = accuracy::moments_bound(c.method, input, output, oracle.count());
    const double of_m2 =
        b.of_m2 * m2 + b.of_mixed * std::sqrt(m2) * std::sqrt(squares) + b.of_squares * squares + b.absolute_m2;
    const double limit = (of_m2 / divisor + b.absolute) * rounded_up;
    return std::isfinite(limit) ? Metric(limit) : Metric();
}

template <class T>
Judge judge_of_variance(Data<T> data) {
    MomentsOracle oracle;
    oracle.add(std::span<const T>(data.x));
    return [oracle, data = std::move(data)](const Contender& c) -> std::optional<Judged> {
        using Out = ResultOf<T>;
        const auto result = result_of(Op::variance, c, data);
        if (!result) return std::nullopt;
        const cpp_int pairs = cpp_int(oracle.count()) * (oracle.count() - 1), spread = oracle.spread(); // n·M2
        const double error = std::isfinite(*result)
                                 ? in_units(abs(cpp_int(scaled(*result) * pairs - spread)), pairs * power_of_two(unit))
                                 : INFINITY;
        return Judged{.result = *result,
                      .truth = oracle.template round_variance<double>(1, false),
                      .error = error,
                      .limit = limit_of_variance(c, dtype_of<T>, dtype_of<Out>, oracle),
                      .right = fp::to_bits(*result) == fp::to_bits(oracle.template round_variance<Out>(1, false)),
                      .condition = oracle.m2() > 0 ? std::sqrt(oracle.sum_of_squares() / oracle.m2()) : INFINITY};
    };
}

constexpr Op measured[] = {Op::dot, Op::nrm2, Op::mean, Op::variance, Op::mse, Op::mae};

std::vector<int> exponents(const Options& options) {
    return sizes_up_to(options, options.quick ? std::vector{8, 14} : std::vector{8, 14, 20});
}

template <class T>
void measure_point(const Options& options, const OpPoint& point, Op op, std::vector<ErrorRow>& rows) {
    const auto more = judged_rows(options, point, dtype_of<T>, dtype_of<ResultOf<T>>, [&](std::uint64_t seed) {
        Data<T> data = data_of<T>(op, point.family, point.n, seed);
        return op == Op::variance ? judge_of_variance(std::move(data)) : judge_of_terms(op, std::move(data));
    });
    rows.insert(rows.end(), more.begin(), more.end());
}

} // namespace

void measure_term_error(const Options& options, std::span<const DType> dtypes, Progress& progress, Results& results) {
    std::size_t steps = 0;
    for (const Op op : measured)
        steps += families_of(op).size() * exponents(options).size() * dtypes.size();
    progress.begin("error of ops", static_cast<int>(steps));
    const auto measure = [&](Op op, DType dtype, const std::string& family, int exponent) {
        const std::string what = fmt::format("{} {} {} n = 2^{}", name(op), name(dtype), family, exponent);
        progress.step(what);
        const int trials = options.quick ? 3 : exponent <= 14 ? 8 : 2;
        const OpPoint point{std::string(name(op)), family, std::uint64_t{1} << exponent, trials};
        unless_out_of_memory(results, fmt::format("The error of {}", what), [&] {
            with_dtype(dtype, [&]<class T>(T) { measure_point<T>(options, point, op, results.error); });
        });
    };
    for (const Op op : measured)
        for (const DType dtype : dtypes)
            for (const std::string& family : families_of(op))
                for (const int exponent : exponents(options))
                    measure(op, dtype, family, exponent);
}

} // namespace detreduce::report
