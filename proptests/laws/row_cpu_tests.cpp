// Row ops on the CPU.
#include <cfenv>
#include <vector>

#include <detreduce/detreduce.hpp>

#include <row_reference.hpp>

#include "laws/askew.hpp"
#include "laws/expect_status.hpp"
#include "laws/refused.hpp"
#include "laws/row_draws.hpp"
#include "laws/row_results.hpp"

namespace detreduce::proptests {
namespace {

struct RowBackend {
    static constexpr Device device = cpu;
    static constexpr std::uint64_t longest = 20000;
    template <class T>
    using Array = Askew<T>;
    static std::span<const RowOp> ops() { return all_row_ops; }
    static std::vector<Launch> launches() {
        std::vector<Launch> list;
        for (const std::uint32_t threads : {1u, 2u, 3u, 7u}) {
            for (const Isa isa : available_isas())
                list.push_back({.threads = threads, .isa = isa});
        }
        return list;
    }
    /// With a workspace that begins as garbage.
    static void execute(const RowPlan& plan, const RowArrays& arrays) {
        std::vector<double> workspace(plan.workspace_bytes() / 8, 77);
        throw_if_error(run(plan, arrays, workspace.data()));
    }

    /// One row after the other, from the text.
    template <class Out, class T>
    static RowResults<Out, fp::Arithmetic<T>> expected(const RowRequest& r, const RowData<T>& data) {
        RowResults<Out, fp::Arithmetic<T>> all;
        reference::RowInput<T> in{{}, data.scale, data.shift, data.weights, {}, {}};
        in.ignore_index = r.ignore_index;
        in.smoothing = r.label_smoothing;
        in.z_loss = r.z_loss;
        in.epsilon = r.epsilon;
        if (!data.factor.empty()) in.factor = data.factor[0];
        for (std::uint64_t i = 0; i < r.rows; ++i) {
            in.x = std::span(data.x).subspan(i * r.n, r.n);
            if (!data.targets.empty()) in.target = data.targets[i];
            if (!data.probabilities.empty()) in.probabilities = std::span(data.probabilities).subspan(i * r.n, r.n);
            if (!data.upstream.empty()) in.upstream = std::span(data.upstream).subspan(i * r.n, r.n);
            if (!data.row_upstream.empty()) in.factor = data.row_upstream[i];
            if (!data.mean.empty()) in.mean = data.mean[i];
            if (!data.rstd.empty()) in.rstd = data.rstd[i];
            auto one = reference::row<Out>(r.op, in);
            if (keeps_exp_sums(r.op)) {
                reference::keep_sum(r.op, in, one);
                all.exp_sums.insert(all.exp_sums.end(), one.exp_sums, one.exp_sums + 2);
            }
            all.out.insert(all.out.end(), one.out.begin(), one.out.end());
            if (r.op == RowOp::layernorm) all.mean.push_back(one.mean);
            if (of_norms(r.op)) all.rstd.push_back(one.rstd);
            if (has_row_weights(r)) all.weight.push_back(one.weight);
        }
        return all;
    }
};

} // namespace
} // namespace detreduce::proptests

#include "laws/row_laws.hpp"

namespace detreduce::proptests {

TEMPLATE_TEST_CASE("rows: the reference's short way of rounding is its long one", "[rows]", float16, bfloat16, float) {
    for (std::uint64_t i = 0; i < 20000; ++i) {
        const float x = i % 2 ? fp::from_bits<float>(static_cast<std::uint32_t>(accuracy::hash(i, 1)))
                              : fp::widen(fp::from_bits<bfloat16>(static_cast<std::uint16_t>(accuracy::hash(i, 2))));
        const float y = i % 4 < 2 ? x * 0x1p-10f : x * 0x1.8p-3f;
        REQUIRE(fp::to_bits(reference::nearest<TestType>(y)) == fp::to_bits(reference::converted<TestType>(y)));
    }
}

TEST_CASE("row bounds: say something", "[rows][error]") {
    const accuracy::ExpSumCase f32{DType::f32, 1000}, f64{DType::f64, 1000};
    REQUIRE(accuracy::others_bound(f32) < 25 * 0x1p-24);
    REQUIRE(accuracy::others_bound(f64) < 25 * 0x1p-53);
    REQUIRE(accuracy::log_softmax_bound(f32, DType::f32, 1e-30, 0) < 30 * 0x1p-24 * 1e-30); // of a loss near 0
    REQUIRE(accuracy::softmax_bound(f32, DType::f32, 0.5) < 35 * 0x1p-25);
    REQUIRE(accuracy::softmax_bound(f32, DType::bf16, 0.5) > 0x1p-10);
    REQUIRE(accuracy::log_softmax_bound(f64, DType::f64, 7, 1) < 200 * 0x1p-53);
    const accuracy::NormErrors norm = accuracy::norm_errors({DType::f32, 1000, 1e-5, 800, 1000, 1000, true});
    REQUIRE(norm.mean < 60 * 0x1p-24);
    REQUIRE(norm.rstd < 400 * 0x1p-24);
}

TEST_CASE("rows: each family has a spec_version of its own", "[rows]") {
    REQUIRE(spec_version_of(Op::sum) == spec_version);
    REQUIRE(spec_version_of(Op::mse) == spec_version);
    REQUIRE(spec_version_of(RowOp::softmax) == 3);
    REQUIRE(spec_version_of(Loss::huber) == 2);
}

TEST_CASE("rows: names", "[rows]") {
    for (const RowOp op : all_row_ops)
        REQUIRE(name(op) != "?");
    REQUIRE(name(RowOp::cross_entropy_gradient) == "cross_entropy_gradient");
    REQUIRE(name(RowOp::logsumexp) == "logsumexp");
    REQUIRE(name(static_cast<RowOp>(99)) == "?");
}

TEST_CASE("rows: losses of ranges, and what the calls on them refuse", "[rows]") {
    const std::vector<double> x{-1, -2, -4, -8, -16, -32}, w{1, 2, 4};
    const std::vector<std::int64_t> t{1, 2}, ignored{-100, 2};
    REQUIRE(nll(x, 2, t) == 17);
    REQUIRE(nll(x, 2, t, {.reduction = Reduction::sum}) == 34);
    REQUIRE(nll(x, 2, ignored) == 32);
    REQUIRE(row_loss(RowOp::nll, x, 2, t, w, {.method = Method::tree}) == (2 * 2 + 4 * 32) / 6.0);
    REQUIRE(row_loss_terms(RowOp::nll, x, 2, t, w) == std::vector<double>{4, 128});
    REQUIRE(row_loss_gradient(RowOp::nll, x, 2, t) == std::vector<double>{0, -0.5, 0, 0, 0, -0.5});
    REQUIRE(row_loss_gradient(RowOp::nll, x, 2, t, w, {.reduction = Reduction::sum}) ==
            std::vector<double>{0, -2, 0, 0, 0, -4});
    // Rounded once: by way of double this would be a tie, and 1.
    const std::vector<float> near_tie{-1, -0x1p-24f, -0x1p-80f};
    const std::vector<std::int64_t> first(3);
    REQUIRE(nll(near_tie, 3, first, {.reduction = Reduction::sum}) == 1 + 0x1p-23f);
    const std::vector<double> equal(6), q{1, 0, 0, 0.5, 0.25, 0.25};
    REQUIRE(std::fabs(cross_entropy(equal, 2, t) - std::log(3.0)) < 1e-15);
    REQUIRE(std::fabs(cross_entropy(equal, 2, q) - std::log(3.0)) < 1e-15);
    REQUIRE(std::fabs(row_loss_gradient(RowOp::cross_entropy, equal, 2, q)[3] - (1 / 3.0 - 0.5) / 2) < 1e-16);
    REQUIRE(nll(std::vector<double>(), 0, std::vector<std::int64_t>(), {.reduction = Reduction::sum}) == 0);
    const std::vector<std::int64_t> three{1, 2, 0};
    REQUIRE(refused([&] { (void)nll(x, 4, t); }) == "rows");
    REQUIRE(refused([&] { (void)nll(x, 0, t); }) == "rows");
    REQUIRE(refused([&] { (void)nll(x, 2, three); }) == "target");
    REQUIRE(refused([&] { (void)cross_entropy(x, 2, w); }) == "target");
    REQUIRE(refused([&] { (void)row_loss(RowOp::nll, x, 2, t, x); }) == "weight");
    REQUIRE(refused([&] { (void)row_loss(RowOp::nll, x, 2, t, std::vector<double>()); }) == "weight");
    REQUIRE(refused([&] { (void)row_loss(RowOp::softmax, x, 2, t, {}); }) == "op");
    REQUIRE(refused([&] { (void)nll(x, 2, t, {.reduction = Reduction::none}); }) == "reduction");
    REQUIRE(refused([&] { (void)row_loss_terms(RowOp::nll, x, 2, t, {}, {}); }) == "reduction");
    REQUIRE(refused([&] { (void)nll(x, 2, t, {.label_smoothing = 0.1}); }) == "label_smoothing");
    REQUIRE(refused([&] { (void)nll(x, 2, t, {.method = Method::atomic}); }) == "method");
}

TEST_CASE("rows: a target that is no class is refused with its index", "[rows][status]") {
    constexpr std::uint64_t n = 5, rows = 4;
    const std::vector<float> x(n * rows, -1);
    const auto run_with = [&](RowOp op, Reduction reduction, const std::vector<std::int64_t>& targets) {
        const RowPlan plan =
            make_row_plan({.op = op, .n = n, .rows = rows, .ignore_index = 9, .reduction = reduction, .device = cpu});
        std::vector<float> out(n * rows, 77);
        std::vector<double> workspace(plan.workspace_bytes() / 8);
        const Status status =
            run(plan, {.x = x.data(), .out = out.data(), .targets = targets.data()}, workspace.data());
        REQUIRE(status.ok() == (out[0] != 77)); // nothing is written, or something
        return status;
    };
    for (const RowOp op : loss_row_ops) {
        for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
            INFO(name(op) << ' ' << name(reduction));
            REQUIRE(run_with(op, reduction, {0, 9, n - 1, 1}).ok());
            for (const std::int64_t bad :
                 {std::int64_t{-1}, std::int64_t{n}, std::int64_t{-100}, std::numeric_limits<std::int64_t>::min(),
                  std::numeric_limits<std::int64_t>::max()}) {
                for (std::size_t i = 0; i < rows; ++i) {
                    std::vector<std::int64_t> targets{0, 9, n - 1, 1};
                    targets[i] = targets[rows - 1] = bad;
                    const Status status = run_with(op, reduction, targets);
                    expect(status, StatusCode::invalid_argument, "targets");
                    REQUIRE(status.index == i);
                }
            }
        }
    }
    REQUIRE(refused([&] { (void)cross_entropy(x, rows, std::vector<std::int64_t>{0, 1, 2, n}); }) == "targets");
}

TEST_CASE("rows: a weight that is NaN comes out as the one NaN that there is", "[rows]") {
    const std::vector<float> x{1, 2, 3};
    const std::vector<float> weights{1, fp::from_bits<float>(0xffc12345u), 1};
    const std::int64_t target = 1;
    for (const RowOp op : {RowOp::cross_entropy, RowOp::nll}) {
        float loss = 0, weight = 0;
        const RowPlan plan =
            make_row_plan({.op = op, .n = x.size(), .rows = 1, .reduction = Reduction::none, .device = cpu});
        REQUIRE(
            run(plan,
                {.x = x.data(), .out = &loss, .targets = &target, .weights = weights.data(), .row_weights = &weight},
                nullptr)
                .ok());
        REQUIRE(fp::to_bits(weight) == fp::Format<float>::canonical_nan);
        REQUIRE(fp::to_bits(loss) == fp::Format<float>::canonical_nan);
    }
}

TEST_CASE("rows: the caller's rounding mode means nothing", "[rows]") {
    for (const RowOp op : all_row_ops) {
        for (const std::uint64_t rows : {1, 20}) {
            RowRequest r{.op = op, .n = 5003, .rows = rows, .reduction = Reduction::none, .launch = {.threads = 3}};
            if (of_targets(op)) r.reduction = Reduction::mean;
            auto data = row_data<float>(r, {}, 14);
            if (of_targets(op)) mend(data, r);
            const auto expected = run_rows<float>(r, data, 0);
            std::fesetround(FE_UPWARD);
            const auto up = run_rows<float>(r, data, 0);
            const int mode = std::fegetround();
            std::fesetround(FE_TONEAREST);
            REQUIRE(mode == FE_UPWARD);
            require_same(up, expected);
        }
    }
}

TEST_CASE("rows: an empty reduction is the mean of losses, else none", "[rows]") {
    for (const RowOp op : all_row_ops) {
        const RowPlan plan = make_row_plan({.op = op, .n = 3, .rows = 5, .device = cpu});
        INFO(name(op));
        REQUIRE(plan.status().ok());
        REQUIRE(plan.request().reduction == (of_losses(op) ? Reduction::mean : Reduction::none));
    }
    REQUIRE(make_loss_plan({.n = 3, .device = cpu}).request().reduction == Reduction::mean);
}

TEST_CASE("rows: what is wrong with a request is said by name", "[rows][status]") {
    constexpr auto invalid = StatusCode::invalid_argument;
    const auto status_of = [](RowRequest r) {
        r.device = cpu;
        return make_row_plan(r).status();
    };
    const double nan = quiet_nan<double>, inf = infinity<double>;
    expect(RowPlan().status(), invalid, "plan");
    expect(status_of({.op = static_cast<RowOp>(99), .n = 4}), invalid, "op");
    expect(status_of({.dtype = static_cast<DType>(99), .n = 4}), invalid, "dtype");
    for (const DType output : {DType::f16, DType::bf16, DType::f64, static_cast<DType>(99)})
        expect(status_of({.dtype = DType::f32, .output = output, .n = 4}), invalid, "output");
    expect(status_of({.dtype = DType::f16, .output = DType::bf16, .n = 4}), invalid, "output");
    expect(status_of({.dtype = DType::bf16, .output = DType::f64, .n = 4}), invalid, "output");
    expect(status_of({.dtype = DType::f64, .output = DType::f32, .n = 4}), invalid, "output");
    for (const double bad : {-1.0, -1e-300, nan, inf})
        expect(status_of({.op = RowOp::layernorm, .n = 4, .epsilon = bad}), invalid, "epsilon");
    for (const double bad : {-1e-9, 1 + 1e-9, nan, inf})
        expect(status_of({.op = RowOp::cross_entropy, .n = 4, .label_smoothing = bad}), invalid, "label_smoothing");
    for (const double bad : {-1e-9, nan, inf, 1e39})
        expect(status_of({.op = RowOp::cross_entropy, .n = 4, .z_loss = bad}), invalid, "z_loss");
    REQUIRE(status_of({.op = RowOp::cross_entropy, .dtype = DType::f64, .n = 4, .z_loss = 1e39}).ok());
    for (const RowOp op : all_row_ops) {
        if (!of_entropy(op)) expect(status_of({.op = op, .n = 4, .z_loss = 0.1}), invalid, "z_loss");
        expect(status_of({.op = op, .n = max_n + 1}), invalid, "n");
        expect(status_of({.op = op, .n = 4, .rows = (std::uint64_t{1} << 40) + 1}), invalid, "rows");
        expect(status_of({.op = op, .n = 65, .rows = std::uint64_t{1} << 40}), invalid, "rows");
        expect(status_of({.op = op, .n = 4, .rows = std::uint64_t{1} << 40, .stride = 65}), invalid, "rows");
        expect(status_of({.op = op, .n = 4, .stride = 3}), invalid, "stride");
        expect(status_of({.op = op, .n = 4, .output_stride = 3}), invalid, "output_stride");
        expect(status_of({.op = op, .n = 4, .launch = {.threads = 1025}}), invalid, "launch.threads");
        if (has_one_result(op)) expect(status_of({.op = op, .n = 4, .output_stride = 4}), invalid, "output_stride");
        if (!has_smoothing(op))
            expect(status_of({.op = op, .n = 4, .label_smoothing = 0.1}), invalid, "label_smoothing");
        expect(status_of({.op = op, .n = 4, .upstream_stride = has_upstream(op) ? 3u : 4u}), invalid,
               "upstream_stride");
        if (!of_norm_gradients(op)) expect(status_of({.op = op, .n = 4, .parameters = true}), invalid, "parameters");
        if (!of_entropy(op)) {
            expect(status_of({.op = op, .n = 4, .probability_stride = 4}), invalid, "probability_stride");
        } else {
            expect(status_of({.op = op, .n = 4, .probability_stride = 3}), invalid, "probability_stride");
        }
        for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
            const bool none_is_bad = reduction == Reduction::mean && !has_factor(op);
            const Status status = status_of({.op = op, .n = 4, .rows = 0, .reduction = reduction});
            if (!of_losses(op)) {
                expect(status, invalid, "reduction");
                continue;
            }
            if (none_is_bad) expect(status, invalid, "rows");
            REQUIRE(status.ok() != none_is_bad);
            for (const Method method : {Method::serial, Method::atomic})
                expect(status_of({.op = op, .n = 4, .reduction = reduction, .method = method}), StatusCode::unsupported,
                       "method");
            expect(status_of({.op = op, .n = 4, .reduction = reduction, .method = static_cast<Method>(99)}), invalid,
                   "method");
        }
        expect(status_of({.op = op, .n = 4, .reduction = static_cast<Reduction>(99)}), invalid, "reduction");
        REQUIRE(status_of({.op = op, .n = 64, .rows = std::uint64_t{1} << 40}).ok());
        constexpr std::uint64_t fifth = 14'073'748'835'533; // of 2^46 + 1
        REQUIRE(status_of({.op = op, .n = 4, .rows = 5, .stride = fifth - 1}).ok());
        expect(status_of({.op = op, .n = 4, .rows = 5, .stride = fifth}), invalid, "rows");
        REQUIRE(status_of({.op = op, .n = max_n}).ok());
        REQUIRE(status_of({.op = op, .n = 4, .rows = 0, .epsilon = 0, .reduction = Reduction::none}).ok());
        if (needs_elements(op)) {
            expect(status_of({.op = op, .n = 0}), invalid, "n");
        } else {
            REQUIRE(status_of({.op = op, .n = 0}).ok());
        }
    }
    for (const RowOp op : {RowOp::layernorm_gradient, RowOp::rmsnorm_gradient}) {
        RowRequest r{.op = op, .dtype = DType::bf16, .n = 4, .parameters = true, .reduction = Reduction::none};
        REQUIRE(status_of(r).ok()); // by exact
        for (const Method method : {Method::serial, Method::atomic}) {
            r.method = method;
            expect(status_of(r), StatusCode::unsupported, "method");
        }
        r.method = Method::tree;
        expect(status_of(r), invalid, "output");
        r.output = DType::f32;
        REQUIRE(status_of(r).ok());
    }
    REQUIRE(status_of({.dtype = DType::bf16, .output = DType::f32, .n = 4}).ok());
    REQUIRE(status_of({.op = RowOp::cross_entropy, .n = 4, .label_smoothing = 1}).ok());
}

TEST_CASE("rows: what is wrong with pointers is said by name", "[rows][status]") {
    constexpr auto invalid = StatusCode::invalid_argument;
    alignas(8) const float x[4] = {1, 2, 3, 4};
    alignas(8) float out[4] = {77, 77, 77, 77};
    alignas(8) const std::int64_t targets[2] = {0, 1};
    char* const askew = reinterpret_cast<char*>(out) + 1;
    float kept[2] = {0, 1};
    for (const RowOp op : all_row_ops) {
        const RowPlan plan = make_row_plan({.op = op, .n = 4, .reduction = Reduction::none, .device = cpu});
        const bool layer = op == RowOp::layernorm || op == RowOp::layernorm_gradient,
                   of_norm = of_norms(op) || of_norm_gradients(op),
                   upstream = has_upstream(op) || op == RowOp::logsumexp_gradient;
        const RowArrays good{.x = x,
                             .out = out,
                             .mean = op == RowOp::layernorm_gradient ? kept : nullptr,
                             .rstd = of_norm_gradients(op) ? kept + 1 : nullptr,
                             .targets = of_targets(op) ? targets : nullptr,
                             .upstream = upstream ? x : nullptr};
        const auto wrong = [&](auto RowArrays::*member, auto* value, const char* argument) {
            RowArrays bad = good;
            bad.*member = value;
            INFO(name(op) << ' ' << argument);
            expect(run(plan, bad), invalid, argument);
        };
        const void* const none = nullptr;
        void* const none_to_write = nullptr;
        if (op != RowOp::nll_gradient) wrong(&RowArrays::x, none, "x");
        wrong(&RowArrays::x, askew, "x");
        wrong(&RowArrays::out, static_cast<void*>(nullptr), "out");
        wrong(&RowArrays::out, askew, "out");
        // Misaligned where there may be one, anything where there may not.
        wrong(&RowArrays::scale, of_norm ? askew : static_cast<const void*>(x), "scale");
        wrong(&RowArrays::shift, op == RowOp::layernorm ? askew : static_cast<const void*>(x), "shift");
        if (op == RowOp::layernorm) wrong(&RowArrays::shift, x, "shift"); // without scale
        wrong(&RowArrays::mean, layer ? askew : static_cast<void*>(out), "mean");
        wrong(&RowArrays::rstd, of_norm ? askew : static_cast<void*>(out), "rstd");
        if (op == RowOp::layernorm_gradient) wrong(&RowArrays::mean, none_to_write, "mean");
        if (of_norm_gradients(op)) wrong(&RowArrays::rstd, none_to_write, "rstd");
        wrong(&RowArrays::upstream, upstream || has_factor(op) ? askew : static_cast<const void*>(x), "upstream");
        if (upstream) wrong(&RowArrays::upstream, none, "upstream");
        if (has_factor(op)) { // a number for each row, or one for all, and that of a reduction
            RowArrays both = good;
            both.factor = both.upstream = kept;
            expect(run(plan, both), invalid, "factor");
            both.factor = nullptr;
            REQUIRE(run(plan, both).ok());
            const RowPlan sum = make_row_plan({.op = op, .n = 4, .reduction = Reduction::sum, .device = cpu});
            expect(run(sum, both), invalid, "upstream");
            out[0] = 77;
        }
        wrong(&RowArrays::scale_gradient, static_cast<void*>(out), "scale_gradient"); // without `parameters`
        wrong(&RowArrays::shift_gradient, static_cast<void*>(out), "shift_gradient");
        wrong(&RowArrays::weights, of_losses(op) ? askew : static_cast<const void*>(x), "weights");
        wrong(&RowArrays::row_weights, has_row_weights({.op = op}) ? askew : static_cast<void*>(out), "row_weights");
        const bool of_sum = keeps_exp_sums(op) || takes_exp_sums(op);
        wrong(&RowArrays::exp_sums, of_sum ? askew : static_cast<void*>(out), "exp_sums");
        wrong(&RowArrays::factor, has_factor(op) ? askew : static_cast<const void*>(x), "factor");
        wrong(&RowArrays::probabilities, of_entropy(op) ? askew : static_cast<const void*>(x), "probabilities");
        if (of_entropy(op)) wrong(&RowArrays::probabilities, static_cast<const void*>(x), "targets"); // one of the two
        const auto* const odd = reinterpret_cast<const std::int64_t*>(reinterpret_cast<const char*>(targets) + 4);
        wrong(&RowArrays::targets, of_targets(op) ? odd : targets, "targets");
        if (of_targets(op)) {
            RowArrays reduced = good;
            const RowPlan mean = make_row_plan({.op = op, .n = 4, .reduction = Reduction::mean, .device = cpu});
            alignas(8) char workspace[8192];
            REQUIRE(mean.workspace_bytes() <= sizeof workspace);
            expect(run(mean, reduced), invalid, "workspace");
            expect(run(mean, reduced, workspace + 4), invalid, "workspace");
            reduced.row_weights = out;
            expect(run(mean, reduced, workspace), invalid, "row_weights");
            reduced = good;
            reduced.out = nullptr;
            expect(run(mean, reduced, workspace), invalid, "out");
        }
        if (of_targets(op)) wrong(&RowArrays::targets, static_cast<const std::int64_t*>(nullptr), "targets");
        expect(run(RowPlan(), good), invalid, "plan");
        REQUIRE(out[0] == 77);
        REQUIRE(
            run(make_row_plan({.op = op, .n = 4, .rows = 0, .reduction = Reduction::none, .device = cpu}), {}).ok());
        REQUIRE(run(plan, good).ok());
        REQUIRE(plan.workspace_bytes() == 0);
        out[0] = 77;
    }
}

} // namespace detreduce::proptests
