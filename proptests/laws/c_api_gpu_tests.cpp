// The C header on the GPU: the bits of the CPU, in a graph as well.
#include <cstring>
#include <string_view>

#include <detreduce/detreduce.h>

#include <support/catch.hpp>

#include "laws/device_memory.hpp"
#include "laws/extremes.hpp"

namespace detreduce::proptests {
namespace {

Status as_status(const detreduce_status& s) {
    return {static_cast<StatusCode>(s.code), s.argument, s.allowed, s.cuda_error};
}

detreduce_state* as_c(const DeviceBuffer& buffer) {
    return reinterpret_cast<detreduce_state*>(buffer.data());
}

} // namespace

TEST_CASE("C on the GPU: a run, and one with a workspace of its own", "[gpu][c][sanitizer]") {
    const auto x = extreme<double>(Extreme::drifting, 70001, 1), y = extreme<double>(Extreme::drifting, 70001, 2);
    const auto d_x = upload(x), d_y = upload(y);
    const StreamOwner owner;
    for (const detreduce_method method : {DETREDUCE_METHOD_TREE, DETREDUCE_METHOD_EXACT}) {
        detreduce_request request = DETREDUCE_REQUEST_INIT;
        request.op = DETREDUCE_OP_DOT, request.method = method, request.dtype = DETREDUCE_DTYPE_F64;
        request.n = x.size();
        detreduce_plan plan;
        throw_if_error(as_status(detreduce_make_plan(&request, &plan)));
        REQUIRE(detreduce_plan_workspace_bytes(&plan) > 0);
        const DeviceBuffer workspace(detreduce_plan_workspace_bytes(&plan)), out(sizeof(double));
        const double expected = dot(x, y, static_cast<Method>(method));
        out.fill(0xff, sizeof(double));
        throw_if_error(as_status(
            detreduce_run(&plan, d_x->data(), d_y->data(), nullptr, out.data(), workspace.data(), owner.stream)));
        CUDA_CHECK(cudaStreamSynchronize(owner.stream));
        REQUIRE(fp::to_bits(download<double>(out.data())) == fp::to_bits(expected));
        out.fill(0xff, sizeof(double));
        throw_if_error(
            as_status(detreduce_run_async(&plan, d_x->data(), d_y->data(), nullptr, out.data(), owner.stream)));
        CUDA_CHECK(cudaStreamSynchronize(owner.stream));
        REQUIRE(fp::to_bits(download<double>(out.data())) == fp::to_bits(expected));
        REQUIRE(workspace.guards_intact());
    }
    REQUIRE(detreduce_cuda_device_count() > 0);
}

TEST_CASE("C on the GPU: states have the bytes that C makes on the CPU", "[gpu][c][exact]") {
    const auto x = extreme<float>(Extreme::whole_range, 30001, 3);
    const auto d_x = upload(x);
    const DeviceBuffer a(sizeof(detreduce_state)), b(sizeof(detreduce_state)), out(sizeof(double));
    a.fill(0, sizeof(detreduce_state)), b.fill(0, sizeof(detreduce_state));
    detreduce_state expected = DETREDUCE_STATE_INIT;
    throw_if_error(as_status(detreduce_state_add(&expected, DETREDUCE_DTYPE_F32, x.data(), x.size(), nullptr)));
    const float* const first = reinterpret_cast<const float*>(d_x->data());
    throw_if_error(as_status(detreduce_cuda_state_add(as_c(a), DETREDUCE_DTYPE_F32, first, 10000, nullptr)));
    throw_if_error(
        as_status(detreduce_cuda_state_add(as_c(b), DETREDUCE_DTYPE_F32, first + 10000, x.size() - 10000, nullptr)));
    throw_if_error(as_status(detreduce_cuda_state_merge(as_c(a), as_c(b), nullptr)));
    throw_if_error(as_status(detreduce_cuda_state_round(as_c(a), DETREDUCE_DTYPE_F64, out.data(), nullptr)));
    CUDA_CHECK(cudaDeviceSynchronize());
    const auto got = download<detreduce_state>(a.data());
    REQUIRE(std::memcmp(&got, &expected, sizeof got) == 0);
    double rounded = 0;
    throw_if_error(as_status(detreduce_state_round(&expected, DETREDUCE_DTYPE_F64, &rounded)));
    REQUIRE(fp::to_bits(download<double>(out.data())) == fp::to_bits(rounded));
    REQUIRE(detreduce_cuda_state_round(as_c(a), 99, out.data(), nullptr).argument == std::string_view("dtype"));
    REQUIRE(detreduce_cuda_state_add(nullptr, DETREDUCE_DTYPE_F32, first, 1, nullptr).argument ==
            std::string_view("state"));
}

} // namespace detreduce::proptests
