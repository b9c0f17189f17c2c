#include "op_error.hpp"

#include <fmt/format.h>

#include "failure.hpp"

namespace detreduce::report {
namespace {

double ratio(double part, double whole) {
    return part == 0 ? 0 : whole == 0 ? INFINITY : part / whole;
}

void raise(Metric& most, double value) {
    if (!most || value > *most) most = value;
}

} // namespace

Precision precision_of(DType dtype) {
    return with_dtype(dtype, []<class T>(T) {
        using F = fp::Format<T>;
        return Precision{std::ldexp(1.0, -F::precision), std::ldexp(1.0, F::min_exponent)};
    });
}

double last_place(DType dtype, double at) {
    return with_dtype(dtype, [at]<class T>(T) {
        using F = fp::Format<T>;
        const int exponent = at == 0 ? F::min_exponent : std::ilogb(at) + 1 - F::precision;
        return std::ldexp(1.0, std::max(exponent, F::min_exponent));
    });
}

double limit_of_mean(DType output, double mean, double off, std::uint64_t n) {
    const auto [u, smallest] = precision_of(output);
    return (u * std::fabs(mean) + (1 + u) * off / static_cast<double>(n) + smallest) * rounded_up;
}

void take_judged(ErrorRow& row, DType output, const Judged& j) {
    const double error = std::isfinite(j.result) ? j.error : INFINITY, size = std::fabs(j.truth);
    ++row.trials;
    row.correctly_rounded += j.right;
    raise(row.error_ulp, error / last_place(output, j.truth));
    if (j.limit) raise(row.error_over_bound, ratio(error, *j.limit));
    const double relative = ratio(error, size);
    if (row.relative_error && relative <= *row.relative_error) return;
    row.relative_error = relative;
    row.condition = j.condition;
    row.bound = j.limit ? Metric(ratio(*j.limit, size)) : Metric();
}

bool offered(const Status& status, std::string_view op) {
    if (status.ok()) return true;
    if (status.code == StatusCode::unsupported) return false;
    throw program::Failure(fmt::format("{}: {}", op, to_string(status)));
}

std::vector<ErrorRow> judged_rows(const Options& options, const OpPoint& point, DType input, DType output,
                                  const std::function<Judge(std::uint64_t)>& draw) {
    std::vector<ErrorRow> rows;
    const std::vector<Contender> list = contenders(options, input, output);
    for (const Contender& c : list) {
        ErrorRow& row = rows.emplace_back();
        row.subject.op = point.op;
        row.subject.dtype = name(input);
        row.subject.output = name(output);
        row.subject.method = name(c.method);
        row.subject.device = name_of(c.device);
        row.family = point.family;
        row.n = point.n;
    }
    for (int trial = 0; trial < point.trials; ++trial) {
        const Judge judge = draw(accuracy::hash(options.seed, static_cast<std::uint64_t>(trial)));
        for (std::size_t i = 0; i < list.size(); ++i)
            if (const auto judged = judge(list[i])) take_judged(rows[i], output, *judged);
    }
    std::erase_if(rows, [](const ErrorRow& r) { return r.trials == 0; });
    return rows;
}

std::vector<int> sizes_up_to(const Options& options, std::vector<int> exponents) {
    std::erase_if(exponents, [&](int exponent) { return std::uint64_t{1} << exponent > options.largest_n; });
    return exponents;
}

void measure_op_error(const Options& options, Progress& progress, Results& results) {
    std::vector<DType> measured(dtypes().begin(), dtypes().end());
    std::erase_if(measured, [](DType dtype) { return has_8_bits(dtype); });
    measure_term_error(options, measured, progress, results);
    measure_loss_error(options, measured, progress, results);
}

} // namespace detreduce::report
