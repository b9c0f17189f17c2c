#include <support/bits.hpp>

#include "laws/device_memory.hpp"
#include "laws/draw.hpp"
#include "laws/expect_status.hpp"

namespace detreduce::proptests {

TEST_CASE("order: the typed calls of cuda.hpp", "[order][gpu]") {
    const auto x = upload(std::vector<float>{2, NAN, -3, 2});
    const DeviceBuffer out(512);
    const auto* const d_x = reinterpret_cast<const float*>(x->data());
    auto* const index = reinterpret_cast<std::uint64_t*>(out.data());
    auto* const value = reinterpret_cast<double*>(out.data() + 64);
    const StreamOwner s;
    throw_if_error(cuda::arg(Op::argmin, d_x, 4, index, NanPolicy::ignore, s.stream));
    throw_if_error(cuda::arg(Op::argmax, d_x, 4, index + 1));
    throw_if_error(cuda::reduce(Op::min, d_x + 2, static_cast<const float*>(nullptr), 2, value));
    CUDA_CHECK(cudaDeviceSynchronize());
    REQUIRE(download<std::uint64_t>(index) == 2);
    REQUIRE(download<std::uint64_t>(index + 1) == 1);
    REQUIRE(download<double>(value) == -3);
    constexpr auto invalid = StatusCode::invalid_argument;
    expect(cuda::arg(Op::max, d_x, 4, index), invalid, "op");
    expect(cuda::arg(Op::argmax, d_x, 0, index), invalid, "n");
    expect(cuda::arg(Op::argmax, d_x, 4, reinterpret_cast<std::uint64_t*>(out.data() + 4)), invalid, "out");
    expect(cuda::reduce(Op::argmax, d_x, static_cast<const float*>(nullptr), 4, value), invalid, "output");
}

TEST_CASE("order: launches that there are not are refused by name", "[order][gpu][status]") {
    for (const OpInfo& op : order_ops()) {
        const auto status = [&](Method method, const Launch& launch) {
            return make_plan({.op = op.op, .method = method, .n = 9, .launch = launch}).status();
        };
        REQUIRE(status(Method::tree, {.schedule = Schedule::two_pass, .block = 128}).ok());
        REQUIRE(status(Method::exact, {.block = 256}).ok());
        expect(status(Method::exact, {.schedule = Schedule::last_block}), StatusCode::unsupported, "launch.schedule");
        expect(status(Method::exact, {.schedule = Schedule::cooperative}), StatusCode::unsupported, "launch.schedule");
        expect(status(Method::exact, {.block = 512}), StatusCode::invalid_argument, "launch.block");
        expect(status(Method::atomic, {}), StatusCode::unsupported, "method");
        expect(status(Method::serial, {}), StatusCode::unsupported, "method");
        const auto block_of = [&](Shape shape) {
            return make_plan({.op = op.op, .shape = shape, .n = 9, .groups = 5000, .launch = {.block = 128}}).status();
        };
        REQUIRE(block_of(Shape::rows).ok());
        expect(block_of(Shape::columns), StatusCode::unsupported, "launch.block");
    }
}

/// Zeros, of which a few are something else: so many that there are more blocks than the device
/// holds, and then more than 2^32.
TEST_CASE("order: millions of elements, and more than 2^32", "[order][gpu][large]") {
    const std::uint64_t n = GENERATE((std::uint64_t{1} << 28) + 13, (std::uint64_t{1} << 32) + (1u << 20) + 13);
    std::size_t free_bytes = 0, total_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (free_bytes < n * sizeof(bfloat16) + (std::size_t{1} << 30)) {
        return skipped("not enough memory on the device for " + std::to_string(n) + " elements");
    }
    const DeviceBuffer x(n * sizeof(bfloat16)), out(512);
    x.fill(0, n * sizeof(bfloat16));
    auto* const d_x = reinterpret_cast<bfloat16*>(x.data());
    auto* const index = reinterpret_cast<std::uint64_t*>(out.data());
    const auto put = [&](std::uint64_t at, double value) {
        const auto element = number<bfloat16>(value);
        CUDA_CHECK(cudaMemcpy(d_x + at, &element, sizeof element, cudaMemcpyHostToDevice));
    };
    const auto found = [&](Op op, unsigned offset) {
        throw_if_error(cuda::arg(op, d_x + offset, n - offset, index));
        return download<std::uint64_t>(index);
    };
    REQUIRE(found(Op::argmax, 1) == 0);
    put(n - 1, 1);
    REQUIRE(found(Op::argmax, 0) == n - 1);
    put(n - 5000, 1);
    REQUIRE(found(Op::argmax, 3) == n - 5003);
    put(n / 2 + 77, 2);
    put(n - 9, 2);
    REQUIRE(found(Op::argmax, 0) == n / 2 + 77);
    REQUIRE(found(Op::argmin, 0) == 0);
    put(n - 2, -1);
    REQUIRE(found(Op::argmin, 5) == n - 7);
}

} // namespace detreduce::proptests
