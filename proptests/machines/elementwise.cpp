// What gives a number an element, or a row: functions, losses and their gradients, clipping, row
// ops.
#include "agree.hpp"

#include "math/evaluate.hpp"

namespace detreduce::machines {

using accuracy::Family;
namespace {

template <class T>
void function_lines(Agreement& to) {
    Draw draw{4};
    const std::vector<T> x = any_bits<T>(draw, 1 << 15);
    std::vector<T> y(x.size());
    for (const math::Properties& p : math::functions) {
        std::uint64_t first = 0;
        for (const proptests::Evaluator& evaluator : proptests::evaluators()) {
            evaluator(p.function, x.data(), y.data(), x.size());
            Fingerprint f;
            f.put(y);
            const bool is_first = &evaluator == &proptests::evaluators().front();
            if (is_first) first = f.value();
            if (f.value() != first) to.fail(std::string(p.name) + ": " + evaluator.name + " gives other bits");
        }
        to.line("math " + std::string(p.name) + ' ' + std::string(name(dtype_of<T>)), first);
    }
}

template <class T>
void loss_lines(Agreement& to) {
    Draw draw{5};
    for (const LossInfo& info : losses) {
        for (std::size_t round = 0; round < 5; ++round) {
            constexpr Method each[] = {Method::exact, Method::exact, Method::tree, Method::kahan, Method::compensated};
            const Method method = each[round];
            const Reduction reduction = round == 0 ? Reduction::none : draw.of({Reduction::sum, Reduction::mean});
            const std::uint64_t n = 1 + draw.below(3000);
            const bool probabilities = info.target == LossDomain::probability;
            auto x = draw.below(3) == 0 ? elements<T>(draw, n) : elements<T>(draw, Family::normal, n);
            auto target = elements<T>(draw, Family::uniform, n);
            const auto weight = elements<T>(draw, n);
            for (std::size_t i = 0; i < n; ++i) {
                if (!probabilities || draw.below(50) == 0) continue;
                target[i] = fp::from_bits<T>(fp::magnitude_bits(target[i]));
                if (info.x == LossDomain::probability) x[i] = target[draw.below(i + 1)];
            }
            const LossRequest request{.loss = info.loss,
                                      .reduction = reduction,
                                      .method = method,
                                      .dtype = dtype_of<T>,
                                      .n = n,
                                      .parameter = draw.of({0.5, 1.0, 0.3}),
                                      .weighted = draw.below(2) == 0,
                                      .device = cpu};
            const T upstream = elements<T>(draw, Family::normal, 1)[0];
            const std::string what = "loss " + std::string(info.name) + ' ' + std::string(name(reduction)) + ' ' +
                                     std::string(name(method)) + ' ' + std::string(name(dtype_of<T>)) +
                                     " n=" + std::to_string(n);
            to.check(what, [&](const Launch& launch, Fingerprint& f) {
                LossRequest r = request;
                r.launch = launch;
                const LossPlan plan = make_loss_plan(r);
                throw_if_error(plan.status());
                const LossInputs in{x.data(), target.data(), r.weighted ? weight.data() : nullptr};
                std::vector<T> out(plan.results()), dx(n);
                throw_if_error(run(plan, in, out.data()));
                throw_if_error(run_gradient(plan, in, reduction == Reduction::none ? nullptr : &upstream, dx.data()));
                f.put(out, dx);
            });
        }
    }
}

template <class T>
void row_lines(Agreement& to) {
    using V = fp::Arithmetic<T>;
    Draw draw{6};
    for (auto op = RowOp::logsumexp; name(op) != "?"; op = static_cast<RowOp>(static_cast<int>(op) + 1)) {
        const bool norm = op == RowOp::layernorm || op == RowOp::rmsnorm,
                   slope_of_norm = op == RowOp::layernorm_gradient || op == RowOp::rmsnorm_gradient,
                   loss = op >= RowOp::cross_entropy && op <= RowOp::nll_gradient,
                   cross = op == RowOp::cross_entropy || op == RowOp::cross_entropy_gradient,
                   upstream = op >= RowOp::softmax_gradient && op != RowOp::cross_entropy_target_gradient;
        for (std::uint64_t round = 0; round < 8; ++round) {
            const std::uint64_t tile = 32768 / sizeof(T);
            const std::uint64_t n = round >= 6 ? tile + draw.below(3) : 1 + draw.below(draw.of({8, 70, 1500}));
            const std::uint64_t rows = round >= 6 ? 2 : 1 + draw.below(6);
            RowRequest request{.op = op,
                               .dtype = dtype_of<T>,
                               .n = n,
                               .rows = rows,
                               .stride = n + draw.below(3),
                               .reduction = Reduction::none};
            if (cross && round % 2 == 1) request.label_smoothing = 0.1;
            if (loss && round % 3 == 2) request.reduction = Reduction::mean, request.method = Method::tree;
            request.device = cpu;
            const bool spread = round % 4 == 3; // logits as they are, or of any size
            const auto x = spread ? elements<T>(draw, rows * request.stride)
                                  : elements<T>(draw, Family::normal, rows * request.stride);
            const auto scale = elements<T>(draw, Family::normal, n), shift = elements<T>(draw, Family::uniform, n),
                       probabilities = elements<T>(draw, Family::uniform, rows * n);
            std::vector<std::int64_t> targets(rows);
            for (std::int64_t& t : targets)
                t = draw.below(5) == 0 ? request.ignore_index : static_cast<std::int64_t>(draw.below(n));
            const bool by_probability = cross && round % 4 == 0;
            const bool weighted = loss && round % 2 == 0;
            to.check("row " + std::string(name(op)) + ' ' + std::string(name(dtype_of<T>)) + " n=" + std::to_string(n) +
                         " rows=" + std::to_string(rows) + (spread ? " spread" : ""),
                     [&](const Launch& launch, Fingerprint& f) {
                         RowRequest r = request;
                         r.launch = launch;
                         const RowPlan plan = make_row_plan(r);
                         throw_if_error(plan.status());
                         std::vector<T> out(rows * plan.results());
                         std::vector<V> mean(rows), rstd(rows), numbers(rows, V(0.75));
                         std::vector<double> workspace((plan.workspace_bytes() + 7) / 8);
                         RowArrays a{.x = x.data(), .out = out.data()};
                         if (op == RowOp::nll_gradient) a.x = nullptr;
                         if (norm) a.scale = scale.data(), a.rstd = rstd.data();
                         if (slope_of_norm) a.scale = scale.data(), a.rstd = numbers.data();
                         if (op == RowOp::layernorm_gradient) a.mean = numbers.data();
                         if (upstream) a.upstream = probabilities.data();
                         if (op == RowOp::logsumexp_gradient) a.upstream = numbers.data();
                         if (op == RowOp::layernorm) a.shift = shift.data(), a.mean = mean.data();
                         if (loss && !by_probability) a.targets = targets.data();
                         if (by_probability) a.probabilities = probabilities.data();
                         if (weighted) a.weights = shift.data();
                         throw_if_error(run(plan, a, workspace.data()));
                         f.put(out, mean, rstd);
                     });
        }
    }
}

} // namespace

void functions(Agreement& to) {
    function_lines<float>(to);
    function_lines<double>(to);
}

void losses_and_clipping(Agreement& to) {
    with_each_dtype([&]<class T>(T) { loss_lines<T>(to); });
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        to.check("clip " + std::to_string(seed), [&](const Launch& launch, Fingerprint& f) {
            Draw draw{200 + seed};
            auto a = elements<float16>(draw, draw.below(900));
            auto b = elements<bfloat16>(draw, draw.below(900));
            auto c = elements<float>(draw, draw.below(900));
            auto d = elements<double>(draw, draw.below(900));
            const Tensor list[] = {{a.data(), a.size(), DType::f16},
                                   {b.data(), b.size(), DType::bf16},
                                   {c.data(), c.size(), DType::f32},
                                   {d.data(), d.size(), DType::f64}};
            double norm = 0;
            const ClipPlan plan = make_clip_plan({.n = a.size() + b.size() + c.size() + d.size(),
                                                  .tensors = std::size(list),
                                                  .max_norm = 0.37,
                                                  .device = cpu,
                                                  .launch = launch});
            throw_if_error(run(plan, list, &norm));
            f.put(norm, a, b, c, d);
        });
    }
}

void row_ops(Agreement& to) {
    with_each_dtype([&]<class T>(T) { row_lines<T>(to); });
}

} // namespace detreduce::machines
