// Bad arguments of the CUDA backend give the documented status, and leave the device usable.
#include <cstring>

#include <support/catch.hpp>

#include "laws/expect_status.hpp"

#include "laws/cuda_backend.hpp"

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
    expect(status_of({.launch = {.block = 1024}}), StatusCode::invalid_argument, "launch.block");
    expect(status_of({.launch = {.grid = 0x80000000u}}), StatusCode::invalid_argument, "launch.grid");
    expect(status_of({.device = {Backend::cuda, 1000}}), StatusCode::invalid_argument, "device.index");
    expect(status_of({.device = {Backend::cuda, -2}}), StatusCode::invalid_argument, "device.index");
    expect(status_of({.method = Method::serial}), StatusCode::unsupported, "method");
    REQUIRE(cudaGetLastError() == cudaSuccess); // a refused request leaves no error behind
}

TEST_CASE("the workspace is checked", "[gpu][status]") {
    const Plan plan = make_plan({.dtype = DType::f32, .n = 1000000, .device = {Backend::cuda, -1}});
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
    const auto bytes = [](DType dtype, std::uint64_t n) {
        return make_plan({.dtype = dtype, .n = n, .device = {Backend::cuda, -1}}).workspace_bytes();
    };
    REQUIRE(bytes(DType::f32, 0) == 0);
    REQUIRE(bytes(DType::f32, 8192) == 0);
    REQUIRE(bytes(DType::f32, 8193) > 0);
    REQUIRE(bytes(DType::f64, std::uint64_t{1} << 40) < (std::uint64_t{1} << 32));
}

} // namespace detreduce::proptests
