// Calls of row ops: each op with what it may be given, for rows where the order of the additions or
// the way of a backend changes, beginning at a boundary of memory or not.
#include <initializer_list>
#include <optional>
#include <utility>

#include <detreduce/fp/bits.hpp>
#include <detreduce/row_ops.hpp>
#include <detreduce/spec/row_math.hpp>
#include <detreduce/version.hpp>

#include "golden/arrays.hpp"
#include "golden/boundaries.hpp"
#include "golden/calls.hpp"
#include "golden/cases.hpp"
#include "golden/table.hpp"

namespace detreduce::golden {
namespace {

using accuracy::Family;

/// What a call is given beside x and targets.
enum class Option : std::uint16_t {
    scale = 1,
    shift = 2,
    weights = 4,
    smoothing = 8,
    probabilities = 16,
    factor = 32,
    upstream = 64, ///< of losses: a factor for each row
    z_loss = 128,
    exp_sums = 256, ///< of gradients: what logsumexp or cross entropy kept of the same rows
    parameters = 512,
    alone = 1024,    ///< nothing is written beside `out`
    in_place = 2048, ///< `out` is x
};
constexpr std::pair<Option, std::string_view> option_names[] = {{Option::scale, "scale"},
                                                                {Option::shift, "shift"},
                                                                {Option::weights, "weights"},
                                                                {Option::smoothing, "smoothing"},
                                                                {Option::probabilities, "probabilities"},
                                                                {Option::factor, "factor"},
                                                                {Option::upstream, "upstream"},
                                                                {Option::z_loss, "z_loss"},
                                                                {Option::exp_sums, "exp_sums"},
                                                                {Option::parameters, "parameters"},
                                                                {Option::alone, "alone"},
                                                                {Option::in_place, "in_place"}};

class Options {
  public:
    constexpr Options(std::initializer_list<Option> list) {
        for (const Option o : list)
            bits_ |= static_cast<unsigned>(o);
    }
    [[nodiscard]] constexpr bool has(Option o) const { return (bits_ & static_cast<unsigned>(o)) != 0; }
    [[nodiscard]] std::string text() const {
        std::string words;
        for (const auto& [option, name] : option_names) {
            if (has(option)) words.append(words.empty() ? 0 : 1, ',').append(name);
        }
        return words.empty() ? "-" : words;
    }

  private:
    unsigned bits_ = 0;
};

struct Variant {
    RowOp op;
    Options options;
};
using enum Option;
const Variant variants[] = {
    {RowOp::logsumexp, {}},
    {RowOp::logsumexp, {alone}},
    {RowOp::softmax, {}},
    {RowOp::log_softmax, {}},
    {RowOp::layernorm, {}},
    {RowOp::layernorm, {scale, shift}},
    {RowOp::layernorm, {scale, alone}},
    {RowOp::rmsnorm, {}},
    {RowOp::rmsnorm, {scale}},
    {RowOp::cross_entropy, {}},
    {RowOp::cross_entropy, {alone}},
    {RowOp::cross_entropy, {weights, smoothing}},
    {RowOp::cross_entropy, {probabilities}},
    {RowOp::cross_entropy, {z_loss}},
    {RowOp::nll, {weights}},
    {RowOp::cross_entropy_gradient, {}},
    {RowOp::cross_entropy_gradient, {weights, smoothing}},
    {RowOp::cross_entropy_gradient, {probabilities, factor}},
    {RowOp::cross_entropy_gradient, {exp_sums}},
    {RowOp::cross_entropy_gradient, {upstream, z_loss}},
    {RowOp::cross_entropy_gradient, {exp_sums, in_place}},
    {RowOp::nll_gradient, {weights, factor}},
    {RowOp::softmax_gradient, {}},
    {RowOp::softmax_gradient, {in_place}},
    {RowOp::log_softmax_gradient, {}},
    {RowOp::logsumexp_gradient, {}},
    {RowOp::logsumexp_gradient, {exp_sums}},
    {RowOp::layernorm_gradient, {}},
    {RowOp::layernorm_gradient, {scale, parameters}},
    {RowOp::layernorm_gradient, {parameters, in_place}},
    {RowOp::rmsnorm_gradient, {}},
    {RowOp::rmsnorm_gradient, {scale, parameters}},
    {RowOp::cross_entropy_target_gradient, {}},
    {RowOp::cross_entropy_target_gradient, {weights, smoothing}},
    {RowOp::cross_entropy_target_gradient, {exp_sums}},
};

/// Rows for every op.
struct Rows {
    Family family;
    std::uint64_t n, rows, gap, offset, seed; ///< gap: elements between rows of x
    std::optional<Reduction> reduction = {};  ///< of losses
    bool to_f32 = false;                      ///< of f16 and bf16
    bool special = false; ///< rows in turn have no, a NaN, +∞, some −∞, nothing but −∞, and both infinities

    // Elements from one row to the next: of each array others, so that none can stand for another.
    [[nodiscard]] std::uint64_t stride() const { return n + gap; }
    [[nodiscard]] std::uint64_t output_stride() const { return n + 2 * gap; }
    [[nodiscard]] std::uint64_t upstream_stride() const { return n + 3 * gap; }
    [[nodiscard]] std::uint64_t probability_stride() const { return n + 4 * gap; }
    /// To the end of the last row.
    [[nodiscard]] std::uint64_t elements(std::uint64_t stride) const { return (rows - 1) * stride + n; }
};

std::vector<Rows> rows_of(DType dtype) {
    const Boundaries b = boundaries_of(dtype);
    using enum Family;
    std::vector<Rows> all{
        {normal, 1, 5, 0, 0, 3000},
        {normal, 3, 4, 0, 0, 3001},
        {wide, b.lanes + 1, 9, 3, 0, 3002},
        {normal, 2 * b.lanes, 5, b.lanes, 0, 3003},
        {normal, b.tile / 8, 6, 0, 0, 3004},
        {boundary_mantissas, b.tile / 8 + 1, 3, 1, 1, 3005},
        {integers, b.tile, 2, 0, 0, 3006}, // many are the greatest
        {normal, 3 * b.tile + b.lanes, 2, 0, 0, 3007},
        {half_zeros, 6 * b.tile + 1105, 2, 0, 3, 3008},
        {normal, 12 * b.tile, 1, 0, 0, 3009},
        {uniform, 17 * b.tile + 5, 1, 0, 1, 3010},
        {normal, 33 * b.tile + b.lanes, 1, 0, 0, 3011},
        {normal, 100, 6, 0, 0, 3012},
        {normal, b.tile / 4 + 1, 6, 0, 1, 3013},
        {normal, 2 * b.tile + 8, 6, 0, 0, 3014},
        {normal, 33, 300, 0, 0, 3015, Reduction::sum},
        {boundary_mantissas, b.tile + 1, 5, 2, 1, 3016, Reduction::mean},
    };
    for (Rows& r : all) {
        r.to_f32 = r.seed % 3 == 1;
        r.special = r.seed >= 3012 && !r.reduction;
    }
    return all;
}

bool is_norm_gradient(RowOp op) {
    return op == RowOp::layernorm_gradient || op == RowOp::rmsnorm_gradient;
}
bool is_norm(RowOp op) {
    return op == RowOp::layernorm || op == RowOp::rmsnorm;
}
bool has_mean(RowOp op) {
    return op == RowOp::layernorm || op == RowOp::layernorm_gradient;
}
/// Of a class for each row, or of probabilities.
bool is_loss(RowOp op) {
    return op == RowOp::cross_entropy || op == RowOp::nll || op == RowOp::cross_entropy_gradient ||
           op == RowOp::nll_gradient || op == RowOp::cross_entropy_target_gradient;
}
bool has_targets(const Variant& v) {
    return is_loss(v.op) && v.op != RowOp::cross_entropy_target_gradient && !v.options.has(probabilities);
}
bool has_upstream(RowOp op) {
    return op == RowOp::softmax_gradient || op == RowOp::log_softmax_gradient || is_norm_gradient(op);
}
bool has_one_result(RowOp op) {
    return op == RowOp::logsumexp || op == RowOp::cross_entropy || op == RowOp::nll;
}
bool keeps_exp_sums(RowOp op) {
    return op == RowOp::logsumexp || op == RowOp::cross_entropy;
}

/// Rows in memory, and what goes with them, for every op. The seeds are that of x and others far
/// from it.
template <class T>
struct RowNumbers {
    using V = fp::Arithmetic<T>;
    std::vector<T> x, upstream, probabilities, scale, shift, weights;
    std::vector<V> row_upstream, mean, rstd;
    std::vector<V> factor{static_cast<V>(-1.625)};
    std::vector<std::int64_t> targets;

    explicit RowNumbers(const Rows& r) {
        const auto of = [&]<class N>(N, Family family, std::uint64_t n, std::uint64_t which, int sign = 0) {
            return numbers<N>(family, n, r.seed + 1000000 * which, sign);
        };
        x = of(T{}, r.family, r.elements(r.stride()), 0);
        if (r.special) add_special(r);
        upstream = of(T{}, Family::normal, r.elements(r.upstream_stride()), 1);
        probabilities = of(T{}, Family::uniform, r.elements(r.probability_stride()), 2, 1);
        scale = of(T{}, Family::normal, r.n, 3);
        shift = of(T{}, Family::normal, r.n, 4);
        weights = of(T{}, Family::uniform, r.n, 5, 1);
        row_upstream = of(V{}, Family::normal, r.rows, 6);
        mean = of(V{}, Family::uniform, r.rows, 7);
        rstd = of(V{}, Family::uniform, r.rows, 8, 1);
        for (std::uint64_t i = 0; i < r.rows; ++i) {
            const std::uint64_t word = accuracy::hash(r.seed, i);
            targets.push_back(word % 7 == 6 ? RowRequest{}.ignore_index : static_cast<std::int64_t>(word / 7 % r.n));
        }
    }

  private:
    void add_special(const Rows& r) {
        const T infinity = fp::beyond<T>(false), minus = fp::beyond<T>(true);
        for (std::uint64_t i = 0; i < r.rows; ++i) {
            T* const row = x.data() + i * r.stride();
            const std::uint64_t one = accuracy::hash(r.seed + 1, i) % r.n;
            if (i % 6 == 1) row[one] = spec::quiet_nan<T>;
            if (i % 6 == 2) row[one] = infinity;
            for (std::uint64_t j = 0; j < r.n && i % 6 >= 3; ++j) {
                if (i % 6 == 4 || accuracy::hash(r.seed + 2, j) % 5 == 0) row[j] = minus;
            }
            if (i % 6 == 5) row[one] = infinity;
        }
    }
};

/// The bits of one call.
template <class T>
class Call {
  public:
    Call(const Memory& memory, const Variant& v, const Rows& r, const RowNumbers<T>& numbers, Method method)
        : memory_(memory), v_(v), r_(r), numbers_(numbers), all_(memory, r.offset) {
        request_ = {.op = v.op, .dtype = dtype_of<T>, .n = r.n, .rows = r.rows, .stride = r.stride()};
        if (!has_one_result(v.op)) request_.output_stride = has(in_place) ? r.stride() : r.output_stride();
        if (has(probabilities)) request_.probability_stride = r.probability_stride();
        if (has_upstream(v.op)) request_.upstream_stride = r.upstream_stride();
        if (has(smoothing)) request_.label_smoothing = 0.125;
        if (has(z_loss)) request_.z_loss = 0.0078125;
        request_.parameters = has(parameters);
        if (is_loss(v.op)) request_.reduction = r.reduction.value_or(Reduction::none);
        if (adds_up()) request_.method = has(in_place) ? Method::exact : method; // the others give no narrow format
        const bool must_be_wide = adds_up() && request_.method != Method::exact;
        if ((r.to_f32 && !has(in_place)) || must_be_wide) request_.output = arithmetic_of(dtype_of<T>);
    }

    /// Does it add up what belongs to different rows? That is done by a method.
    [[nodiscard]] bool adds_up() const {
        return request_.parameters || request_.reduction == Reduction::mean ||
               (request_.reduction == Reduction::sum && has_one_result(v_.op));
    }

    [[nodiscard]] std::string text() const {
        return joined({row_op_table().kind, name(v_.op), adds_up() ? name(request_.method) : "-",
                       name(request_.reduction.value_or(Reduction::none)), name(dtype_of<T>), name(output()),
                       r_.special ? "special" : accuracy::name(r_.family), std::to_string(r_.n),
                       std::to_string(r_.rows), std::to_string(request_.stride), std::to_string(r_.offset),
                       v_.options.text(), std::to_string(r_.seed)});
    }

    [[nodiscard]] std::uint64_t bits() {
        RowArrays arrays;
        if (has(in_place)) {
            arrays.x = arrays.out = all_.in_and_out(numbers_.x);
        } else {
            arrays.x = all_.in(numbers_.x);
            arrays.out = all_.out(results(), size_of(output()));
        }
        arrays.scale = given(has(scale), numbers_.scale);
        arrays.shift = given(has(shift), numbers_.shift);
        arrays.probabilities = given(has(probabilities), numbers_.probabilities);
        arrays.weights = given(has(weights), numbers_.weights);
        arrays.factor = given(has(factor), numbers_.factor);
        if (has_upstream(v_.op)) arrays.upstream = all_.in(numbers_.upstream);
        if (has(upstream) || v_.op == RowOp::logsumexp_gradient) arrays.upstream = all_.in(numbers_.row_upstream);
        if (has_targets(v_)) arrays.targets = all_.in(numbers_.targets);
        if (has(exp_sums)) arrays.exp_sums = kept_exp_sums(arrays.targets);
        if (has(parameters)) arrays.scale_gradient = all_.out(r_.n, size_of(output()));
        if (has(parameters) && has_mean(v_.op)) arrays.shift_gradient = all_.out(r_.n, size_of(output()));
        add_numbers_of_rows(arrays);
        run(request_, arrays);
        return all_.fingerprint();
    }

  private:
    using V = fp::Arithmetic<T>;

    [[nodiscard]] bool has(Option o) const { return v_.options.has(o); }
    [[nodiscard]] bool is_reduced() const { return request_.reduction.value_or(Reduction::none) != Reduction::none; }
    [[nodiscard]] DType output() const { return request_.output.value_or(request_.dtype); }
    [[nodiscard]] std::uint64_t results() const {
        if (!has_one_result(v_.op)) return r_.elements(r_.output_stride());
        return is_reduced() ? 1 : r_.rows;
    }

    template <class N>
    const N* given(bool is_given, const std::vector<N>& list) {
        return is_given ? all_.in(list) : nullptr;
    }

    /// A number of each row that an op writes, or, of a gradient of norms, reads.
    void add_numbers_of_rows(RowArrays& arrays) {
        const auto room = [&](bool is_written, std::uint64_t count) {
            return is_written && !has(alone) ? all_.out(count, sizeof(V)) : nullptr;
        };
        const auto read = [&](const std::vector<V>& list) { return const_cast<V*>(all_.in(list)); };
        const bool of_gradient = is_norm_gradient(v_.op);
        if (has_mean(v_.op)) arrays.mean = of_gradient ? read(numbers_.mean) : room(true, r_.rows);
        if (of_gradient || is_norm(v_.op)) arrays.rstd = of_gradient ? read(numbers_.rstd) : room(true, r_.rows);
        arrays.row_weights = room((v_.op == RowOp::cross_entropy || v_.op == RowOp::nll) && !is_reduced(), r_.rows);
        if (keeps_exp_sums(v_.op)) arrays.exp_sums = room(true, 2 * r_.rows);
    }

    /// By logsumexp, or by cross entropy with the same targets or with probabilities.
    void* kept_exp_sums(const std::int64_t* targets) {
        const bool of_loss = is_loss(v_.op);
        RowRequest forward{.op = of_loss ? RowOp::cross_entropy : RowOp::logsumexp, .dtype = dtype_of<T>, .n = r_.n};
        forward.output = dtype_of<V>;
        forward.rows = r_.rows;
        forward.stride = request_.stride;
        if (of_loss) forward.reduction = Reduction::none;
        RowArrays arrays{.x = all_.in(numbers_.x), .out = all_.out(r_.rows, sizeof(V)), .targets = targets};
        if (of_loss && targets == nullptr) {
            forward.probability_stride = r_.probability_stride();
            arrays.probabilities = all_.in(numbers_.probabilities);
        }
        void* const kept = arrays.exp_sums = all_.out(2 * r_.rows, sizeof(V));
        run(forward, arrays);
        return kept;
    }

    void run(RowRequest request, const RowArrays& arrays) {
        request.device = memory_.device();
        request.launch = memory_.launch();
        const RowPlan plan = throwing::make_row_plan(request);
        throwing::run(plan, arrays, all_.workspace(plan.workspace_bytes()));
    }

    const Memory& memory_;
    const Variant& v_;
    const Rows& r_;
    const RowNumbers<T>& numbers_;
    Arrays all_;
    RowRequest request_;
};

/// A factor for each row is of losses that are not reduced.
bool is_offered(const Variant& v, const Rows& r) {
    return !r.reduction || !v.options.has(upstream) || !is_loss(v.op);
}

/// A sum or mean of losses by each, all else by one of them in turn.
std::vector<Method> methods_of(const Variant& v, const Rows& r, std::uint64_t turn) {
    const std::vector<Method> all = golden_methods();
    return r.reduction && is_loss(v.op) && has_one_result(v.op) ? all : std::vector{all[turn % all.size()]};
}

} // namespace

std::vector<CallResult> row_op_results(const Memory& memory, std::uint64_t longest) {
    std::vector<CallResult> results;
    for (const DType dtype : dtypes()) {
        if (has_8_bits(dtype)) continue;
        for (const Rows& r : rows_of(dtype)) {
            if (r.n * r.rows > longest) continue;
            std::uint64_t turn = r.seed;
            with_dtype_from_16_bits(dtype, [&]<class T>(T) {
                const RowNumbers<T> numbers(r);
                for (const Variant& v : variants) {
                    ++turn;
                    if (!is_offered(v, r)) continue;
                    for (const Method method : methods_of(v, r, turn)) {
                        Call<T> call(memory, v, r, numbers, method);
                        results.push_back({call.text(), call.bits()});
                    }
                }
            });
        }
    }
    return results;
}

CallTable row_op_table() {
    return {"row_op", spec_version_of(RowOp{}),
            "# kind\top\tmethod\treduction\tdtype\toutput\tfamily\tn\trows\tstride\toffset\toption\tseed\tbits",
            row_op_results};
}

} // namespace detreduce::golden
