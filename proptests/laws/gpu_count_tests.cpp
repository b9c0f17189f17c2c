#include <count_reference.hpp>

#include "laws/device_memory.hpp"
#include "laws/expect_status.hpp"
#include "laws/ties.hpp"

namespace detreduce::proptests {

TEST_CASE("counts and minmax: the typed calls of cuda.hpp", "[count][minmax][gpu]") {
    const auto x = upload(std::vector<float>{2, NAN, -3, 2, -0.0f, 0});
    const DeviceBuffer out(512);
    const auto* const d_x = reinterpret_cast<const float*>(x->data());
    auto* const counts = reinterpret_cast<std::uint64_t*>(out.data());
    auto* const both = reinterpret_cast<double*>(out.data() + 64);
    const StreamOwner s;
    throw_if_error(cuda::count(Op::count_nonzero, d_x, 6, counts, s.stream));
    throw_if_error(cuda::count(Op::count_unique, d_x, 6, counts + 1, s.stream));
    throw_if_error(cuda::count(Op::count_unique, d_x, 0, counts + 2, s.stream));
    throw_if_error(cuda::run_async(make_plan({.op = Op::minmax, .dtype = DType::f32, .output = DType::f64, .n = 3}),
                                   d_x + 2, both));
    expect(cuda::reduce(Op::minmax, d_x, static_cast<const float*>(nullptr), 3, both), StatusCode::invalid_argument,
           "op");
    CUDA_CHECK(cudaDeviceSynchronize());
    REQUIRE(download<std::uint64_t>(counts) == 4);
    REQUIRE(download<std::uint64_t>(counts + 1) == 4);
    REQUIRE(download<std::uint64_t>(counts + 2) == 0);
    REQUIRE(download<double>(both) == -3);
    REQUIRE(download<double>(both + 1) == 2);
    expect(cuda::count(Op::argmax, d_x, 6, counts), StatusCode::invalid_argument, "op");
    expect(cuda::arg(Op::count_unique, d_x, 6, counts), StatusCode::invalid_argument, "op");
}

TEST_CASE("counts and minmax: launches that there are not are refused by name", "[count][minmax][gpu][status]") {
    for (const Op op : {Op::minmax, Op::count_nonzero, Op::count_unique}) {
        const auto status = [op](const Launch& launch) {
            return make_plan({.op = op, .n = 9, .launch = launch}).status();
        };
        REQUIRE(status({.schedule = Schedule::two_pass, .block = 128}).ok());
        REQUIRE(status({.grid = 3, .block = 256}).ok());
        expect(status({.schedule = Schedule::last_block}), StatusCode::unsupported, "launch.schedule");
        expect(status({.schedule = Schedule::cooperative}), StatusCode::unsupported, "launch.schedule");
        expect(status({.block = 512}), StatusCode::invalid_argument, "launch.block");
        expect(make_plan({.op = op, .method = Method::serial, .n = 9}).status(), StatusCode::unsupported, "method");
    }
    const auto bytes = [](DType dtype, std::uint64_t n) {
        return make_plan({.op = Op::count_unique, .dtype = dtype, .n = n}).workspace_bytes();
    };
    REQUIRE(bytes(DType::f16, std::uint64_t{1} << 40) == 8192);
    REQUIRE(bytes(DType::f32, 1'000'000) >= 8'000'000);
    REQUIRE(bytes(DType::f32, 1'000'000) < 9'000'000);
    REQUIRE(bytes(DType::f64, 1'000'000) >= 16'000'000);
    REQUIRE(make_plan({.op = Op::count_nonzero, .dtype = DType::f64, .n = 256}).workspace_bytes() == 0);
    REQUIRE(make_plan({.op = Op::count_nonzero, .dtype = DType::f64, .n = 1'000'000}).workspace_bytes() <= 131072);
}

TEMPLATE_TEST_CASE("counts and minmax: a captured graph reads its input anew", "[graph][count][minmax][gpu]",
                   DETREDUCE_ALL_TYPES) {
    const std::vector<TestType> inputs[] = {full_of_ties<TestType>(700'001, 1),
                                            vector_from<TestType>(Style::near, 700'001, 2, finite_bits<TestType>)};
    for (const Op op : count_ops) {
        const Plan plan = make_plan({.op = op, .dtype = dtype_of<TestType>, .n = inputs[0].size()});
        const auto input = upload(inputs[0]);
        const DeviceBuffer output(8), workspace(plan.workspace_bytes());
        const StreamOwner owner;
        const Graph graph(owner.stream, [&](cudaStream_t stream) {
            return run(plan, input->data(), output.data(), workspace.data(), stream);
        });
        for (int round = 0; round < 4; ++round) {
            const auto& x = inputs[round % 2];
            input->copy_from(x.data(), x.size() * sizeof(TestType));
            output.fill(0xff, 8);
            graph.launch();
            REQUIRE(download<std::uint64_t>(output.data()) == reference::count(op, std::span<const TestType>(x)));
        }
    }
}

/// Rows, segments and tensors of more than 2^32 elements.
TEST_CASE("counts and minmax: groups and lists of more than 2^32", "[count][minmax][groups][gpu][large]") {
    const std::uint64_t n = (std::uint64_t{1} << 32) + (1u << 20) + 13, all = n + 5001;
    std::size_t free_bytes = 0, total_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (free_bytes < all * sizeof(bfloat16) + (std::size_t{2} << 30)) {
        return skipped("not enough memory on the device for " + std::to_string(all) + " elements");
    }
    const DeviceBuffer x(all * sizeof(bfloat16)), out(512);
    auto* const d_x = reinterpret_cast<bfloat16*>(x.data());
    const auto put = [&](std::uint64_t at, double value) {
        const auto element = number<bfloat16>(value);
        CUDA_CHECK(cudaMemcpy(d_x + at, &element, sizeof element, cudaMemcpyHostToDevice));
    };
    x.fill(0, all * sizeof(bfloat16));
    put(7, 3);
    put(5000 + n - 2, -4);
    put(5000 + n / 2, 8);
    put(5000 + n, 9);
    const auto offsets = upload(std::vector<std::uint64_t>{3, 5000, 5000 + n, all});
    const Tensor list[] = {{d_x, 5000, DType::bf16}, {d_x + 5000, n, DType::bf16}};
    const auto run_as = [&](Op op, Shape shape) {
        Request r{.op = op, .dtype = DType::bf16, .shape = shape, .n = all, .groups = 3};
        if (shape == Shape::tensors) {
            r.n = 5000 + n;
            r.groups = 2;
        }
        if (shape == Shape::rows) {
            r.n = n;
            r.groups = 1;
        }
        const Plan plan = make_plan(r);
        throw_if_error(plan.status());
        const DeviceBuffer workspace(plan.workspace_bytes());
        const void* const from = shape == Shape::tensors ? static_cast<const void*>(list) : d_x;
        const auto* const cuts = reinterpret_cast<const std::uint64_t*>(offsets->data());
        throw_if_error(
            run(plan, {from, nullptr, shape == Shape::segments ? cuts : nullptr}, out.data(), workspace.data()));
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    const auto integer = [&](int k) { return download<std::uint64_t>(out.data() + 8 * k); };
    const auto value = [&](int k) { return static_cast<double>(fp::widen(download<bfloat16>(out.data() + 2 * k))); };
    run_as(Op::count_nonzero, Shape::segments);
    REQUIRE((integer(0) == 1 && integer(1) == 2 && integer(2) == 1));
    run_as(Op::minmax, Shape::segments);
    REQUIRE((value(0) == 0 && value(1) == 3 && value(2) == -4 && value(3) == 8 && value(4) == 9 && value(5) == 9));
    run_as(Op::count_nonzero, Shape::rows);
    REQUIRE(integer(0) == 2); // what lies behind the row is not in it
    run_as(Op::count_nonzero, Shape::tensors);
    REQUIRE(integer(0) == 3);
    run_as(Op::argmin, Shape::tensors);
    REQUIRE(integer(0) == 5000 + n - 2);
    run_as(Op::argmax, Shape::tensors);
    REQUIRE(integer(0) == 5000 + n / 2);
    run_as(Op::minmax, Shape::tensors);
    REQUIRE((value(0) == -4 && value(1) == 8));
}

/// More than 2^32 elements: zeros, of which a few are something else.
TEST_CASE("counts: more than 2^32", "[count][gpu][large]") {
    const std::uint64_t n = (std::uint64_t{1} << 32) + (1u << 20) + 13;
    std::size_t free_bytes = 0, total_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (free_bytes < n * sizeof(bfloat16) + (std::size_t{1} << 30)) {
        return skipped("not enough memory on the device for " + std::to_string(n) + " elements");
    }
    const DeviceBuffer x(n * sizeof(bfloat16)), out(512), map(8192);
    auto* const d_x = reinterpret_cast<bfloat16*>(x.data());
    auto* const result = reinterpret_cast<std::uint64_t*>(out.data());
    const auto count = [&](Op op) {
        throw_if_error(run(make_plan({.op = op, .dtype = DType::bf16, .n = n}), d_x, result, map.data()));
        return download<std::uint64_t>(result);
    };
    const auto put = [&](std::uint64_t at, double value) {
        const auto element = number<bfloat16>(value);
        CUDA_CHECK(cudaMemcpy(d_x + at, &element, sizeof element, cudaMemcpyHostToDevice));
    };
    x.fill(0, n * sizeof(bfloat16));
    put(n - 1, 3);
    put(n / 2, -0.0);
    put(5, 3);
    REQUIRE(count(Op::count_nonzero) == 2);
    REQUIRE(count(Op::count_unique) == 2);
    x.fill(0x40, n * sizeof(bfloat16)); // every byte, so every element is 3.0
    put(n - 3, 0);
    REQUIRE(count(Op::count_nonzero) == n - 1);
    REQUIRE(count(Op::count_unique) == 2);
}

} // namespace detreduce::proptests
