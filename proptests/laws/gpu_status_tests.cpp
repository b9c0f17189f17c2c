// Bad arguments of the CUDA backend give the documented status, and leave the device usable.
#include <cstring>

#include <support/catch.hpp>

#include "laws/device_buffer.hpp"
#include "laws/draw.hpp"
#include "laws/expect_status.hpp"

namespace detreduce::proptests {
namespace {

Status status_of(Request request) {
    request.device.backend = Backend::cuda;
    return make_plan(request).status();
}

} // namespace

TEST_CASE("a CUDA launch outside its range is refused by name", "[gpu][status]") {
    REQUIRE(status_of({.n = 10}).ok());
    expect(status_of({.launch = {.block = 100}}), StatusCode::invalid_argument, "launch.block");
    expect(status_of({.launch = {.block = 512}}), StatusCode::invalid_argument, "launch.block");
    expect(status_of({.launch = {.block = 1024}}), StatusCode::invalid_argument, "launch.block");
    expect(status_of({.launch = {.grid = 0x80000000u}}), StatusCode::invalid_argument, "launch.grid");
    expect(status_of({.device = {Backend::cuda, 1000}}), StatusCode::invalid_argument, "device.index");
    expect(status_of({.device = {Backend::cuda, -2}}), StatusCode::invalid_argument, "device.index");
    expect(status_of({.method = Method::serial}), StatusCode::unsupported, "method");
    REQUIRE(cudaGetLastError() == cudaSuccess); // a refused request leaves no error behind
}

TEST_CASE("exact has launches of its own", "[gpu][status]") {
    for (const Schedule schedule : {Schedule::automatic, Schedule::two_pass, Schedule::last_block}) {
        for (const std::uint32_t block : {0u, 128u}) {
            const Plan plan = make_plan({.method = Method::exact, .n = 10, .launch = {schedule, 0, block}});
            REQUIRE(plan.status().ok());
            REQUIRE(plan.launch().block == (block == 0 && schedule != Schedule::two_pass ? 256 : 128));
            REQUIRE(plan.launch().schedule == (schedule == Schedule::automatic ? Schedule::last_block : schedule));
        }
    }
    expect(status_of({.method = Method::exact, .launch = {.schedule = Schedule::cooperative}}), StatusCode::unsupported,
           "launch.schedule");
    expect(status_of({.method = Method::exact, .launch = {.block = 256}}), StatusCode::unsupported, "launch.block");
    expect(status_of({.method = Method::exact, .n = 10, .launch = {.schedule = Schedule::two_pass, .block = 256}}),
           StatusCode::unsupported, "launch.block");
    for (const Schedule schedule : {Schedule::two_pass, Schedule::last_block, Schedule::cooperative}) {
        for (const std::uint32_t block : {0u, 128u, 256u})
            REQUIRE(status_of({.method = Method::tree, .launch = {.schedule = schedule, .block = block}}).ok());
    }
    for (const Method method : {Method::kahan, Method::compensated}) {
        REQUIRE(status_of({.method = method, .launch = {.schedule = Schedule::two_pass, .block = 256}}).ok());
        for (const Schedule schedule : {Schedule::last_block, Schedule::cooperative})
            expect(status_of({.method = method, .launch = {.schedule = schedule}}), StatusCode::unsupported,
                   "launch.schedule");
        expect(status_of({.method = method, .launch = {.block = 128}}), StatusCode::unsupported, "launch.block");
    }
    expect(status_of({.method = Method::kahan, .dtype = DType::f32, .output = DType::bf16}),
           StatusCode::invalid_argument, "output");
}

TEST_CASE("ops have the launches that they have", "[gpu][status]") {
    for (const OpInfo& op : sum_ops()) {
        INFO(op.name);
        const bool terms = op.transform != Transform::element;
        for (const Schedule schedule : {Schedule::last_block, Schedule::cooperative}) {
            const Status status =
                status_of({.op = op.op, .method = Method::tree, .n = 9, .launch = {.schedule = schedule}});
            if (terms) {
                expect(status, StatusCode::unsupported, "launch.schedule");
            } else {
                REQUIRE(status.ok());
            }
        }
        REQUIRE(
            status_of({.op = op.op, .method = Method::tree, .n = 9, .launch = {.schedule = Schedule::two_pass}}).ok());
        const Status block = status_of({.op = op.op, .method = Method::tree, .n = 9, .launch = {.block = 128}});
        REQUIRE(block.ok() == !terms);
        const Status atomic = status_of({.op = op.op, .method = Method::atomic, .n = 9});
        if (op.op == Op::sum) {
            REQUIRE(atomic.ok());
        } else {
            expect(atomic, StatusCode::unsupported, "method");
        }
    }
}

TEST_CASE("calls on device states check their arguments", "[gpu][status]") {
    const DeviceBuffer memory(4096);
    memory.fill(0, 4096);
    auto* const state = reinterpret_cast<ExactState*>(memory.data());
    auto* const crooked = reinterpret_cast<ExactState*>(memory.data() + 4);
    char* const x = memory.data() + 1024;
    constexpr auto invalid = StatusCode::invalid_argument;
    expect(cuda::add(nullptr, DType::f32, x, 1), invalid, "state");
    expect(cuda::add(crooked, DType::f32, x, 1), invalid, "state");
    expect(cuda::add(state, static_cast<DType>(99), x, 1), invalid, "dtype");
    expect(cuda::add(state, DType::f32, nullptr, 1), invalid, "x");
    expect(cuda::add(state, DType::f32, x + 2, 1), invalid, "x");
    expect(cuda::add(state, DType::bf16, x + 1, 1), invalid, "x");
    expect(cuda::add(state, DType::f64, x, max_n + 1), invalid, "n");
    expect(cuda::merge(nullptr, state), invalid, "state");
    expect(cuda::merge(state, nullptr), invalid, "term");
    expect(cuda::merge(state, crooked), invalid, "term");
    expect(cuda::round(nullptr, DType::f32, x), invalid, "state");
    expect(cuda::round(state, static_cast<DType>(99), x), invalid, "dtype");
    expect(cuda::round(state, DType::f32, nullptr), invalid, "out");
    expect(cuda::round(state, DType::f32, x + 2), invalid, "out");
    REQUIRE(cuda::add(state, DType::f32, nullptr, 0).ok());
    REQUIRE(cuda::round(state, DType::f16, x + 2).ok());
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    ExactState after;
    CUDA_CHECK(cudaMemcpy(&after, state, sizeof after, cudaMemcpyDeviceToHost));
    REQUIRE(after == ExactState{});
}

TEST_CASE("the workspace is checked", "[gpu][status]") {
    const Method method = GENERATE(Method::tree, Method::kahan, Method::compensated, Method::exact);
    INFO(name(method));
    const Plan plan = make_plan({.method = method, .dtype = DType::f32, .n = 1000000, .device = {Backend::cuda, -1}});
    REQUIRE(plan.workspace_bytes() > 0);
    const DeviceBuffer memory(1000000 * sizeof(float) + 4096), workspace(plan.workspace_bytes() + 256);
    void* const out = memory.data();
    const void* const x = memory.data() + 512;
    expect(run(plan, x, out, nullptr), StatusCode::invalid_argument, "workspace");
    expect(run(plan, x, out, workspace.data() + 8), StatusCode::invalid_argument, "workspace");
    expect(run(plan, memory.data() + 2, out, workspace.data()), StatusCode::invalid_argument, "x");
    expect(run(plan, x, nullptr, workspace.data()), StatusCode::invalid_argument, "out");
    REQUIRE(run(plan, x, out, workspace.data()).ok());
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("a plan is small where the problem is small", "[gpu][status]") {
    const auto bytes = [](Method method, DType dtype, std::uint64_t n) {
        return make_plan({.method = method, .dtype = dtype, .n = n, .device = {Backend::cuda, -1}}).workspace_bytes();
    };
    for (const Method method : {Method::tree, Method::kahan, Method::compensated}) {
        REQUIRE(bytes(method, DType::f32, 0) == 0);
        REQUIRE(bytes(method, DType::f32, 8192) == 0);
        REQUIRE(bytes(method, DType::f32, 8193) > 0);
        REQUIRE(bytes(method, DType::bf16, 16384) == 0);
        REQUIRE(bytes(method, DType::f64, std::uint64_t{1} << 40) <= (std::uint64_t{1} << 33));
    }
    REQUIRE(bytes(Method::exact, DType::f64, 1) == 0);
    REQUIRE(bytes(Method::exact, DType::f64, std::uint64_t{1} << 40) == 1024);
}

} // namespace detreduce::proptests
