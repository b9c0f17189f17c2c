// A soak: threads that call without a break, each with its own kind of call at its own length, by
// some number of threads and some instruction set, and compare every bit with what one thread
// gives. Not among the tests that are run by default:
//
//     DETREDUCE_SOAK_MINUTES=60 build/bin/detreduce_thread_tests "[.soak]"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include <detreduce/detreduce.hpp>
#include <detreduce/transform_reduce.hpp>

#include <support/catch.hpp>

#include "laws/suite.hpp"

namespace detreduce::proptests {
namespace {

constexpr std::uint64_t longest = std::uint64_t{1} << 18;

/// Numbers that depend on a seed alone.
class Choices {
  public:
    explicit Choices(std::uint64_t seed) : state_(seed) {}
    std::uint64_t operator()(std::uint64_t below) { return accuracy::hash(state_, ++count_) % below; }
    /// As many short ones as long ones.
    std::uint64_t length(std::uint64_t most) {
        std::uint64_t bits = 0;
        while (most >> bits != 0)
            ++bits;
        return std::min(most, (*this)(std::uint64_t{1} << (*this)(bits + 1)) + 1);
    }

  private:
    std::uint64_t state_, count_ = 0;
};

template <class T>
const std::vector<T>& numbers() {
    static const std::vector<T> x = vector_from<T>(Style::stratified, 2 * longest, 5, {-60, 60, true, true});
    return x;
}

/// A call, but for its launch: what it writes, or nothing where it is refused.
using Bytes = std::vector<char>;
using Call = std::function<Bytes(const Launch&)>;

template <class T>
Call an_op(Choices& choose) {
    const auto all = ops();
    const OpInfo& info = all[choose(all.size())];
    const Method deterministic[] = {Method::exact, Method::tree, Method::kahan, Method::compensated, Method::serial};
    Request r{.op = info.op,
              .method = deterministic[choose(5)],
              .dtype = dtype_of<T>,
              .n = choose.length(longest),
              .device = cpu};
    const Shape shapes[] = {Shape::flat, Shape::rows, Shape::columns, Shape::segments, Shape::tensors};
    r.shape = shapes[choose(5)];
    if (r.shape != Shape::flat) r.groups = choose.length(std::min<std::uint64_t>(r.n, 1000));
    if (r.shape == Shape::rows || r.shape == Shape::columns) r.n /= r.groups;
    r.each = r.shape == Shape::tensors && choose(2) == 0;
    const T* const x = numbers<T>().data() + choose(longest / 2);
    const T* const y = info.inputs == 2 ? numbers<T>().data() + choose(longest / 2) : nullptr;
    std::vector<std::uint64_t> cuts(r.groups + 1);
    std::vector<Tensor> xs(r.groups), ys(r.groups);
    for (std::uint64_t i = 0; i < r.groups; ++i) {
        cuts[i + 1] = r.n * (i + 1) / r.groups;
        xs[i] = {x + cuts[i], cuts[i + 1] - cuts[i], dtype_of<T>};
        if (y) ys[i] = {y + cuts[i], cuts[i + 1] - cuts[i], dtype_of<T>};
    }
    return [=](const Launch& launch) -> Bytes {
        Request own = r;
        own.launch = launch;
        const Plan plan = make_plan(own);
        if (!plan.status().ok()) return {};
        Bytes out(plan.results() * plan.result_bytes() + 8);
        std::vector<std::uint64_t> workspace(plan.workspace_bytes() / 8 + 1);
        const bool tensors = r.shape == Shape::tensors;
        const Inputs in(tensors ? static_cast<const void*>(xs.data()) : x,
                        tensors && y ? static_cast<const void*>(ys.data()) : y,
                        r.shape == Shape::segments ? cuts.data() : nullptr);
        return run(plan, in, out.data(), workspace.data()).ok() ? out : Bytes{};
    };
}

#define DETREDUCE_COUNT(...) +1
constexpr std::uint64_t row_op_count = 0 DETREDUCE_ROW_OPS(DETREDUCE_COUNT),
                        loss_count = 0 DETREDUCE_LOSSES(DETREDUCE_COUNT);
#undef DETREDUCE_COUNT

template <class T>
Call a_row_op(Choices& choose) {
    RowRequest r{.op = static_cast<RowOp>(choose(row_op_count)),
                 .dtype = dtype_of<T>,
                 .n = choose.length(longest / 4),
                 .reduction = Reduction::none,
                 .device = cpu};
    r.rows = 1 + choose(longest / 2 / r.n > 50 ? 50 : longest / 2 / r.n);
    const bool target = r.op >= RowOp::cross_entropy && r.op <= RowOp::nll_gradient,
               loss = target || r.op == RowOp::cross_entropy_target_gradient,
               entropy = r.op == RowOp::cross_entropy || r.op == RowOp::cross_entropy_gradient,
               norm = r.op == RowOp::layernorm_gradient || r.op == RowOp::rmsnorm_gradient;
    if (loss) r.reduction = static_cast<Reduction>(choose(3));
    if (entropy && choose(2) == 0) r.z_loss = 0.25;
    r.parameters = norm && choose(2) == 0;
    const T* const x = numbers<T>().data() + choose(longest / 2);
    std::vector<std::int64_t> targets(r.rows);
    for (std::int64_t& t : targets)
        t = static_cast<std::int64_t>(choose(r.n));
    const std::vector<fp::Arithmetic<T>> kept(r.rows, 1.5f);
    return [=](const Launch& launch) -> Bytes {
        RowRequest own = r;
        own.launch = launch;
        const RowPlan plan = make_row_plan(own);
        if (!plan.status().ok()) return {};
        // And behind what is there of each element the gradients of scale and shift.
        const std::uint64_t elements = r.rows * plan.results();
        Bytes out((elements + 2 * r.n) * sizeof(T) + 8);
        std::vector<std::uint64_t> workspace(plan.workspace_bytes() / 8 + 1);
        RowArrays arrays{.x = x, .out = out.data()};
        if (target) arrays.targets = targets.data();
        auto* const numbers_of_rows = const_cast<fp::Arithmetic<T>*>(kept.data()); // which gradients read
        if (norm) arrays.rstd = numbers_of_rows;
        if (r.op == RowOp::layernorm_gradient) arrays.mean = numbers_of_rows;
        if (r.op == RowOp::logsumexp_gradient) arrays.upstream = numbers_of_rows;
        if (norm || r.op == RowOp::softmax_gradient || r.op == RowOp::log_softmax_gradient) arrays.upstream = x + 3;
        if (r.parameters) arrays.scale_gradient = out.data() + elements * sizeof(T);
        if (r.parameters && r.op == RowOp::layernorm_gradient)
            arrays.shift_gradient = out.data() + (elements + r.n) * sizeof(T);
        return run(plan, arrays, workspace.data()).ok() ? out : Bytes{};
    };
}

template <class T>
Call a_loss(Choices& choose) {
    const Method methods[] = {Method::exact, Method::tree, Method::kahan, Method::compensated};
    const LossRequest r{.loss = static_cast<Loss>(choose(loss_count)),
                        .reduction = static_cast<Reduction>(choose(3)),
                        .method = methods[choose(4)],
                        .dtype = dtype_of<T>,
                        .n = choose.length(longest / 4),
                        .weighted = choose(2) == 0,
                        .device = cpu};
    const T* const x = numbers<T>().data() + choose(longest / 2);
    const bool gradient = choose(2) == 0;
    return [=](const Launch& launch) -> Bytes {
        LossRequest own = r;
        own.launch = launch;
        const LossPlan plan = make_loss_plan(own);
        if (!plan.status().ok()) return {};
        Bytes out(r.n * sizeof(T) + 8);
        const LossInputs in{x, x + 7, r.weighted ? x + 1 : nullptr};
        const Status status = gradient ? run_gradient(plan, in, nullptr, out.data()) : run(plan, in, out.data());
        return status.ok() ? out : Bytes{};
    };
}

template <class T>
Call a_sum_of_terms(Choices& choose) {
    const Method methods[] = {Method::exact, Method::tree, Method::kahan, Method::compensated};
    const Method method = methods[choose(4)];
    const std::uint64_t n = choose.length(longest);
    const std::span<const T> x = std::span(numbers<T>()).subspan(choose(longest / 2), n);
    const bool state = choose(3) == 0;
    return [=](const Launch& launch) -> Bytes {
        Bytes out(ExactState::serialized_bytes);
        if (state) {
            ExactState all;
            if (!all.add(x, launch).ok()) return {};
            std::memcpy(out.data(), all.serialize().data(), out.size());
            return out;
        }
        const T sum =
            transform_reduce([](TermOf<T> e) { return e * TermOf<T>(0.75); }, x, {.method = method, .launch = launch});
        std::memcpy(out.data(), &sum, sizeof sum);
        return out;
    };
}

template <class T>
Call any_call(Choices& choose) {
    switch (choose(6)) {
    case 0:
        return a_row_op<T>(choose);
    case 1:
        return a_loss<T>(choose);
    case 2:
        return a_sum_of_terms<T>(choose);
    default:
        return an_op<T>(choose);
    }
}

} // namespace

TEST_CASE("soak", "[.soak]") {
    const char* const asked = std::getenv("DETREDUCE_SOAK_MINUTES");
    const double minutes = asked ? std::atof(asked) : 0.1;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(60 * minutes);
    constexpr unsigned at_once = 8;
    std::atomic<std::uint64_t> calls{0}, refused{0}, wrong{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < at_once; ++t) {
        threads.emplace_back([&, t] {
            for (std::uint64_t i = t; std::chrono::steady_clock::now() < end; i += at_once) {
                Choices choose(i);
                const Call call = choose(4) == 0   ? any_call<float16>(choose)
                                  : choose(3) == 0 ? any_call<bfloat16>(choose)
                                  : choose(2) == 0 ? any_call<float>(choose)
                                                   : any_call<double>(choose);
                const auto isas = available_isas();
                const Bytes one = call({.threads = 1, .isa = isas[choose(isas.size())]});
                const Bytes many =
                    call({.threads = static_cast<std::uint32_t>(2 + choose(7)), .isa = isas[choose(isas.size())]});
                ++calls;
                refused += one.empty();
                if (one != many) {
                    ++wrong;
                    std::fprintf(stderr, "soak: call %llu differs\n", static_cast<unsigned long long>(i));
                }
            }
        });
    }
    for (std::thread& t : threads)
        t.join();
    std::printf("soak: %.1f minutes, %llu calls, %llu of them refused, %llu with another bit\n", minutes,
                static_cast<unsigned long long>(calls), static_cast<unsigned long long>(refused),
                static_cast<unsigned long long>(wrong));
    REQUIRE(wrong == 0);
    REQUIRE(refused < calls / 2);
}

} // namespace detreduce::proptests
