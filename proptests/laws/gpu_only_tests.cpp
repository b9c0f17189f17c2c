// What only a GPU can get wrong: streams, graphs, allocation order, sizes beyond 2^32, and agreement with the CPU.
#include <memory>

#include <detreduce/accuracy/generators.hpp>
#include <spec_reference.hpp>

#include <support/bits.hpp>
#include <support/catch.hpp>

#include "laws/cuda_backend.hpp"

namespace detreduce::proptests {
namespace {

constexpr Schedule schedules[] = {Schedule::two_pass, Schedule::last_block, Schedule::cooperative};

Plan device_plan(DType dtype, std::uint64_t n, Schedule schedule = Schedule::automatic) {
    const Plan plan =
        make_plan({.dtype = dtype, .n = n, .device = {Backend::cuda, -1}, .launch = {.schedule = schedule}});
    throw_if_error(plan.status());
    return plan;
}

template <class T>
std::unique_ptr<DeviceBuffer> upload(const std::vector<T>& x) {
    auto buffer = std::make_unique<DeviceBuffer>(x.size() * sizeof(T));
    buffer->copy_from(x.data(), x.size() * sizeof(T));
    return buffer;
}

template <class T>
T download(const void* d) {
    T value;
    CUDA_CHECK(cudaMemcpy(&value, d, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

struct StreamOwner {
    cudaStream_t stream = nullptr;
    StreamOwner() { CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); }
    ~StreamOwner() { (void)cudaStreamDestroy(stream); }
    StreamOwner(const StreamOwner&) = delete;
};

} // namespace

TEMPLATE_TEST_CASE("four streams at once, each with its own workspace", "[gpu][sanitizer]", float, double) {
    constexpr int streams = 4, rounds = 25;
    std::vector<TestType> expected;
    std::vector<std::unique_ptr<DeviceBuffer>> inputs, outputs, workspaces;
    std::vector<Plan> plans;
    std::vector<std::unique_ptr<StreamOwner>> owners;
    for (int s = 0; s < streams; ++s) {
        const auto x = vector_from<TestType>(Style::near, 200003 + 50021 * s, 30 + s, no_overflow<TestType>);
        expected.push_back(reference::tree_sum(std::span<const TestType>(x)));
        plans.push_back(device_plan(dtype_of<TestType>, x.size(), schedules[s % 3]));
        inputs.push_back(upload(x));
        outputs.push_back(std::make_unique<DeviceBuffer>(rounds * sizeof(TestType)));
        workspaces.push_back(std::make_unique<DeviceBuffer>(plans.back().workspace_bytes()));
        owners.push_back(std::make_unique<StreamOwner>());
    }
    for (int r = 0; r < rounds; ++r) {
        for (int s = 0; s < streams; ++s) {
            REQUIRE(run(plans[s], inputs[s]->data(), outputs[s]->data() + r * sizeof(TestType), workspaces[s]->data(),
                        owners[s]->stream)
                        .ok());
        }
    }
    CUDA_CHECK(cudaDeviceSynchronize());
    for (int s = 0; s < streams; ++s) {
        for (int r = 0; r < rounds; ++r) {
            REQUIRE(fp::to_bits(download<TestType>(outputs[s]->data() + r * sizeof(TestType))) ==
                    fp::to_bits(expected[s]));
        }
    }
}

TEMPLATE_TEST_CASE("a captured graph replays to the same bits, and reads its input anew", "[gpu]", float, double) {
    for (const Schedule schedule : schedules) {
        INFO(name(schedule));
        const auto x = vector_from<TestType>(Style::near, 700001, 40, no_overflow<TestType>);
        const auto y = vector_from<TestType>(Style::cancelling, x.size(), 41, no_overflow<TestType>);
        const Plan plan = device_plan(dtype_of<TestType>, x.size(), schedule);
        const auto input = upload(x);
        const DeviceBuffer output(sizeof(TestType)), workspace(plan.workspace_bytes());
        const StreamOwner owner;
        CUDA_CHECK(cudaStreamBeginCapture(owner.stream, cudaStreamCaptureModeGlobal));
        const Status status = run(plan, input->data(), output.data(), workspace.data(), owner.stream);
        cudaGraph_t graph;
        CUDA_CHECK(cudaStreamEndCapture(owner.stream, &graph));
        INFO(to_string(status));
        REQUIRE(status.ok());
        cudaGraphExec_t executable;
        CUDA_CHECK(cudaGraphInstantiate(&executable, graph, 0));
        for (const auto* data : {&x, &y}) {
            input->copy_from(data->data(), data->size() * sizeof(TestType));
            const auto expected = fp::to_bits(reference::tree_sum(std::span<const TestType>(*data)));
            for (int i = 0; i < 20; ++i) {
                output.fill(0xff, sizeof(TestType));
                CUDA_CHECK(cudaGraphLaunch(executable, owner.stream));
                CUDA_CHECK(cudaStreamSynchronize(owner.stream));
                REQUIRE(fp::to_bits(download<TestType>(output.data())) == expected);
            }
        }
        CUDA_CHECK(cudaGraphExecDestroy(executable));
        CUDA_CHECK(cudaGraphDestroy(graph));
    }
}

TEMPLATE_TEST_CASE("back-to-back runs in one stream may share a workspace", "[gpu]", float, double) {
    const auto x = vector_from<TestType>(Style::near, 3000017, 50, no_overflow<TestType>);
    const auto y = vector_from<TestType>(Style::cancelling, x.size(), 51, no_overflow<TestType>);
    const fp::Bits<TestType> expected[] = {fp::to_bits(reference::tree_sum(std::span<const TestType>(x))),
                                           fp::to_bits(reference::tree_sum(std::span<const TestType>(y)))};
    REQUIRE(expected[0] != expected[1]); // a stale partial result of the other input must show
    const std::unique_ptr<DeviceBuffer> inputs[] = {upload(x), upload(y)};
    for (const Schedule schedule : schedules) {
        const Plan plan = device_plan(dtype_of<TestType>, x.size(), schedule);
        const DeviceBuffer output(200 * sizeof(TestType)), workspace(plan.workspace_bytes());
        for (int i = 0; i < 200; ++i)
            REQUIRE(run(plan, inputs[i % 2]->data(), output.data() + i * sizeof(TestType), workspace.data()).ok());
        for (int i = 0; i < 200; ++i)
            REQUIRE(fp::to_bits(download<TestType>(output.data() + i * sizeof(TestType))) == expected[i % 2]);
    }
}

TEMPLATE_TEST_CASE("the convenience call with stream-ordered allocation", "[gpu][sanitizer]", float, double) {
    const auto x = vector_from<TestType>(Style::near, 100003, 60, no_overflow<TestType>);
    const auto input = upload(x);
    const DeviceBuffer output(sizeof(TestType));
    const StreamOwner owner;
    REQUIRE(cuda::sum(reinterpret_cast<const TestType*>(input->data()), x.size(),
                      reinterpret_cast<TestType*>(output.data()), Method::tree, owner.stream)
                .ok());
    CUDA_CHECK(cudaStreamSynchronize(owner.stream));
    REQUIRE(fp::to_bits(download<TestType>(output.data())) ==
            fp::to_bits(reference::tree_sum(std::span<const TestType>(x))));
}

TEMPLATE_TEST_CASE("millions of elements: GPU and CPU give the same bits", "[gpu][large]", float, double) {
    for (const std::size_t n : {std::size_t{16777216}, std::size_t{4096} * 4096 + 1, std::size_t{50000017},
                                std::size_t{8192} * 8192 + 4097}) {
        const auto x = accuracy::generate<TestType>(accuracy::Family::normal, n, n);
        const TestType cpu = sum(std::span<const TestType>(x));
        for (const Schedule schedule : schedules) {
            for (const unsigned offset : {0u, 1u}) {
                INFO(n << ' ' << name(schedule));
                const Draw draw{{.schedule = schedule}, offset};
                REQUIRE(fp::to_bits(CudaBackend::reduce(std::span<const TestType>(x), Method::tree, draw)) ==
                        fp::to_bits(cpu));
            }
        }
    }
}

TEST_CASE("a plan for another GPU than the current one runs there, and leaves the current one alone", "[gpu][two]") {
    if (cuda::devices().size() < 2) {
        WARN("skipped: this needs two GPUs");
        return;
    }
    const auto x = vector_from<float>(Style::near, 1000003, 70, no_overflow<float>);
    const auto expected = fp::to_bits(reference::tree_sum(std::span<const float>(x)));
    for (const Schedule schedule : schedules) {
        INFO(name(schedule));
        CUDA_CHECK(cudaSetDevice(1));
        const auto input = upload(x);
        const Plan plan = make_plan({.n = x.size(), .device = {Backend::cuda, 1}, .launch = {.schedule = schedule}});
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
        REQUIRE(fp::to_bits(download<float>(output.data())) == expected);
        REQUIRE(fp::to_bits(download<float>(output.data() + sizeof(float))) == expected);
    }
}

TEST_CASE("more than 2^32 elements", "[gpu][large]") {
    constexpr std::size_t tile = spec::TreeOrder<4>::tile, block_tiles = 3 * 512;
    const auto block = vector_from<float>(Style::near, block_tiles * tile, 11, no_overflow<float>);
    const std::size_t n = (std::size_t{1} << 32) + 5 * tile + 77;
    std::size_t free_bytes = 0, total_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (free_bytes < n * sizeof(float) + (std::size_t{1} << 30)) {
        WARN("skipped: this needs 17 GiB of device memory");
        return;
    }
    const DeviceBuffer x(n * sizeof(float)), output(sizeof(float));
    for (std::size_t i = 0; i < n; i += block.size()) {
        CUDA_CHECK(cudaMemcpy(x.data() + i * sizeof(float), block.data(), std::min(block.size(), n - i) * sizeof(float),
                              cudaMemcpyHostToDevice));
    }
    std::vector<float> results, level;
    for (std::size_t i = 0; i < block_tiles; ++i)
        results.push_back(reference::tree_of(std::span(block).subspan(i * tile, tile)));
    for (std::size_t i = 0; i < n / tile; ++i)
        level.push_back(results[i % block_tiles]);
    const std::size_t last = n / tile * tile;
    level.push_back(reference::tree_of(std::span(block).subspan(last % block.size(), n - last)));
    const auto expected = fp::to_bits(reference::tree_of(std::span<const float>(level)));
    for (const Schedule schedule : schedules) {
        INFO(name(schedule));
        const Plan plan = device_plan(DType::f32, n, schedule);
        const DeviceBuffer workspace(plan.workspace_bytes());
        REQUIRE(run(plan, x.data(), output.data(), workspace.data()).ok());
        REQUIRE(fp::to_bits(download<float>(output.data())) == expected);
        REQUIRE(workspace.guards_intact());
    }
}

} // namespace detreduce::proptests
