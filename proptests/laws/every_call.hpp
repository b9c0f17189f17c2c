// Every call that the CPU backend has, with every kind of argument, for laws about what calls take
// from their host.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <detreduce/detreduce.hpp>
#include <detreduce/transform_reduce.hpp>

#include "laws/suite.hpp"

namespace detreduce::proptests {

/// visit(name of the call, f) for each: f() runs it and gives its status. A plan that is refused
/// has no call. `threads` of launch, on every instruction set.
template <class Visit>
class EveryCall {
  public:
    EveryCall(unsigned threads, Visit visit) : visit_(visit) {
        for (const Isa isa : available_isas()) {
            launch_ = {.threads = threads, .isa = isa};
            of_dtype<float16>();
            of_dtype<bfloat16>();
            of_dtype<float>();
            of_dtype<double>();
        }
    }

  private:
    /// A tile and less, more than one with a short last row, all with every exponent.
    template <class T>
    void of_dtype() {
        for (const std::uint64_t n : {900, 20011}) {
            const std::vector<T> x = vector_from<T>(Style::stratified, n, n, no_overflow<T>);
            ops(x);
            losses(x);
            rows(x);
            others(x);
        }
    }

    template <class T>
    void op(Request r, const Inputs& in, std::vector<double>& results) {
        r.dtype = dtype_of<T>;
        r.device = cpu;
        r.launch = launch_;
        const Plan plan = make_plan(r);
        if (!plan.status().ok()) return;
        std::vector<std::uint64_t> workspace(plan.workspace_bytes() / 8 + 1);
        visit_(name(r.op), [&] { return run(plan, in, results.data(), workspace.data()); });
    }
    template <class T>
    void ops(const std::vector<T>& x) {
        std::vector<double> results(2 * x.size());
        const std::vector<std::uint64_t> offsets{0, 0, 1, x.size() / 2, x.size()};
        const std::vector<Tensor> list{{x.data(), x.size() / 3, dtype_of<T>},
                                       {x.data() + x.size() / 3, x.size() - x.size() / 3, dtype_of<T>}};
        for (const OpInfo& info : detreduce::ops()) {
            const void* const y = info.inputs == 2 ? x.data() : nullptr;
            for (const MethodInfo& m : methods()) {
                const Request flat{.op = info.op, .method = m.method, .n = x.size()};
                op<T>(flat, {x.data(), y}, results);
                Request r = flat;
                r.shape = Shape::segments;
                r.groups = offsets.size() - 1;
                op<T>(r, {x.data(), y, offsets.data()}, results);
                for (const std::uint64_t columns : {std::uint64_t{2}, x.size() / 7}) { // long ones, and many
                    r = flat;
                    r.shape = Shape::columns;
                    r.n = x.size() / columns;
                    r.groups = columns;
                    op<T>(r, {x.data(), y}, results);
                    r.shape = Shape::rows;
                    op<T>(r, {x.data(), y}, results);
                }
                r = flat;
                r.shape = Shape::tensors;
                r.groups = list.size();
                r.each = true;
                op<T>(r, {list.data(), info.inputs == 2 ? list.data() : nullptr}, results);
            }
        }
    }

    template <class T>
    void losses(const std::vector<T>& x) {
        std::vector<double> results(x.size());
        for (const LossInfo& info : detreduce::losses) {
            for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
                for (const Method method : {Method::tree, Method::kahan, Method::compensated, Method::exact}) {
                    for (const bool weighted : {false, true}) {
                        const LossPlan plan = make_loss_plan({.loss = info.loss,
                                                              .reduction = reduction,
                                                              .method = method,
                                                              .dtype = dtype_of<T>,
                                                              .n = x.size(),
                                                              .weighted = weighted,
                                                              .device = cpu,
                                                              .launch = launch_});
                        if (!plan.status().ok()) continue;
                        const LossInputs in{x.data(), x.data(), weighted ? x.data() : nullptr};
                        visit_("a loss", [&] { return run(plan, in, results.data()); });
                        visit_("a gradient", [&] { return run_gradient(plan, in, nullptr, results.data()); });
                    }
                }
            }
        }
    }

    template <class T>
    void rows(const std::vector<T>& x) {
        std::vector<double> results(x.size()), more(x.size());
        for (int op = 0; op <= static_cast<int>(RowOp::cross_entropy_target_gradient); ++op) {
            for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
                for (const std::uint64_t rows : {std::uint64_t{1}, x.size() / 100}) {
                    const RowPlan plan = make_row_plan({.op = static_cast<RowOp>(op),
                                                        .dtype = dtype_of<T>,
                                                        .n = x.size() / rows,
                                                        .rows = rows,
                                                        .reduction = reduction,
                                                        .device = cpu,
                                                        .launch = launch_});
                    if (!plan.status().ok()) continue;
                    const std::vector<std::int64_t> targets(rows, 3);
                    std::vector<std::uint64_t> workspace(plan.workspace_bytes() / 8 + 1);
                    RowArrays arrays{.x = x.data(), .out = results.data()};
                    if (static_cast<RowOp>(op) == RowOp::layernorm) arrays.scale = arrays.shift = x.data();
                    const auto row_op = static_cast<RowOp>(op);
                    if (row_op >= RowOp::cross_entropy && row_op <= RowOp::nll_gradient) {
                        arrays.targets = targets.data();
                        arrays.weights = x.data();
                    }
                    if (row_op >= RowOp::softmax_gradient && row_op != RowOp::cross_entropy_target_gradient)
                        arrays.upstream =
                            row_op == RowOp::logsumexp_gradient ? static_cast<const void*>(more.data()) : x.data();
                    if (row_op == RowOp::layernorm_gradient || row_op == RowOp::rmsnorm_gradient)
                        arrays.rstd = more.data();
                    if (row_op == RowOp::layernorm_gradient) arrays.mean = more.data();
                    visit_("a row op", [&] { return run(plan, arrays, workspace.data()); });
                }
            }
        }
    }

    template <class T>
    void others(const std::vector<T>& x) {
        for (const Method method : {Method::tree, Method::kahan, Method::compensated, Method::exact}) {
            T out{};
            const auto square = [](TermOf<T> e) { return e * e; };
            visit_("transform_reduce", [&] {
                return transform_reduce(square, x.data(), x.size(), &out, {.method = method, .launch = launch_});
            });
        }
        visit_("a state", [&] {
            ExactState state, other;
            const Status bad = state.add(std::span<const T>(x), launch_);
            if (!bad.ok()) return bad;
            const auto blob = state.serialize();
            const Status read = ExactState::deserialize(blob, other);
            state.merge(other);
            return read;
        });
        std::vector<T> gradients = x;
        const Tensor list[] = {{gradients.data(), gradients.size(), dtype_of<T>}};
        const ClipPlan plan =
            make_clip_plan({.n = x.size(), .tensors = 1, .max_norm = 0.5, .device = cpu, .launch = launch_});
        double norm = 0;
        visit_("clip_grad_norm", [&] { return run(plan, list, &norm); });
    }

    Visit visit_;
    Launch launch_;
};

} // namespace detreduce::proptests
