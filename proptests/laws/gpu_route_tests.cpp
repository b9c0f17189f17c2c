// What Plan::launch() says is what is run: the kernels that run() enqueues, seen in a graph that
// captured them.
#include <algorithm>
#include <vector>

#include <support/catch.hpp>

#include "laws/device_memory.hpp"
#include "laws/test_backend.hpp"

namespace detreduce::proptests {
namespace {

/// Blocks and threads of each kernel that work(stream) enqueues.
template <class Work>
std::vector<cudaKernelNodeParams> kernels_of(const Work& work) {
    const StreamOwner owner;
    cudaGraph_t graph = nullptr;
    CUDA_CHECK(cudaStreamBeginCapture(owner.stream, cudaStreamCaptureModeGlobal));
    const Status status = work(owner.stream);
    CUDA_CHECK(cudaStreamEndCapture(owner.stream, &graph));
    throw_if_error(status);
    std::size_t count = 0;
    CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &count));
    std::vector<cudaGraphNode_t> nodes(count);
    if (count > 0) CUDA_CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
    std::vector<cudaKernelNodeParams> kernels;
    for (const cudaGraphNode_t node : nodes) {
        cudaGraphNodeType type{};
        CUDA_CHECK(cudaGraphNodeGetType(node, &type));
        if (type != cudaGraphNodeTypeKernel) continue;
        kernels.emplace_back();
        CUDA_CHECK(cudaGraphKernelNodeGetParams(node, &kernels.back()));
    }
    CUDA_CHECK(cudaGraphDestroy(graph));
    return kernels;
}

/// Zeros for any request below, which are also offsets, of empty segments.
struct Memory {
    static constexpr std::size_t bytes = std::size_t{64} << 20;
    DeviceBuffer x{bytes}, out{1 << 20}, offsets{1 << 17}, workspace{std::size_t{256} << 20};
    Memory() {
        x.fill(0, bytes);
        offsets.fill(0, 1 << 17);
    }
    [[nodiscard]] std::vector<cudaKernelNodeParams> kernels_of(const Plan& plan) const {
        const Request& r = plan.request();
        REQUIRE(plan.workspace_bytes() <= workspace.bytes());
        REQUIRE(plan.results() * plan.result_bytes() <= out.bytes());
        const void* const y = info(r.op).inputs == 2 ? x.data() : nullptr;
        Inputs in{x.data(), y,
                  r.shape == Shape::segments ? reinterpret_cast<const std::uint64_t*>(offsets.data()) : nullptr};
        std::vector<Tensor> list(r.groups, {x.data(), 0, r.dtype});
        if (r.shape == Shape::tensors) {
            if (!list.empty()) list[0].n = r.n;
            in = {list.data(), y ? list.data() : nullptr};
        }
        return proptests::kernels_of(
            [&](cudaStream_t stream) { return run(plan, in, out.data(), workspace.data(), stream); });
    }
};

bool is_first_of_tree(const Plan& plan) {
    return detail::route_of(plan).engine == detail::Engine::sums && plan.launch().schedule != Schedule::two_pass;
}

} // namespace

TEST_CASE("laws draw launches that there are", "[gpu][route]") {
    for (const MethodInfo& method : methods()) {
        for (const Draw& draw : TestBackend::all_draws(method.method)) {
            if (!method.on_cuda) continue;
            CAPTURE(method.name, name(draw.launch.schedule), draw.launch.block, draw.launch.grid);
            REQUIRE(make_plan({.method = method.method, .n = 10000, .launch = draw.launch}).status().ok());
        }
    }
}

TEMPLATE_TEST_CASE("kernels have the blocks that the plan says, as many as were asked for", "[graph][gpu][route]",
                   float, double) {
    const Memory memory;
    const Plan of_parts = make_plan({.method = Method::exact, .shape = Shape::columns, .n = 150000, .groups = 3});
    const void* const clear = memory.kernels_of(of_parts).front().func; // whose blocks no plan says
    std::size_t seen = 0;
    for (const OpInfo& op : ops()) {
        for (const MethodInfo& method : methods()) {
            for (const Shape shape : {Shape::flat, Shape::rows, Shape::columns, Shape::segments, Shape::tensors}) {
                for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{100}, std::uint64_t{150000}}) {
                    for (const Schedule schedule : {Schedule::automatic, Schedule::last_block, Schedule::cooperative}) {
                        for (const std::uint32_t grid : {0u, 2u}) {
                            const std::uint64_t groups = shape == Shape::flat ? 1 : n == 100 ? 5000 : 3;
                            const Plan plan = make_plan({.op = op.op,
                                                         .method = method.method,
                                                         .dtype = dtype_of<TestType>,
                                                         .shape = shape,
                                                         .n = n,
                                                         .groups = groups,
                                                         .launch = {.schedule = schedule, .grid = grid}});
                            if (!plan.status().ok()) continue;
                            CAPTURE(op.name, method.name, name(shape), n, name(schedule), grid);
                            const auto kernels = memory.kernels_of(plan);
                            ++seen;
                            const detail::Route& route = detail::route_of(plan);
                            if (route.engine == detail::Engine::zeros) {
                                REQUIRE(kernels.empty());
                                continue;
                            }
                            const bool of_nothing = n == 0; // of a list or of segments: what finishes
                            REQUIRE((of_nothing || std::ranges::any_of(kernels, [&](const cudaKernelNodeParams& k) {
                                         return k.func != clear && k.blockDim.x == plan.launch().block;
                                     })));
                            if (is_first_of_tree(plan)) REQUIRE(kernels.size() == 1);
                            if (grid == 0 || route.scope != detail::Scope::grid || op.op == Op::count_unique) continue;
                            REQUIRE(std::ranges::all_of(
                                kernels, [&](const cudaKernelNodeParams& k) { return k.gridDim.x <= grid; }));
                        }
                    }
                }
            }
        }
    }
    REQUIRE(seen > 300);
}

} // namespace detreduce::proptests
