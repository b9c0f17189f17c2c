#include "laws/cuda_backend.hpp"

namespace detreduce::proptests {
using TestBackend = CudaBackend;
}

#include "laws/device_memory.hpp"
#include "laws/expect_status.hpp"
#include "laws/product_laws.hpp"

namespace detreduce::proptests {

TEST_CASE("products: launches that there are not are refused by name", "[product][gpu][status]") {
    const auto status = [](Method method, const Launch& launch) {
        return make_plan({.op = Op::prod, .method = method, .n = 9, .launch = launch}).status();
    };
    REQUIRE(status(Method::tree, {.schedule = Schedule::two_pass, .block = 256}).ok());
    REQUIRE(status(Method::compensated, {}).ok());
    for (const Schedule schedule : {Schedule::last_block, Schedule::cooperative})
        expect(status(Method::tree, {.schedule = schedule}), StatusCode::unsupported, "launch.schedule");
    expect(status(Method::tree, {.block = 128}), StatusCode::unsupported, "launch.block");
    for (const Method method : {Method::exact, Method::kahan, Method::atomic, Method::serial})
        expect(status(method, {}), StatusCode::unsupported, "method");
}

TEMPLATE_TEST_CASE("products: millions of elements have the CPU's bits, also in a graph", "[product][gpu][large]",
                   DETREDUCE_ALL_TYPES) {
    const auto x = balanced<TestType>(20'000'003, 11);
    const auto input = upload(x);
    for (const Method method : {Method::tree, Method::compensated}) {
        INFO(name(method));
        const double expected = reduce_as<double>(Op::prod, x, method);
        const Plan plan = make_plan(
            {.op = Op::prod, .method = method, .dtype = dtype_of<TestType>, .output = DType::f64, .n = x.size()});
        const DeviceBuffer output(8), workspace(plan.workspace_bytes());
        const StreamOwner owner;
        const Graph graph(owner.stream, [&](cudaStream_t stream) {
            return run(plan, input->data(), output.data(), workspace.data(), stream);
        });
        for (int round = 0; round < 3; ++round) {
            output.fill(0xff, 8);
            graph.launch();
            REQUIRE(fp::to_bits(download<double>(output.data())) == fp::to_bits(expected));
        }
        REQUIRE(workspace.guards_intact());
    }
}

} // namespace detreduce::proptests
