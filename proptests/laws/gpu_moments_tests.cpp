#include <moments_reference.hpp>

#include "laws/device_memory.hpp"
#include "laws/expect_status.hpp"
#include "laws/moments_draws.hpp"
#include "laws/on_cpu.hpp"
#include "laws/repeating.hpp"

namespace detreduce::proptests {

TEST_CASE("moments: the typed calls of cuda.hpp", "[moments][gpu]") {
    const auto x = upload(std::vector<float>{1, 2, 3, 4, 7});
    const DeviceBuffer out(512);
    const auto* const d_x = reinterpret_cast<const float*>(x->data());
    auto* const value = reinterpret_cast<double*>(out.data());
    const StreamOwner s;
    throw_if_error(cuda::moments(Op::variance, d_x, 5, value, Method::exact, 1, s.stream));
    throw_if_error(cuda::moments(Op::moments, d_x, 5, value + 1));
    CUDA_CHECK(cudaDeviceSynchronize());
    REQUIRE(download<double>(value) == 5.3);
    REQUIRE(download<double>(value + 1) == 3.4);
    REQUIRE(download<double>(value + 2) == 4.24);
    constexpr auto invalid = StatusCode::invalid_argument;
    expect(cuda::moments(Op::mean, d_x, 5, value), invalid, "op");
    expect(cuda::moments(Op::variance, d_x, 5, value, Method::tree, 5), invalid, "ddof");
    expect(cuda::reduce(Op::moments, d_x, static_cast<const float*>(nullptr), 5, value), invalid, "op");
}

TEST_CASE("moments: launches that there are not are refused by name", "[moments][gpu][status]") {
    constexpr auto unsupported = StatusCode::unsupported;
    for (const Op op : moment_ops) {
        const auto status = [&](Method method, const Launch& launch, Shape shape = Shape::flat) {
            return make_plan({.op = op, .method = method, .shape = shape, .n = 9, .launch = launch}).status();
        };
        REQUIRE(status(Method::tree, {.schedule = Schedule::two_pass, .block = 256}).ok());
        REQUIRE(status(Method::exact, {.schedule = Schedule::two_pass, .block = 128}).ok());
        for (const Shape shape : {Shape::rows, Shape::columns, Shape::segments}) {
            for (const Method method : {Method::tree, Method::exact})
                REQUIRE(status(method, {}, shape).ok());
        }
        for (const Method method : {Method::exact, Method::tree}) {
            expect(status(method, {.schedule = Schedule::last_block}), unsupported, "launch.schedule");
            expect(status(method, {.schedule = Schedule::cooperative}), unsupported, "launch.schedule");
            expect(status(method, {.block = 512}), StatusCode::invalid_argument, "launch.block");
        }
        expect(status(Method::tree, {.block = 128}), unsupported, "launch.block");
        expect(status(Method::exact, {.block = 256}), unsupported, "launch.block");
        expect(status(Method::serial, {}), unsupported, "method");
    }
}

TEMPLATE_TEST_CASE("moments: exact has the bits of the CPU", "[moments][gpu]", DETREDUCE_ALL_TYPES) {
    const auto x = Repeating<TestType>(3'000'077, 64).all();
    double of_host[2];
    moments_into(Op::moments, x, of_host, Method::exact, 1);
    const std::vector<double> expected(of_host, of_host + 2);
    for (const unsigned word : {0u, 1u, 5u})
        REQUIRE(same_bits(moments_of<double>(Op::moments, x, Method::exact, 1, word), expected));
}

/// Two levels above the tiles, of a segment and of columns.
TEST_CASE("moments: groups of millions of elements have the CPU's bits", "[moments][groups][gpu][large]") {
    auto cut = giant_among_tiny<double>(100, (std::size_t{1} << 24) + 4096 + 77);
    cut.pair.x = vector_from<double>(Style::stratified, cut.request.n, 5, {-6, 3, false, false});
    const auto check = [&] {
        const auto results = moments_of_groups<double>(cut, Op::moments, Method::tree, 1, 3);
        Request request = cut.request;
        request.dtype = DType::f64;
        const auto* const offsets = cut.offsets.empty() ? nullptr : cut.offsets.data();
        REQUIRE(same_bits(results, on_cpu<double>(request, {cut.pair.x.data(), nullptr, offsets})));
    };
    check();
    cut.request = {.shape = Shape::columns, .n = cut.pair.x.size() / 3, .groups = 3};
    cut.offsets.clear();
    check();
}

/// Of 2 bytes each: more than 2^32 of them have three levels, and counts of more than 32 bits.
TEST_CASE("moments: more than 2^32 elements", "[moments][gpu][large]") {
    const auto repeating = beyond_32_bits<bfloat16>();
    std::size_t free_bytes = 0, total_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (free_bytes < repeating.n * sizeof(bfloat16) + (std::size_t{1} << 30)) {
        return skipped("not enough memory on the device for " + std::to_string(repeating.n) + " elements");
    }
    const DeviceBuffer x(repeating.n * sizeof(bfloat16)), out(512);
    auto* const d_x = reinterpret_cast<bfloat16*>(x.data());
    for (std::size_t at = 0; at < repeating.n; at += repeating.block.size()) {
        const std::size_t count = std::min(repeating.block.size(), repeating.n - at);
        CUDA_CHECK(cudaMemcpy(d_x + at, repeating.block.data(), count * sizeof(bfloat16), cudaMemcpyHostToDevice));
    }
    auto* const value = reinterpret_cast<double*>(out.data());
    throw_if_error(cuda::moments(Op::moments, d_x, repeating.n, value, Method::tree, 1));
    CUDA_CHECK(cudaDeviceSynchronize());
    const auto all = repeating.root<reference::Group>(reference::Rows::in_pairs);
    const auto expected = reference::moments_of<double>(Op::moments, all, 1);
    REQUIRE(same_bits(download<double>(value), expected[0]));
    REQUIRE(same_bits(download<double>(value + 1), expected[1]));
}

} // namespace detreduce::proptests
