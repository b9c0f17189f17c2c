// Bad arguments give the documented status; names read back.
#include <cstring>

#include <detreduce/detreduce.hpp>

#include <support/catch.hpp>

#include "laws/expect_status.hpp"

namespace detreduce::proptests {
namespace {

Status status_of(Request request) {
    if (request.device == current_gpu) request.device = cpu;
    return make_plan(request).status();
}

} // namespace

TEST_CASE("a request outside the words is refused by name", "[status]") {
    REQUIRE(status_of({.n = 10}).ok());
    expect(status_of({.op = static_cast<Op>(99), .n = 1}), StatusCode::invalid_argument, "op");
    expect(status_of({.method = static_cast<Method>(99), .n = 1}), StatusCode::invalid_argument, "method");
    expect(status_of({.dtype = static_cast<DType>(99), .n = 1}), StatusCode::invalid_argument, "dtype");
    expect(status_of({.shape = static_cast<Shape>(99), .n = 1}), StatusCode::invalid_argument, "shape");
    expect(status_of({.device = {static_cast<Backend>(99), 0}}), StatusCode::invalid_argument, "device.backend");
    expect(status_of({.launch = {.schedule = static_cast<Schedule>(99)}}), StatusCode::invalid_argument,
           "launch.schedule");
    expect(status_of({.launch = {.isa = static_cast<Isa>(99)}}), StatusCode::invalid_argument, "launch.isa");
    expect(status_of({.launch = {.threads = 1025}}), StatusCode::invalid_argument, "launch.threads");
    REQUIRE(status_of({.n = max_n}).ok());
    expect(status_of({.n = max_n + 1}), StatusCode::invalid_argument, "n");
    expect(status_of({.n = ~std::uint64_t{0}}), StatusCode::invalid_argument, "n");
}

TEST_CASE("pointers are checked before anything is touched", "[status]") {
    alignas(16) float x[4] = {1, 2, 3, 4};
    float out = 7;
    const Plan plan = make_plan({.dtype = DType::f32, .n = 3, .device = cpu});
    expect(run(plan, x, nullptr), StatusCode::invalid_argument, "out");
    expect(run(plan, nullptr, &out), StatusCode::invalid_argument, "x");
    expect(run(plan, reinterpret_cast<const char*>(x) + 2, &out), StatusCode::invalid_argument, "x");
    expect(run(plan, x, reinterpret_cast<char*>(x) + 1), StatusCode::invalid_argument, "out");
    REQUIRE(out == 7);
    REQUIRE(run(plan, x, &out).ok());
    REQUIRE(out == 6);
    REQUIRE(run(make_plan({.dtype = DType::f32, .n = 0, .device = cpu}), nullptr, &out).ok());
    REQUIRE(out == 0);
}

TEST_CASE("running a bad plan says what was wrong with it", "[status]") {
    float x = 1, out = 7;
    expect(run(make_plan({.n = max_n + 1, .device = cpu}), &x, &out), StatusCode::invalid_argument, "n");
    REQUIRE(out == 7);
}

TEST_CASE("a plan that make_plan did not make does not run", "[status]") {
    float x = 1, out = 7;
    expect(run(Plan{}, &x, &out), StatusCode::invalid_argument, "plan");
    REQUIRE(out == 7);
}

TEST_CASE("the typed calls throw what the core returns", "[status]") {
    const float x[] = {1, 2, 3};
    REQUIRE(sum(x) == 6);
    try {
        (void)sum(x, Method::tree, {.threads = 5000});
        FAIL("no exception");
    } catch (const Error& error) {
        expect(error.status(), StatusCode::invalid_argument, "launch.threads");
        REQUIRE(std::strstr(error.what(), "launch.threads") != nullptr);
        REQUIRE(std::strstr(error.what(), "1024") != nullptr);
    }
}

TEST_CASE("the throwing wrapper throws what the core returns", "[status]") {
    const float x[] = {1, 2, 3};
    float out = 0;
    const Plan plan = throwing::make_plan({.n = 3, .device = cpu});
    throwing::run(plan, x, &out);
    REQUIRE(out == 6);
    REQUIRE_THROWS_AS(throwing::make_plan({.n = max_n + 1, .device = cpu}), Error);
    REQUIRE_THROWS_AS(throwing::run(plan, x, nullptr), Error);
}

TEST_CASE("a plan owns guarantee, launch and workspace", "[status]") {
    const Plan plan = make_plan({.method = Method::tree, .dtype = DType::f64, .n = 1000, .device = cpu});
    REQUIRE(plan.guarantee() == Guarantee::device);
    REQUIRE(plan.workspace_bytes() == 0);
    REQUIRE(plan.launch().threads >= 1);
    REQUIRE(plan.launch().isa == available_isas().back());
    REQUIRE(make_plan({.method = Method::atomic, .device = cpu}).guarantee() == Guarantee::none);
}

TEST_CASE("names read back", "[status]") {
    for (const MethodInfo& m : methods()) {
        REQUIRE(parse_method(m.name) == m.method);
        REQUIRE(name(m.method) == m.name);
        REQUIRE(info(m.method).guarantee == m.guarantee);
    }
    for (const DType d : {DType::f32, DType::f64})
        REQUIRE(parse_dtype(name(d)) == d);
    for (const Schedule s : {Schedule::automatic, Schedule::two_pass, Schedule::last_block, Schedule::cooperative}) {
        REQUIRE(parse_schedule(name(s)) == s);
    }
    REQUIRE(parse_op("sum") == Op::sum);
    REQUIRE_FALSE(parse_method("Tree").has_value());
    REQUIRE_FALSE(parse_dtype("").has_value());
    REQUIRE_FALSE(parse_op("sums").has_value());
}

TEST_CASE("without a CUDA backend, a CUDA plan says so", "[status]") {
    if (cuda::built_with_cuda()) return;
    expect(status_of({.n = 1, .device = {Backend::cuda, 0}}), StatusCode::no_device, "device");
    std::string why;
    REQUIRE(cuda::devices(&why).empty());
    REQUIRE_FALSE(why.empty());
}

} // namespace detreduce::proptests
