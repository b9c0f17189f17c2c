// Rows for the laws of row ops: where terms end, where elements are taken less the maximum, where
// results are subnormal, and what is not finite.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/row_ops.hpp>
#include <detreduce/spec/tree_order.hpp>

#include <support/numbers.hpp>

namespace detreduce::proptests {

inline constexpr RowOp all_row_ops[] = {RowOp::logsumexp,
                                        RowOp::softmax,
                                        RowOp::log_softmax,
                                        RowOp::layernorm,
                                        RowOp::rmsnorm,
                                        RowOp::cross_entropy,
                                        RowOp::cross_entropy_gradient,
                                        RowOp::nll,
                                        RowOp::nll_gradient,
                                        RowOp::softmax_gradient,
                                        RowOp::log_softmax_gradient,
                                        RowOp::logsumexp_gradient,
                                        RowOp::layernorm_gradient,
                                        RowOp::rmsnorm_gradient,
                                        RowOp::cross_entropy_target_gradient};
/// Those that are told nothing but x and, of losses, targets.
inline constexpr std::span<const RowOp> row_ops_of_x{all_row_ops, 9};
inline constexpr RowOp loss_row_ops[] = {RowOp::cross_entropy, RowOp::nll, RowOp::cross_entropy_gradient,
                                         RowOp::nll_gradient};

inline bool of_norms(RowOp op) {
    return op == RowOp::layernorm || op == RowOp::rmsnorm;
}
inline bool of_entropy(RowOp op) {
    return op == RowOp::cross_entropy || op == RowOp::cross_entropy_gradient;
}
inline bool of_targets(RowOp op) {
    return of_entropy(op) || op == RowOp::nll || op == RowOp::nll_gradient;
}
inline bool of_exponentials(RowOp op) {
    return !of_norms(op) && op != RowOp::nll && op != RowOp::nll_gradient;
}
inline bool of_norm_gradients(RowOp op) {
    return op == RowOp::layernorm_gradient || op == RowOp::rmsnorm_gradient;
}
inline bool of_losses(RowOp op) {
    return of_targets(op) || op == RowOp::cross_entropy_target_gradient;
}
inline bool has_smoothing(RowOp op) {
    return of_entropy(op) || op == RowOp::cross_entropy_target_gradient;
}
/// Does it take n numbers a row from upstream?
inline bool has_upstream(RowOp op) {
    return op == RowOp::softmax_gradient || op == RowOp::log_softmax_gradient || of_norm_gradients(op);
}
inline bool has_factor(RowOp op) {
    return op == RowOp::cross_entropy_gradient || op == RowOp::nll_gradient ||
           op == RowOp::cross_entropy_target_gradient;
}
/// Must a row have an element?
inline bool needs_elements(RowOp op) {
    return of_norms(op) || of_norm_gradients(op) || of_losses(op);
}
/// Laws ask for each row's own results unless they name a reduction.
inline bool is_reduction(std::optional<Reduction> reduction) {
    return reduction.value_or(Reduction::none) != Reduction::none;
}
inline bool has_row_weights(const RowRequest& r) {
    return (r.op == RowOp::cross_entropy || r.op == RowOp::nll) && !is_reduction(r.reduction);
}

/// Does it keep what gradients need of a sum of exponentials?
inline bool keeps_exp_sums(RowOp op) {
    return op == RowOp::logsumexp || op == RowOp::cross_entropy;
}
/// Does it take what was kept?
inline bool takes_exp_sums(RowOp op) {
    return op == RowOp::logsumexp_gradient || op == RowOp::cross_entropy_gradient ||
           op == RowOp::cross_entropy_target_gradient;
}
inline bool has_one_result(RowOp op) {
    return op == RowOp::logsumexp || op == RowOp::cross_entropy || op == RowOp::nll;
}
/// Is there one number of all rows?
inline bool is_reduced(const RowRequest& r) {
    return (r.op == RowOp::cross_entropy || r.op == RowOp::nll) && is_reduction(r.reduction);
}

/// What a row is made of.
enum class RowKind : std::uint8_t {
    ordinary,       ///< like logits
    wide,           ///< spread over 200
    very_low,       ///< about −10⁴
    huge,           ///< 10³⁰, of f16 6·10⁴
    at_plain,       ///< about ±2¹⁵, from where on elements are taken less the maximum
    far_ahead,      ///< one element is ahead of all others, by up to so much that a loss is subnormal or 0
    at_lowest_term, ///< differences about those from which on terms are +0, and of chunks those at which sums are
    equal,          ///< one number
    zeros,          ///< of both signs
    subnormal,
    one_nan,      ///< these four may have a wrong answer for their row alone
    one_infinite, ///< +∞
    some_minus,   ///< −∞ here and there
    all_minus,    ///< −∞
};
inline constexpr int row_kinds = 14, finite_row_kinds = 10;

/// Number i of a stream of numbers in [low, high).
inline double between(double low, double high, std::uint64_t seed, std::uint64_t i) {
    return low + (high - low) * static_cast<double>(accuracy::hash(seed, i) >> 11) * 0x1p-53;
}

/// Element i of a row of n.
template <class T>
double row_element(RowKind kind, std::size_t i, std::size_t n, std::uint64_t seed) {
    const auto any = [&](double low, double high) { return between(low, high, seed, i); };
    const double infinite = static_cast<double>(infinity<float>);
    const bool chosen = i == accuracy::hash(seed, n + 7) % n;
    switch (kind) {
    case RowKind::wide:
        return any(-100, 100);
    case RowKind::very_low:
        return any(-10020, -9980);
    case RowKind::huge:
        return (fp::is_narrow<T> && largest_exponent<T> < 20 ? 6e4 : 1e30) * any(-1, 1);
    case RowKind::at_plain:
        return (seed % 2 ? -32768 : 32768) + (chosen ? any(-0.5, 0.5) : any(-20, 0));
    case RowKind::far_ahead:
        return chosen ? 3 : 3 - between(0, fp::is_f64<T> ? 800 : 115, seed, n + 9) - any(0, 2);
    case RowKind::at_lowest_term: {
        const double ends[] = {fp::is_f64<T> ? 1533 : 189, fp::is_f64<T> ? 1022 : 126, fp::is_f64<T> ? 2044 : 252};
        return chosen ? 0 : any(-1, 1) - 0x1.62e42fefa39efp-1 * ends[seed / 3 % 3] * (i / 300 % 4 == 0 ? 0.5 : 1);
    }
    case RowKind::equal:
        return between(-30, 30, seed, 0);
    case RowKind::zeros:
        return any(-1, 1) < 0 ? -0.0 : 0.0;
    case RowKind::subnormal:
        return static_cast<double>(fp::widen(smallest<T>)) * std::floor(any(-100, 100));
    case RowKind::one_nan:
        return chosen ? static_cast<double>(quiet_nan<float>) : any(-3, 3);
    case RowKind::one_infinite:
        return chosen ? infinite : any(-3, 3);
    case RowKind::some_minus:
        return any(0, 1) < 0.2 ? -infinite : any(-30, 3);
    case RowKind::all_minus:
        return -infinite;
    case RowKind::ordinary:
        break;
    }
    return any(-6, 6);
}
template <class T>
std::vector<T> row_of(RowKind kind, std::size_t n, std::uint64_t seed) {
    std::vector<T> x;
    for (std::size_t i = 0; i < n; ++i)
        x.push_back(fp::round_to<T>(row_element<T>(kind, i, n, seed)));
    return x;
}

/// Rows next to each other, and what belongs to them; what there is none of is empty.
template <class T>
struct RowData {
    std::vector<T> x = {}, scale = {}, shift = {}, weights = {}, probabilities = {};
    std::vector<std::int64_t> targets = {};
    std::vector<fp::Arithmetic<T>> factor = {};
    std::vector<T> upstream = {};
    std::vector<fp::Arithmetic<T>> row_upstream = {}, mean = {}, rstd = {}; ///< of a gradient, a number a row
    std::vector<fp::Arithmetic<T>> exp_sums = {};                           ///< of a gradient, two numbers a row
};

/// What an op may be given or not; of other ops the numbers mean nothing.
struct RowVariant {
    bool scale = false, shift = false, weights = false, smoothing = false, factor = false, probabilities = false;
    bool upstream = false; ///< of losses: a factor for each row
    bool z_loss = false;
    bool exp_sums = false; ///< of a gradient: what forward has kept
};
/// Every variant of an op.
inline std::vector<RowVariant> variants(RowOp op) {
    if (op == RowOp::layernorm) return {{}, {.scale = true}, {.scale = true, .shift = true}};
    if (op == RowOp::rmsnorm || of_norm_gradients(op)) return {{}, {.scale = true}};
    std::vector<RowVariant> list{{}};
    if (of_losses(op)) list.push_back({.weights = true});
    if (op == RowOp::cross_entropy_target_gradient) list.push_back({.weights = true, .smoothing = true});
    if (of_entropy(op)) {
        for (const bool weights : {false, true}) {
            list.push_back({.weights = weights, .smoothing = true});
            list.push_back({.weights = weights, .smoothing = !weights, .probabilities = true});
        }
    }
    for (std::size_t i = list.size(); has_factor(op) && i-- > 0;) {
        list.push_back(list[i]);
        list.back().factor = true;
    }
    return list;
}

/// Rows with what a variant asks for, each with results of its own.
inline RowRequest request_of(RowOp op, std::uint64_t n, std::uint64_t rows, const RowVariant& v) {
    return {.op = op,
            .n = n,
            .rows = rows,
            .label_smoothing = v.smoothing ? 0.1 : 0,
            .z_loss = v.z_loss ? 1e-4 : 0,
            .reduction = Reduction::none};
}

/// And those that golden bits do not know.
inline std::vector<RowVariant> all_variants(RowOp op) {
    auto list = variants(op);
    for (RowVariant v : variants(op)) {
        if (!has_factor(op) || v.factor) continue;
        v.upstream = true;
        list.push_back(v);
    }
    for (RowVariant v : variants(op)) {
        if (!of_entropy(op)) continue;
        v.z_loss = true;
        list.push_back(v);
    }
    for (std::size_t i = list.size(); takes_exp_sums(op) && i-- > 0;) {
        list.push_back(list[i]);
        list.back().exp_sums = true;
    }
    return list;
}

template <class T>
std::vector<T> numbers_between(double low, double high, std::size_t n, std::uint64_t seed) {
    std::vector<T> list;
    for (std::size_t i = 0; i < n; ++i)
        list.push_back(fp::round_to<T>(between(low, high, seed, i)));
    return list;
}

/// Of rows of classes, a class in four zero, and rows that are not one in all, but for the first.
template <class T>
std::vector<T> probabilities(const RowRequest& r, std::uint64_t seed) {
    auto list = numbers_between<T>(0, 1, r.rows * r.n, seed);
    for (std::uint64_t i = 0; i < list.size(); ++i) {
        if (i < r.n) list[i] = fp::round_to<T>(i == 0 ? 1.0 : 0.0);
        if (accuracy::hash(seed, i) % 4 == 0) list[i] = T{};
    }
    return list;
}

/// What logsumexp keeps of rows next to each other, on the CPU.
template <class T>
std::vector<fp::Arithmetic<T>> kept_exp_sums(const std::vector<T>& x, std::uint64_t n, std::uint64_t rows) {
    std::vector<fp::Arithmetic<T>> kept(2 * rows), out(rows);
    const RowPlan plan = make_row_plan({.op = RowOp::logsumexp,
                                        .dtype = dtype_of<T>,
                                        .output = dtype_of<fp::Arithmetic<T>>,
                                        .n = n,
                                        .rows = rows,
                                        .device = cpu});
    throw_if_error(run(plan, {.x = x.data(), .out = out.data(), .exp_sums = kept.data()}));
    return kept;
}

/// Kinds of rows one after the other, beginning with one that depends on the seed. A row in seven
/// is ignored.
template <class T>
RowData<T> row_data(const RowRequest& r, const RowVariant& v, std::uint64_t seed) {
    RowData<T> data;
    for (std::uint64_t i = 0; i < r.rows; ++i) {
        const auto kind = static_cast<RowKind>((seed + i) % row_kinds);
        const auto row = row_of<T>(kind, r.n, accuracy::hash(seed, i));
        data.x.insert(data.x.end(), row.begin(), row.end());
        const auto any = accuracy::hash(seed + 5, i);
        if (of_targets(r.op) && !v.probabilities)
            data.targets.push_back(any % 7 == 0 ? r.ignore_index : static_cast<std::int64_t>(any / 128 % r.n));
    }
    if (v.scale) data.scale = numbers_between<T>(-2, 2, r.n, seed + 1);
    if (v.shift) data.shift = numbers_between<T>(-2, 2, r.n, seed + 2);
    if (v.weights) data.weights = numbers_between<T>(0, 2, r.n, seed + 3);
    if (v.probabilities) data.probabilities = probabilities<T>(r, seed + 6);
    if (v.factor) data.factor = numbers_between<fp::Arithmetic<T>>(-2, 2, 1, seed + 4);
    if (has_upstream(r.op)) data.upstream = numbers_between<T>(-2, 2, r.rows * r.n, seed + 8);
    const auto a_row = [&](bool has, double low, double high, std::uint64_t what) {
        return numbers_between<fp::Arithmetic<T>>(low, high, has ? r.rows : 0, seed + what);
    };
    data.row_upstream = a_row(r.op == RowOp::logsumexp_gradient || v.upstream, -2, 2, 9);
    data.mean = a_row(r.op == RowOp::layernorm_gradient, -1, 1, 10);
    data.rstd = a_row(of_norm_gradients(r.op), 0.01, 3, 11);
    if (v.exp_sums && r.rows > 0) {
        data.exp_sums = kept_exp_sums(data.x, r.n, r.rows);
        for (std::size_t i = 0; i < data.targets.size(); ++i) { // which is not looked at
            if (data.targets[i] == r.ignore_index) data.exp_sums[2 * i] = data.exp_sums[2 * i + 1] = 77;
        }
    }
    return data;
}

/// Lengths around those at which chunks and tiles end.
template <class T>
std::vector<std::size_t> row_lengths() {
    constexpr std::size_t tile = spec::TreeOrder<sizeof(T)>::tile;
    return {0, 1, 7, 32, 100, 768, 1000, 1024, 4096, 5123, tile - 1, tile, tile + 1, 3 * tile + 9};
}

inline std::string shown(const RowRequest& r, const RowVariant& v) {
    std::string text = std::string(name(r.op)) + " n " + std::to_string(r.n) + " rows " + std::to_string(r.rows) +
                       " stride " + std::to_string(r.stride) + " to " + std::to_string(r.output_stride) +
                       " probabilities " + std::to_string(r.probability_stride) + " upstream " +
                       std::to_string(r.upstream_stride) + ' ' +
                       std::string(name(r.reduction.value_or(Reduction::none))) + ' ' + std::string(name(r.method)) +
                       " smoothing " + std::to_string(r.label_smoothing) + " threads " +
                       std::to_string(r.launch.threads) + ' ' + std::string(name(r.launch.isa));
    for (const auto& [has, what] : {std::pair{v.scale, " scale"},
                                    {v.shift, " shift"},
                                    {v.weights, " weights"},
                                    {v.factor, " factor"},
                                    {v.probabilities, " given"},
                                    {v.upstream, " a row"},
                                    {v.z_loss, " z-loss"},
                                    {v.exp_sums, " by sums"}})
        text += has ? what : "";
    return text;
}

} // namespace detreduce::proptests
