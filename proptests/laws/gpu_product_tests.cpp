#include "laws/device_memory.hpp"
#include "laws/expect_status.hpp"
#include "laws/product_draws.hpp"

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
    for (const Shape shape : {Shape::rows, Shape::columns, Shape::segments}) {
        const auto of_groups = [&](const Launch& launch) {
            return make_plan(
                       {.op = Op::prod, .method = Method::tree, .shape = shape, .n = 9, .groups = 2, .launch = launch})
                .status();
        };
        REQUIRE(of_groups({.schedule = Schedule::two_pass, .block = 256}).ok());
        expect(of_groups({.schedule = Schedule::last_block}), StatusCode::unsupported, "launch.schedule");
        expect(of_groups({.block = 128}), StatusCode::unsupported, "launch.block");
    }
}

/// Two levels above the tiles, of a segment and of columns.
TEST_CASE("products: groups of millions of elements have the CPU's bits", "[product][groups][gpu][large]") {
    for (const Method method : {Method::tree, Method::compensated}) {
        INFO(name(method));
        auto cut = giant_among_tiny<double>(100, (std::size_t{1} << 24) + 4096 + 77);
        cut.pair.x = balanced<double>(cut.request.n, 7);
        const auto results = products_of<double>(cut, method, 3);
        for (std::size_t g = 0; g < results.size(); ++g)
            REQUIRE(same_bits(results[g], reduce_as<double>(Op::prod, cut.group(g).x, method)));

        cut.request = {.shape = Shape::columns, .n = cut.request.n / 3, .groups = 3};
        cut.request.n = cut.pair.x.size() / 3;
        cut.offsets.clear();
        const auto columns = products_of<double>(cut, method, 3);
        for (std::size_t g = 0; g < columns.size(); ++g)
            REQUIRE(same_bits(columns[g], reduce_as<double>(Op::prod, cut.group(g).x, method)));
    }
}

TEMPLATE_TEST_CASE("products: millions of elements have the CPU's bits, also in a graph",
                   "[graph][product][gpu][large]", DETREDUCE_ALL_TYPES) {
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
