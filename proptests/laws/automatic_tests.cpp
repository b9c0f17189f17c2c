// Method::automatic: which method a plan then has, and that every request begins with it.
#include <string>
#include <vector>

#include <detreduce/detreduce.h>
#include <detreduce/detreduce.hpp>

#include <support/catch.hpp>

#include "laws/draw.hpp"
#include "laws/expect_status.hpp"

namespace detreduce::proptests {
namespace {

/// The results of a plan for the CPU, as bytes.
std::vector<std::byte> results_of(const Plan& plan, const std::vector<double>& x, const std::vector<double>& y) {
    INFO(to_string(plan.status()));
    REQUIRE(plan.status().ok());
    std::vector<std::byte> out(plan.results() * plan.result_bytes());
    std::vector<std::uint64_t> workspace(plan.workspace_bytes() / 8 + 1);
    const bool two = info(plan.request().op).inputs == 2;
    throw_if_error(run(plan, {x.data(), two ? y.data() : nullptr}, out.data(), workspace.data()));
    return out;
}

} // namespace

TEST_CASE("automatic is exact, and of prod compensated", "[automatic]") {
    // Sums and products that are rounded in other ways by other methods.
    std::vector<double> x, y;
    for (int i = 1; i <= 5000; ++i)
        x.push_back((i % 2 ? 1 : -1) * (1 + 0.1 / i)), y.push_back(0x1p40 / (i * i));
    for (const OpInfo& op : ops()) {
        INFO(op.name);
        const auto plan = [&](Method method) {
            return make_plan({.op = op.op, .method = method, .dtype = DType::f64, .n = x.size(), .device = cpu});
        };
        const Method method = op.op == Op::prod ? Method::compensated : Method::exact;
        REQUIRE(resolved(Method::automatic, op.op) == method);
        REQUIRE(plan(Method::automatic).request().method == method);
        REQUIRE(plan(Method::automatic).guarantee() == plan(method).guarantee());
        REQUIRE(results_of(plan(Method::automatic), x, y) == results_of(plan(method), x, y));
        for (const MethodInfo& m : methods())
            REQUIRE(resolved(m.method, op.op) == m.method);
    }
    REQUIRE(prod(x) == prod(x, Method::compensated));
    REQUIRE(prod(x) != prod(x, Method::tree));
    REQUIRE(sum(x) == sum(x, Method::exact));
    REQUIRE(sum(x) != sum(x, Method::tree));
    expect(make_plan({.op = Op::prod, .method = Method::exact, .n = 4, .device = cpu}).status(),
           StatusCode::unsupported, "method");
}

TEST_CASE("automatic is what every request begins with", "[automatic]") {
    REQUIRE(Request{}.method == Method::automatic);
    REQUIRE(LossRequest{}.method == Method::automatic);
    REQUIRE(LossOptions{}.method == Method::automatic);
    REQUIRE(RowRequest{}.method == Method::automatic);
    REQUIRE(RowLossOptions{}.method == Method::automatic);
    REQUIRE(TransformOptions{}.method == Method::automatic);
    REQUIRE(make_plan({.op = Op::prod, .n = 4, .device = cpu}).status().ok());
    for (const Loss loss : {Loss::mse, Loss::huber}) {
        for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
            const LossPlan plan = make_loss_plan({.loss = loss, .reduction = reduction, .n = 4, .device = cpu});
            REQUIRE(plan.status().ok());
            REQUIRE(plan.request().method == Method::exact);
        }
    }
    for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
        const RowPlan plan = make_row_plan({.op = RowOp::cross_entropy, .n = 4, .reduction = reduction, .device = cpu});
        REQUIRE(plan.status().ok());
        REQUIRE(plan.request().method == Method::exact);
    }
    // On a GPU exact has launches that the others, of a caller's function, have not.
    const Status launch =
        detail::plan_transform(DType::f32, DType::f32, 4, {.launch = {.block = 128}}, {Backend::cuda, 0}).status;
    REQUIRE(launch.argument != std::string("launch.block"));
    // The sums of losses and terms are the exact ones, of which a tree would lose the last.
    const std::vector<float> x{0x1p30f, 1, -0x1p30f}, zero(3), log_p{-0x1p30f, -1, -1};
    REQUIRE(transform_reduce([](float v) { return v; }, x) == 1);
    REQUIRE(loss(Loss::mae, x, zero, {.reduction = Reduction::sum}) == 0x1p31f);
    const std::vector<std::int64_t> first(3);
    REQUIRE(row_loss_terms(RowOp::nll, log_p, 3, first) == std::vector<float>{0x1p30f, 1, 1});
    REQUIRE(nll(log_p, 3, first, {.reduction = Reduction::sum}) == 0x1p30f + 2);
}

TEST_CASE("automatic has a name, and no bits of its own", "[automatic]") {
    REQUIRE(name(Method::automatic) == "automatic");
    REQUIRE(parse_method("automatic") == Method::automatic);
    REQUIRE(info(Method::automatic).method == Method::automatic);
    REQUIRE(info(Method::automatic).guarantee == Guarantee::device);
    for (const MethodInfo& m : methods())
        REQUIRE(m.method != Method::automatic);
    // What programs were compiled with stays.
    const Method in_order[] = {Method::atomic,      Method::tree,  Method::serial,   Method::kahan,
                               Method::compensated, Method::exact, Method::automatic};
    for (int i = 0; i < 7; ++i)
        REQUIRE(static_cast<int>(in_order[i]) == i);
}

TEST_CASE("C: automatic", "[automatic][c]") {
    detreduce_request request;
    detreduce_request_init(&request, sizeof request);
    REQUIRE(request.method == DETREDUCE_METHOD_AUTOMATIC);
    request.n = 4;
    request.device.backend = DETREDUCE_BACKEND_CPU;
    detreduce_plan plan;
    REQUIRE(detreduce_make_plan(&request, &plan).code == DETREDUCE_OK);
    REQUIRE(detreduce_plan_method(&plan) == DETREDUCE_METHOD_EXACT);
    request.op = DETREDUCE_OP_PROD;
    REQUIRE(detreduce_make_plan(&request, &plan).code == DETREDUCE_OK);
    REQUIRE(detreduce_plan_method(&plan) == DETREDUCE_METHOD_COMPENSATED);
    REQUIRE(detreduce_plan_guarantee(&plan) == DETREDUCE_GUARANTEE_DEVICE);
    request.method = DETREDUCE_METHOD_EXACT;
    REQUIRE(detreduce_make_plan(&request, &plan).code == DETREDUCE_UNSUPPORTED);
    REQUIRE(detreduce_parse_method("automatic") == DETREDUCE_METHOD_AUTOMATIC);
    REQUIRE(detreduce_method_name(DETREDUCE_METHOD_AUTOMATIC) == std::string("automatic"));
    const double x[] = {1e308, 1e308, -1e308};
    double out = 0;
    REQUIRE(detreduce_sum_f64(x, 3, DETREDUCE_METHOD_AUTOMATIC, &out).code == DETREDUCE_OK);
    REQUIRE(out == 1e308);
}

} // namespace detreduce::proptests
