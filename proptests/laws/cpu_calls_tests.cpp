// The short calls of host.hpp for ops that compare, multiply or count, and what plans of these
// refuse on the CPU.
#include <cmath>
#include <cstring>
#include <vector>

#include "laws/expect_status.hpp"
#include "laws/ties.hpp"

namespace detreduce::proptests {

TEST_CASE("order: the calls of host.hpp", "[order]") {
    const std::vector<float> x{2, NAN, -3, 2};
    REQUIRE(std::isnan(min(x)));
    REQUIRE(std::isnan(max(x)));
    REQUIRE(std::isnan(nrminf(x)));
    REQUIRE(argmin(x) == 1);
    REQUIRE(argmax(x) == 1);
    REQUIRE(min(x, NanPolicy::ignore) == -3);
    REQUIRE(max(x, NanPolicy::ignore) == 2);
    REQUIRE(nrminf(x, NanPolicy::ignore, {.threads = 2}) == 3);
    REQUIRE(argmin(x, NanPolicy::ignore) == 2);
    REQUIRE(argmax(x, NanPolicy::ignore, {.threads = 3}) == 0);
    REQUIRE(order_as<double>(Op::min, x, NanPolicy::ignore) == -3);
    REQUIRE(reduce_as<float>(Op::max, std::vector<float>{1, 2}) == 2);
    REQUIRE(nrminf(std::vector<double>{}) == 0);
    REQUIRE_THROWS_AS(min(std::vector<double>{}), Error);
    REQUIRE_THROWS_AS(argmax(std::vector<double>{}), Error);
    REQUIRE_THROWS_AS(arg(Op::max, x), Error);
    REQUIRE_THROWS_AS(order_as<float>(Op::argmax, x), Error);
    REQUIRE_THROWS_AS(order_as<float>(Op::sum, x, NanPolicy::ignore), Error);
}

TEST_CASE("as many threads as may be asked for give the bits of one", "[cpu]") {
    const auto x = vector_from<double>(Style::stratified, 300'007, 3, {-20, 20, false, false});
    const auto results = [&](Op op, Method method, std::uint32_t threads) {
        const Plan plan = make_plan({.op = op,
                                     .method = method,
                                     .dtype = DType::f64,
                                     .n = x.size(),
                                     .device = cpu,
                                     .launch = {.threads = threads}});
        throw_if_error(plan.status());
        REQUIRE(plan.launch().threads == threads);
        std::vector<std::uint64_t> out(plan.results()), workspace(plan.workspace_bytes() / 8);
        throw_if_error(run(plan, x.data(), out.data(), workspace.data()));
        return out;
    };
    for (const Method method : {Method::exact, Method::compensated, Method::kahan, Method::tree})
        REQUIRE(results(Op::sum, method, 1024) == results(Op::sum, method, 1));
    for (const Op op : {Op::nrm2, Op::moments, Op::minmax, Op::argmax, Op::count_nonzero, Op::count_unique}) {
        INFO(name(op));
        REQUIRE(results(op, Method::exact, 1024) == results(op, Method::exact, 1));
    }
}

TEST_CASE("products: the calls of host.hpp", "[product]") {
    const std::vector<float> x{2, -3, 0.5f};
    REQUIRE(prod(x) == -3);
    REQUIRE(prod(x, Method::tree, {.threads = 2}) == -3);
    REQUIRE(prod(std::vector<double>{}) == 1);
    REQUIRE(reduce_as<double>(Op::prod, x, Method::serial) == -3);
    REQUIRE_THROWS_AS(prod(x, Method::exact), Error);
    REQUIRE_THROWS_AS(order_as<float>(Op::prod, x), Error); // of the default method exact
}

TEST_CASE("products refuse what they do not have, by name", "[product][status]") {
    const auto status = [](Request r) {
        r.op = Op::prod;
        r.device = cpu;
        return make_plan(r).status();
    };
    for (const MethodInfo& m : methods()) {
        const bool there = m.method == Method::tree || m.method == Method::compensated || m.method == Method::serial;
        const Status s = status({.method = m.method, .n = 2});
        if (there) {
            REQUIRE(s.ok());
        } else {
            expect(s, StatusCode::unsupported, "method");
            REQUIRE(std::strstr(s.allowed, "compensated, tree") != nullptr);
        }
    }
    constexpr auto tree = Method::tree;
    REQUIRE(status({.method = tree, .n = 0}).ok());
    REQUIRE(status({.method = tree, .output = DType::f64, .n = 2}).ok());
    expect(status({.method = tree, .output = DType::f16, .n = 2}), StatusCode::invalid_argument, "output");
    expect(status({.method = tree, .n = 2, .nan = NanPolicy::ignore}), StatusCode::invalid_argument, "nan");
    for (const Shape shape : {Shape::rows, Shape::columns, Shape::segments})
        REQUIRE(status({.method = tree, .shape = shape, .n = 2, .groups = 3}).ok());
    expect(status({.method = tree, .shape = Shape::tensors, .n = 2}), StatusCode::unsupported, "op");
    REQUIRE(make_plan({.op = Op::prod, .method = tree, .n = 2, .device = cpu}).guarantee() == Guarantee::device);
}

TEST_CASE("counts and minmax: the calls of host.hpp", "[count][minmax]") {
    const std::vector<float> x{2, NAN, -3, 2, -0.0f, 0};
    REQUIRE(count_nonzero(x) == 4);
    REQUIRE(count_unique(x) == 4);
    REQUIRE(count_unique(x, {.threads = 3}) == 4);
    REQUIRE(count_nonzero(std::vector<double>{}) == 0);
    REQUIRE(count_unique(std::vector<double>{}) == 0);
    REQUIRE(std::isnan(minmax(x).min));
    REQUIRE(minmax(x, NanPolicy::ignore).min == -3);
    REQUIRE(minmax(x, NanPolicy::ignore, {.threads = 2}).max == 2);
    REQUIRE_THROWS_AS(minmax(std::vector<double>{}), Error);
    REQUIRE_THROWS_AS(count(Op::argmax, x), Error);
    REQUIRE_THROWS_AS(arg(Op::count_unique, x), Error);
    // These write two results where there is room for one, or an integer where there is room for a
    // number.
    REQUIRE_THROWS_AS(reduce_as<float>(Op::minmax, x), Error);
    REQUIRE_THROWS_AS(order_as<float>(Op::minmax, x), Error);
    REQUIRE_THROWS_AS(reduce_as<float>(Op::count_unique, x), Error);
}

TEST_CASE("counts refuse what they do not have, by name", "[count][status]") {
    for (const Op op : count_ops) {
        const auto plan = [op](Request r) {
            r.op = op;
            r.device = cpu;
            return make_plan(r);
        };
        for (const MethodInfo& m : methods()) {
            if (m.method == Method::atomic) {
                expect(plan({.method = m.method, .n = 2}).status(), StatusCode::unsupported, "method");
            } else {
                REQUIRE(plan({.method = m.method, .n = 2}).status().ok());
                REQUIRE(plan({.method = m.method, .n = 2}).guarantee() == Guarantee::order);
            }
        }
        REQUIRE(plan({.n = 0}).status().ok());
        REQUIRE(plan({.n = 2}).result_is_integer());
        expect(plan({.output = DType::f64, .n = 2}).status(), StatusCode::invalid_argument, "output");
        expect(plan({.output = DType::f16, .n = 2}).status(), StatusCode::invalid_argument, "output");
        expect(plan({.n = 2, .nan = NanPolicy::ignore}).status(), StatusCode::invalid_argument, "nan");
    }
}

TEST_CASE("count_unique takes a workspace on the CPU, and checks it", "[count][status]") {
    const float x[3] = {1, 5, 5};
    std::uint64_t out = 0;
    alignas(16) unsigned char workspace[32];
    const auto plan = [](DType dtype, std::uint64_t n) {
        return make_plan({.op = Op::count_unique, .dtype = dtype, .n = n, .device = cpu});
    };
    REQUIRE(plan(DType::f16, 100).workspace_bytes() == 0);
    REQUIRE(plan(DType::bf16, 100).workspace_bytes() == 0);
    REQUIRE(plan(DType::f64, 100).workspace_bytes() == 800);
    REQUIRE(plan(DType::f32, 0).workspace_bytes() == 0);
    REQUIRE(make_plan({.op = Op::count_nonzero, .dtype = DType::f64, .n = 100, .device = cpu}).workspace_bytes() == 0);
    const Plan of_three = plan(DType::f32, 3);
    REQUIRE(of_three.workspace_bytes() == 12);
    expect(run(of_three, x, &out), StatusCode::invalid_argument, "workspace");
    expect(run(of_three, x, &out, workspace + 4), StatusCode::invalid_argument, "workspace");
    REQUIRE(run(of_three, x, &out, workspace + 8).ok());
    REQUIRE(out == 2);
    expect(run(of_three, x, reinterpret_cast<char*>(&out) + 4, workspace), StatusCode::invalid_argument, "out");
}

TEST_CASE("minmax refuses what it does not have, by name", "[minmax][status]") {
    const auto plan = [](Request r) {
        r.op = Op::minmax;
        r.device = cpu;
        return make_plan(r);
    };
    REQUIRE(plan({.n = 2}).results() == 2);
    REQUIRE(plan({.n = 2}).guarantee() == Guarantee::order);
    REQUIRE(plan({.method = Method::tree, .output = DType::f16, .n = 2, .nan = NanPolicy::ignore}).status().ok());
    expect(plan({.n = 0}).status(), StatusCode::invalid_argument, "n");
    expect(plan({.method = Method::atomic, .n = 2}).status(), StatusCode::unsupported, "method");
}

} // namespace detreduce::proptests
