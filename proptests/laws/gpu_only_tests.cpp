// What only a GPU can get wrong: streams, graphs, allocation order, sizes beyond 2^32, and
// agreement with the CPU.
#include <algorithm>
#include <memory>
#include <vector>

#include <detreduce/accuracy/generators.hpp>
#include <spec_reference.hpp>

#include <support/bits.hpp>
#include <support/catch.hpp>

#include "laws/device_memory.hpp"
#include "laws/extremes.hpp"
#include "laws/repeating.hpp"
#include "laws/test_backend.hpp"

namespace detreduce::proptests {
namespace {

/// A method and a schedule that it has.
struct Way {
    Method method;
    Schedule schedule;
};
constexpr Way ways[] = {
    {Method::tree, Schedule::two_pass},        {Method::tree, Schedule::last_block},
    {Method::tree, Schedule::cooperative},     {Method::kahan, Schedule::two_pass},
    {Method::compensated, Schedule::two_pass}, {Method::exact, Schedule::two_pass},
    {Method::exact, Schedule::last_block},
};
std::string to_string(const Way& way) {
    return std::string(name(way.method)) + ' ' + std::string(name(way.schedule));
}

Plan device_plan(DType dtype, std::uint64_t n, const Way& way, std::optional<DType> output = {}) {
    const Plan plan = make_plan({.method = way.method,
                                 .dtype = dtype,
                                 .output = output,
                                 .n = n,
                                 .device = current_gpu,
                                 .launch = {.schedule = way.schedule}});
    throw_if_error(plan.status());
    return plan;
}

template <class T>
fp::Bits<T> expected_bits(const std::vector<T>& x, Method method) {
    return fp::to_bits(reference::sum<T>(std::span<const T>(x), method));
}
template <class T>
fp::Bits<T> download_bits(const void* d) {
    return fp::to_bits(download<T>(d));
}

} // namespace

TEMPLATE_TEST_CASE("a stream for each method and schedule, all at once", "[gpu][sanitizer]", bfloat16, float, double) {
    constexpr std::size_t streams = std::size(ways), rounds = 25;
    std::vector<fp::Bits<TestType>> expected;
    std::vector<std::unique_ptr<DeviceBuffer>> inputs, outputs, workspaces;
    std::vector<Plan> plans;
    std::vector<std::unique_ptr<StreamOwner>> owners;
    for (std::size_t s = 0; s < streams; ++s) {
        const auto x = vector_from<TestType>(Style::near, 200003 + 50021 * (s % 4), 30 + s, no_overflow<TestType>);
        expected.push_back(expected_bits(x, ways[s].method));
        plans.push_back(device_plan(dtype_of<TestType>, x.size(), ways[s]));
        inputs.push_back(upload(x));
        outputs.push_back(std::make_unique<DeviceBuffer>(rounds * sizeof(TestType)));
        workspaces.push_back(std::make_unique<DeviceBuffer>(plans.back().workspace_bytes()));
        owners.push_back(std::make_unique<StreamOwner>());
    }
    for (std::size_t r = 0; r < rounds; ++r) {
        for (std::size_t s = 0; s < streams; ++s) {
            REQUIRE(run(plans[s], inputs[s]->data(), outputs[s]->data() + r * sizeof(TestType), workspaces[s]->data(),
                        owners[s]->stream)
                        .ok());
        }
    }
    CUDA_CHECK(cudaDeviceSynchronize());
    for (std::size_t s = 0; s < streams; ++s) {
        INFO(to_string(ways[s]));
        for (std::size_t r = 0; r < rounds; ++r)
            REQUIRE(download_bits<TestType>(outputs[s]->data() + r * sizeof(TestType)) == expected[s]);
    }
}

TEMPLATE_TEST_CASE("a captured graph replays to the same bits, and reads its input anew", "[graph][gpu]", bfloat16,
                   float, double) {
    for (const Way& way : ways) {
        INFO(to_string(way));
        const auto x = vector_from<TestType>(Style::near, 700001, 40, no_overflow<TestType>);
        const auto y = vector_from<TestType>(Style::cancelling, x.size(), 41, no_overflow<TestType>);
        const Plan plan = device_plan(dtype_of<TestType>, x.size(), way);
        const auto input = upload(x);
        const DeviceBuffer output(sizeof(TestType)), workspace(plan.workspace_bytes());
        const StreamOwner owner;
        const Graph graph(owner.stream, [&](cudaStream_t stream) {
            return run(plan, input->data(), output.data(), workspace.data(), stream);
        });
        for (const auto* data : {&x, &y}) {
            input->copy_from(data->data(), data->size() * sizeof(TestType));
            const auto expected = expected_bits(*data, way.method);
            for (int i = 0; i < 20; ++i) {
                output.fill(0xff, sizeof(TestType));
                graph.launch();
                REQUIRE(download_bits<TestType>(output.data()) == expected);
            }
        }
    }
}

TEMPLATE_TEST_CASE("back-to-back runs in one stream may share a workspace", "[gpu]", bfloat16, float, double) {
    const auto x = vector_from<TestType>(Style::near, 3000017, 50, no_overflow<TestType>);
    const auto y = vector_from<TestType>(Style::near, x.size(), 52, no_overflow<TestType>);
    const std::unique_ptr<DeviceBuffer> inputs[] = {upload(x), upload(y)};
    for (const Way& way : ways) {
        INFO(to_string(way));
        const fp::Bits<TestType> expected[] = {expected_bits(x, way.method), expected_bits(y, way.method)};
        REQUIRE(expected[0] != expected[1]); // a stale partial result of the other input must show
        const Plan plan = device_plan(dtype_of<TestType>, x.size(), way);
        const DeviceBuffer output(200 * sizeof(TestType)), workspace(plan.workspace_bytes());
        for (int i = 0; i < 200; ++i)
            REQUIRE(run(plan, inputs[i % 2]->data(), output.data() + i * sizeof(TestType), workspace.data()).ok());
        for (int i = 0; i < 200; ++i)
            REQUIRE(download_bits<TestType>(output.data() + i * sizeof(TestType)) == expected[i % 2]);
    }
}

TEMPLATE_TEST_CASE("methods in turn may share a workspace that is large enough for each", "[gpu][sanitizer]", bfloat16,
                   float, double) {
    const auto x = vector_from<TestType>(Style::near, 150001, 53, no_overflow<TestType>);
    const auto input = upload(x);
    const DeviceBuffer output(std::size(ways) * 4 * sizeof(TestType)), workspace(1 << 20);
    std::size_t runs = 0;
    for (int round = 0; round < 4; ++round) {
        for (const Way& way : ways) {
            const Plan plan = device_plan(dtype_of<TestType>, x.size(), way);
            REQUIRE(plan.workspace_bytes() <= workspace.bytes());
            REQUIRE(run(plan, input->data(), output.data() + runs++ * sizeof(TestType), workspace.data()).ok());
        }
    }
    for (std::size_t i = 0; i < runs; ++i) {
        const Way& way = ways[i % std::size(ways)];
        INFO(to_string(way));
        REQUIRE(download_bits<TestType>(output.data() + i * sizeof(TestType)) == expected_bits(x, way.method));
    }
}

TEMPLATE_TEST_CASE("the convenience call with stream-ordered allocation", "[gpu][sanitizer]", float16, bfloat16, float,
                   double) {
    const auto x = vector_from<TestType>(Style::near, 100003, 60, no_overflow<TestType>);
    const auto input = upload(x);
    const auto* const d_x = reinterpret_cast<const TestType*>(input->data());
    const DeviceBuffer output(sizeof(double));
    auto* const d_out = reinterpret_cast<double*>(output.data());
    const StreamOwner owner;
    for (const Method method : {Method::tree, Method::kahan, Method::compensated, Method::exact}) {
        INFO(name(method));
        REQUIRE(cuda::sum(d_x, x.size(), d_out, method, owner.stream).ok());
        CUDA_CHECK(cudaStreamSynchronize(owner.stream));
        const auto expected = fp::to_bits(reference::sum<double>(std::span<const TestType>(x), method));
        REQUIRE(download_bits<double>(output.data()) == expected);
    }
}

TEMPLATE_TEST_CASE("millions of elements: GPU and CPU give the same bits", "[gpu][large]", float16, bfloat16, float,
                   double) {
    for (const std::size_t n : {std::size_t{4096} * 4096 + 1, std::size_t{50000017}}) {
        const auto x = accuracy::generate<TestType>(accuracy::Family::normal, n, n);
        const std::span<const TestType> span(x);
        for (const Way& way : ways) {
            const auto expected = fp::to_bits(sum(span, way.method));
            for (const unsigned offset : {0u, 1u}) {
                INFO(n << ' ' << to_string(way));
                const Draw draw{{.schedule = way.schedule}, offset};
                REQUIRE(fp::to_bits(TestBackend::reduce<TestType>(span, way.method, draw)) == expected);
            }
        }
    }
}

/// Windows that keep moving, tiles that fit none, and both in turn: what a warp finds out at one
/// tile must not spoil the next.
TEMPLATE_TEST_CASE("exact: millions of elements of changing kinds", "[gpu][large]", float16, bfloat16, float, double) {
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
        std::vector<TestType> x;
        for (std::uint64_t part = 0; part < 400; ++part) {
            const std::uint64_t word = accuracy::hash(seed, part);
            const auto kind = word % 2 ? static_cast<Extreme>(word / 2 % extremes) : Extreme::drifting;
            const bool special = kind == Extreme::nonfinite || kind == Extreme::full;
            const auto piece = extreme<TestType>(special ? Extreme::outlier : kind, 100 + word / 64 % 20000, word);
            x.insert(x.end(), piece.begin(), piece.end());
        }
        const std::span<const TestType> span(x);
        const accuracy::ExactSum oracle = accuracy::exact_sum(span);
        for (const std::uint32_t grid : {0u, 1u, 7u}) {
            for (const Schedule schedule : {Schedule::two_pass, Schedule::last_block}) {
                const Draw draw{{.schedule = schedule, .grid = grid}, static_cast<unsigned>(seed)};
                REQUIRE(fp::to_bits(TestBackend::reduce<double>(span, Method::exact, draw)) ==
                        fp::to_bits(oracle.round<double>()));
                REQUIRE(fp::to_bits(TestBackend::reduce<TestType>(span, Method::exact, draw)) ==
                        fp::to_bits(oracle.round<TestType>()));
            }
        }
    }
}

TEST_CASE("a plan for another GPU than the current one runs there, and leaves the current one alone", "[gpu][two]") {
    if (cuda::devices().size() < 2) {
        return skipped("this needs two GPUs");
    }
    const auto x = vector_from<float>(Style::near, 1000003, 70, no_overflow<float>);
    for (const Way& way : ways) {
        INFO(to_string(way));
        const auto expected = expected_bits(x, way.method);
        CUDA_CHECK(cudaSetDevice(1));
        const auto input = upload(x);
        const Plan plan = make_plan(
            {.method = way.method, .n = x.size(), .device = {Backend::cuda, 1}, .launch = {.schedule = way.schedule}});
        REQUIRE(plan.status().ok());
        const DeviceBuffer output(2 * sizeof(float)), workspace(plan.workspace_bytes());
        const StreamOwner owner;
        CUDA_CHECK(cudaSetDevice(0));
        REQUIRE(run(plan, input->data(), output.data(), workspace.data(), owner.stream).ok());
        REQUIRE(cuda::run_async(plan, input->data(), output.data() + sizeof(float), owner.stream).ok());
        int current = -1;
        CUDA_CHECK(cudaGetDevice(&current));
        REQUIRE(current == 0);
        CUDA_CHECK(cudaStreamSynchronize(owner.stream));
        REQUIRE(download_bits<float>(output.data()) == expected);
        REQUIRE(download_bits<float>(output.data() + sizeof(float)) == expected);
    }
}

TEMPLATE_TEST_CASE("more than 2^32 elements", "[gpu][large]", bfloat16, float) {
    const auto input = beyond_32_bits<TestType>();
    std::size_t free_bytes = 0, total_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (free_bytes < input.n * sizeof(TestType) + (std::size_t{1} << 30)) {
        return skipped("this needs 9 GiB of device memory for bf16, 17 GiB for f32");
    }
    const DeviceBuffer x(input.n * sizeof(TestType)), output(sizeof(double));
    const auto block = upload(input.block);
    for (std::size_t i = 0; i < input.n; i += input.block.size()) {
        CUDA_CHECK(cudaMemcpy(x.data() + i * sizeof(TestType), block->data(),
                              std::min(input.block.size(), input.n - i) * sizeof(TestType), cudaMemcpyDeviceToDevice));
    }
    CUDA_CHECK(cudaDeviceSynchronize());
    for (const Way& way : ways) {
        INFO(to_string(way));
        const Plan plan = device_plan(dtype_of<TestType>, input.n, way, DType::f64);
        const DeviceBuffer workspace(plan.workspace_bytes());
        REQUIRE(run(plan, x.data(), output.data(), workspace.data()).ok());
        REQUIRE(download_bits<double>(output.data()) == fp::to_bits(input.template expected<double>(way.method)));
        REQUIRE(workspace.guards_intact());
    }
    const DeviceBuffer state(sizeof(ExactState));
    state.fill(0, sizeof(ExactState));
    auto* const d_state = reinterpret_cast<ExactState*>(state.data());
    REQUIRE(cuda::add(d_state, dtype_of<TestType>, x.data(), input.n).ok());
    REQUIRE(cuda::round(d_state, DType::f64, output.data()).ok());
    REQUIRE(download_bits<double>(output.data()) == fp::to_bits(input.template expected<double>(Method::exact)));
    REQUIRE(download<ExactState>(d_state).count() == static_cast<std::int64_t>(input.n));
}

TEMPLATE_TEST_CASE("more than 2^32 elements of 8 bits", "[gpu][large]", float8_e4m3, float8_e5m2) {
    using T = TestType;
    constexpr std::size_t size = std::size_t{1} << 20, n = (std::size_t{1} << 32) + 12345;
    std::size_t free_bytes = 0, total_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (free_bytes < n + (std::size_t{1} << 30)) return skipped("this needs 5 GiB of device memory");
    std::vector<T> block(size);
    double most = 0;
    std::int64_t sum = 0, squares = 0; // in units of 2^-4 and 2^-8
    for (std::size_t i = 0; i < size; ++i) {
        block[i] = T((static_cast<float>(accuracy::hash(5, i) % 64) - 32.0f) / 16);
        const auto here = static_cast<std::int64_t>((n - i + size - 1) / size),
                   units = static_cast<std::int64_t>(double(block[i]) * 16);
        most = std::max(most, double(block[i]));
        sum += here * units;
        squares += here * units * units;
    }
    const DeviceBuffer x(n), output(sizeof(double));
    const auto on_device = upload(block);
    for (std::size_t i = 0; i < n; i += size)
        CUDA_CHECK(cudaMemcpy(x.data() + i, on_device->data(), std::min(size, n - i), cudaMemcpyDeviceToDevice));
    const auto result = [&](Op op) {
        const Plan plan = make_plan({.op = op, .dtype = dtype_of<T>, .output = DType::f64, .n = n});
        REQUIRE(plan.status().ok());
        const DeviceBuffer workspace(plan.workspace_bytes());
        REQUIRE(run(plan, {x.data()}, output.data(), workspace.data(), nullptr).ok());
        REQUIRE(workspace.guards_intact());
        return fp::from_bits<double>(download_bits<double>(output.data()));
    };
    CHECK(result(Op::sum) == static_cast<double>(sum) / 16);
    CHECK(result(Op::sumsq) == static_cast<double>(squares) / 256);
    CHECK(result(Op::max) == most);
    CUDA_CHECK(cudaMemset(x.data(), 0x7b, n)); // the sum of squares has more than 63 bits
    CUDA_CHECK(cudaDeviceSynchronize());
    const auto large = static_cast<std::uint64_t>(double(T::from_bits(0x7b)));
    CHECK(result(Op::sumsq) == static_cast<double>(static_cast<unsigned __int128>(large * large) * n));
    CHECK(result(Op::asum) == static_cast<double>(large * n));
}

} // namespace detreduce::proptests
