// Section 1: logsumexp, cross entropy and losses with functions, against GNU MPFR.
#include <memory>

#include <fmt/format.h>

#include <detreduce/accuracy/loss_oracle.hpp>
#include <detreduce/losses.hpp>

#include "out_of_memory.hpp"
#include "row_judges.hpp"

namespace detreduce::report {
namespace {

using accuracy::Family;

/// A loss with a function, whose terms are rounded: predictions, targets, and the true terms.
template <class T>
struct LossData {
    using V = ResultOf<T>;
    Loss loss;
    std::vector<T> x, target;
    accuracy::ExactSum sum;   // of the true losses
    double size = 0, off = 0; // of the terms, and how far they may be off together

    LossData(Loss l, std::size_t n, std::uint64_t seed)
        : loss(l), x(moved<T>(Family::normal, n, seed, 0, l == Loss::bce_with_logits ? 4 : 1)),
          target(accuracy::generate<T>(l == Loss::bce_with_logits ? Family::uniform : Family::normal, n, ~seed)) {
        for (std::size_t i = 0; i < n; ++i) {
            if (loss == Loss::bce_with_logits && fp::is_negative(target[i])) target[i] = fp::negated(target[i]);
            const auto term = accuracy::true_loss<V>({loss, V(1), fp::widen(x[i]), fp::widen(target[i])});
            sum.add(term.high);
            sum.add(term.low);
            size += term.high;
            off += losses[static_cast<std::size_t>(loss)].max_ulp * last_place(dtype_of<V>, term.size);
        }
    }
    /// The true mean, and what a result is away from it.
    [[nodiscard]] double mean() const { return accuracy::round_quotient(sum.scaled(), units()); }
    [[nodiscard]] double error(double result) const {
        if (!std::isfinite(result)) return INFINITY;
        const accuracy::cpp_int all = accuracy::scaled_value(result) * x.size();
        return accuracy::round_quotient(abs(accuracy::cpp_int(all - sum.scaled())), units());
    }

  private:
    [[nodiscard]] accuracy::cpp_int units() const {
        return accuracy::cpp_int(x.size()) << static_cast<unsigned>(-accuracy::ExactSum::lowest_exponent);
    }
};

/// The bound: that of the terms (loss_words.hpp) and that of their mean (lib/SPEC.md, 8.5).
template <class T>
Judge judge_of_loss(Loss loss, std::size_t n, std::uint64_t seed) {
    const auto data = std::make_shared<const LossData<T>>(loss, n, seed);
    return [data, loss, n](const Contender& c) -> std::optional<Judged> {
        constexpr DType out = dtype_of<ResultOf<T>>;
        const LossPlan plan = make_loss_plan(
            {.loss = loss, .method = c.method, .dtype = dtype_of<T>, .output = out, .n = n, .device = c.device});
        if (!offered(plan.status(), name(loss))) return std::nullopt;
        ResultOf<T> result{};
        const HostArray arrays[] = {array_of(data->x), array_of(data->target)};
        run_on(c.device, arrays, &result, sizeof result, plan.workspace_bytes(),
               [&](std::span<const void* const> in, void* to, void* workspace) {
                   return run(plan, {in[0], in[1]}, to, workspace);
               });
        const accuracy::ErrorBound bound = accuracy::error_bound(Op::mean, c.method, dtype_of<T>, out, n);
        const double off = data->off + bound.of_abs * (data->size + data->off) + bound.absolute;
        return judged_by_error(out, result, data->mean(), data->error(result),
                               limit_of_mean(out, data->mean(), off, n));
    };
}

struct Kind {
    const char* family;
    double around;
};
constexpr Kind row_kinds[] = {{"normal", 0}, {"normal + 1000", 1000}};
std::string family_of(RowOp op, const Kind& kind) {
    return op == RowOp::cross_entropy ? fmt::format("{}, rows of {}", kind.family, row_length) : kind.family;
}

constexpr RowOp row_ops[] = {RowOp::logsumexp, RowOp::cross_entropy};
constexpr Loss function_losses[] = {Loss::huber, Loss::bce_with_logits};

// MPFR takes microseconds an element.
std::vector<int> exponents(const Options& options) {
    return sizes_up_to(options, options.quick ? std::vector{8, 12} : std::vector{8, 14});
}

} // namespace

void measure_loss_error(const Options& options, std::span<const DType> dtypes, Progress& progress, Results& results) {
    const std::size_t kinds = std::size(row_ops) * std::size(row_kinds) + std::size(function_losses);
    progress.begin("error of losses", static_cast<int>(kinds * exponents(options).size() * dtypes.size()));
    // judge(T{}, n, seed) judges one data set
    const auto measure = [&](std::string_view op, DType dtype, const std::string& family, const auto& judge) {
        for (const int exponent : exponents(options)) {
            const std::string what = fmt::format("{} {} {} n = 2^{}", op, name(dtype), family, exponent);
            progress.step(what);
            const OpPoint point{std::string(op), family, std::uint64_t{1} << exponent, options.quick ? 2 : 4};
            unless_out_of_memory(results, fmt::format("The error of {}", what), [&] {
                const auto more =
                    judged_rows(options, point, dtype, accuracy::accumulator_of(dtype), [&](std::uint64_t seed) {
                        return with_dtype_from_16_bits(dtype, [&](auto type) { return judge(type, point.n, seed); });
                    });
                results.error.insert(results.error.end(), more.begin(), more.end());
            });
        }
    };
    for (const RowOp op : row_ops)
        for (const DType dtype : dtypes)
            for (const Kind& kind : row_kinds)
                measure(name(op), dtype, family_of(op, kind), [&]<class T>(T, std::size_t n, std::uint64_t seed) {
                    return judge_of_row(op, moved<T>(Family::normal, n, seed, kind.around), seed);
                });
    for (const Loss loss : function_losses)
        for (const DType dtype : dtypes)
            measure(name(loss), dtype, "normal",
                    [&]<class T>(T, std::size_t n, std::uint64_t seed) { return judge_of_loss<T>(loss, n, seed); });
}

} // namespace detreduce::report
