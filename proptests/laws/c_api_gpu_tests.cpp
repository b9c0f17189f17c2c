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
    return {static_cast<StatusCode>(s.code), s.argument, s.allowed, s.cuda_error, s.index};
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

TEST_CASE("C on the GPU: segments by id, and checks that name the first bad one", "[gpu][c][segments]") {
    constexpr detreduce_device gpu{DETREDUCE_BACKEND_CUDA, -1};
    const auto ids = upload(std::vector<std::uint32_t>{1, 1, 3, 3, 2});
    const DeviceBuffer offsets(512);
    auto* const d_ids = reinterpret_cast<std::uint32_t*>(ids->data());
    auto* const d_offsets = reinterpret_cast<std::uint64_t*>(offsets.data());
    throw_if_error(as_status(detreduce_offsets_of_ids_u32(gpu, d_ids, 4, 5, d_offsets, nullptr)));
    throw_if_error(as_status(detreduce_check_ids_u32(gpu, d_ids, 4, 5, nullptr)));
    throw_if_error(as_status(detreduce_check_offsets(gpu, d_offsets, 5, 4, 1, nullptr)));
    const std::uint64_t expected[] = {0, 0, 2, 2, 4, 4};
    for (std::size_t g = 0; g < 6; ++g)
        REQUIRE(download<std::uint64_t>(d_offsets + g) == expected[g]);
    const detreduce_status of_ids = detreduce_check_ids_u32(gpu, d_ids, 5, 5, nullptr);
    REQUIRE(of_ids.argument == std::string_view("ids"));
    REQUIRE(of_ids.index == 4);
    const detreduce_status of_offsets = detreduce_check_offsets(gpu, d_offsets, 5, 3, 0, nullptr);
    REQUIRE(of_offsets.argument == std::string_view("offsets"));
    REQUIRE(of_offsets.index == 4);
    REQUIRE(detreduce_check_ids_u64(gpu, nullptr, 1, 1, nullptr).argument == std::string_view("ids"));
}

} // namespace detreduce::proptests
