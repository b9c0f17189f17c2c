// Calls of one plan of row ops on the GPU: rows far apart, graphs, streams, errors.
#include <memory>
#include <vector>

#include "laws/expect_status.hpp"
#include "laws/row_gpu_backend.hpp"

namespace detreduce::proptests {

/// Indices of elements have more than 32 bits.
TEST_CASE("rows on the GPU: far apart", "[rows][gpu]") {
    constexpr std::uint64_t n = 1000, rows = 3, stride = (std::uint64_t{1} << 31) + 64;
    const DeviceBuffer memory(((rows - 1) * stride + 4 * n) * sizeof(float16));
    auto* const x = reinterpret_cast<float16*>(memory.data());
    for (const RowOp op : {RowOp::softmax, RowOp::layernorm, RowOp::cross_entropy_gradient}) {
        const RowRequest r{.op = op,
                           .dtype = DType::f16,
                           .n = n,
                           .rows = rows,
                           .stride = stride,
                           .output_stride = stride,
                           .reduction = Reduction::none};
        const auto data = row_data<float16>(r, {}, 0);
        const DeviceArray<std::int64_t> targets(data.targets, 0);
        for (std::uint64_t i = 0; i < rows; ++i)
            CUDA_CHECK(cudaMemcpy(x + i * stride, data.x.data() + i * n, n * sizeof(float16), cudaMemcpyHostToDevice));
        RowBackend::execute(make_row_plan(r), {.x = x, .out = x + 2 * n, .targets = targets.data()});
        RowResults<float16, float> got{std::vector<float16>(rows * n), {}, {}, {}};
        for (std::uint64_t i = 0; i < rows; ++i)
            CUDA_CHECK(cudaMemcpy(got.out.data() + i * n, x + i * stride + 2 * n, n * sizeof(float16),
                                  cudaMemcpyDeviceToHost));
        INFO(name(op));
        require_same(got, RowResults<float16, float>{RowBackend::expected<float16>(r, data).out, {}, {}, {}});
    }
}

TEST_CASE("rows on the GPU: captured in a graph", "[graph][rows][gpu]") {
    for (const RowOp op : row_ops_of_x) {
        for (const std::uint64_t n : {1000, 20011}) {
            const RowRequest r{.op = op, .dtype = DType::f32, .n = n, .rows = 5, .reduction = Reduction::none};
            const auto data = row_data<float>(r, {}, 3);
            const auto expected = RowBackend::expected<float>(r, data);
            const DeviceArray<float> x(data.x, 0), out(std::vector<float>(expected.out.size()), 0);
            const DeviceArray<std::int64_t> targets(data.targets, 0);
            const RowPlan plan = make_row_plan(r);
            throw_if_error(plan.status());
            const DeviceBuffer workspace(plan.workspace_bytes());
            const StreamOwner owner;
            const RowArrays arrays{.x = x.data(), .out = out.data(), .targets = targets.data()};
            const Graph graph(owner.stream,
                              [&](cudaStream_t stream) { return run(plan, arrays, workspace.data(), stream); });
            for (int i = 0; i < 3; ++i) {
                out.on_device.memory.fill(0xff, out.on_device.memory.bytes());
                workspace.fill(0xff, workspace.bytes());
                graph.launch();
                INFO(shown(r, {}));
                require_same(RowResults<float, float>{out.fetched(), {}, {}, {}},
                             RowResults<float, float>{expected.out, {}, {}, {}});
            }
        }
    }
}

TEST_CASE("rows on the GPU: two streams at once, and a workspace of the allocator's", "[rows][gpu]") {
    for (const RowOp op : row_ops_of_x) {
        const RowRequest r{.op = op, .dtype = DType::f32, .n = 20011, .rows = 64, .reduction = Reduction::none};
        const RowPlan plan = make_row_plan(r);
        throw_if_error(plan.status());
        const StreamOwner streams[2];
        std::vector<RowData<float>> data;
        std::vector<std::unique_ptr<DeviceArray<float>>> x, out, again;
        std::vector<std::unique_ptr<DeviceArray<std::int64_t>>> targets;
        std::vector<std::unique_ptr<DeviceBuffer>> workspace;
        const std::vector<float> room(r.rows * plan.results());
        for (const std::uint64_t seed : {11, 12}) {
            data.push_back(row_data<float>(r, {}, seed));
            x.push_back(std::make_unique<DeviceArray<float>>(data.back().x, 0));
            targets.push_back(std::make_unique<DeviceArray<std::int64_t>>(data.back().targets, 0));
            out.push_back(std::make_unique<DeviceArray<float>>(room, 0));
            again.push_back(std::make_unique<DeviceArray<float>>(room, 0));
            workspace.push_back(std::make_unique<DeviceBuffer>(plan.workspace_bytes()));
        }
        CUDA_CHECK(cudaDeviceSynchronize()); // what was copied is there, also for streams that wait for nobody
        for (int i = 0; i < 20; ++i) {
            for (const std::size_t k : {0, 1}) {
                RowArrays arrays{.x = x[k]->data(), .out = out[k]->data(), .targets = targets[k]->data()};
                throw_if_error(run(plan, arrays, workspace[k]->data(), streams[k].stream));
                arrays.out = again[k]->data();
                throw_if_error(cuda::run_async(plan, arrays, streams[k].stream));
            }
        }
        for (const std::size_t k : {0, 1}) {
            RowResults<float, float> expected = RowBackend::expected<float>(r, data[k]);
            expected = {expected.out, {}, {}, {}};
            INFO(name(op));
            require_same(RowResults<float, float>{out[k]->fetched(), {}, {}, {}}, expected);
            require_same(RowResults<float, float>{again[k]->fetched(), {}, {}, {}}, expected);
            REQUIRE(workspace[k]->guards_intact());
        }
    }
}

TEST_CASE("rows on the GPU: what is wrong is said by name", "[rows][gpu][status]") {
    const DeviceBuffer memory(1 << 18), workspace(1 << 20);
    char *const p = memory.data(), *const out = p + (1 << 17);
    constexpr auto invalid = StatusCode::invalid_argument;
    RowRequest r{.op = RowOp::layernorm, .n = 20000, .rows = 1, .reduction = Reduction::none};
    const RowPlan plan = make_row_plan(r);
    REQUIRE(plan.workspace_bytes() > 0);
    REQUIRE(plan.workspace_bytes() <= workspace.bytes());
    expect(run(plan, {.x = p, .out = out}, nullptr), invalid, "workspace");
    expect(run(plan, {.x = p, .out = out}, workspace.data() + 128), invalid, "workspace");
    expect(run(plan, {.x = p, .out = p}, workspace.data()), invalid, "out");
    expect(run(plan, {.out = out}, workspace.data()), invalid, "x");
    r.n = 8192;
    REQUIRE(make_row_plan(r).workspace_bytes() == 0);
    r.launch = {.schedule = Schedule::two_pass};
    expect(make_row_plan(r).status(), StatusCode::unsupported, "launch.schedule");
    r.launch = {.block = 128};
    expect(make_row_plan(r).status(), StatusCode::unsupported, "launch.block");
    r.launch = {.grid = 7};
    expect(make_row_plan(r).status(), StatusCode::unsupported, "launch.grid");
    r.launch = {};
    r.device = {Backend::cuda, 1000};
    expect(make_row_plan(r).status(), invalid, "device.index");
    r.device = cpu;
    expect(cuda::run_async(make_row_plan(r), {.x = p, .out = p}), invalid, "plan");
    REQUIRE(cudaGetLastError() == cudaSuccess);
}

} // namespace detreduce::proptests
