#include "laws/cpu_backend.hpp"

namespace detreduce::proptests {
using TestBackend = CpuBackend;
}

#include <cstring>

#include "laws/expect_status.hpp"
#include "laws/product_laws.hpp"

namespace detreduce::proptests {

TEST_CASE("products: the calls of host.hpp", "[product]") {
    const std::vector<float> x{2, -3, 0.5f};
    REQUIRE(prod(x) == -3);
    REQUIRE(prod(x, Method::tree, {.threads = 2}) == -3);
    REQUIRE(prod(std::vector<double>{}) == 1);
    REQUIRE(reduce_as<double>(Op::prod, x, Method::serial) == -3);
    REQUIRE_THROWS_AS(prod(x, Method::exact), Error);
    REQUIRE_THROWS_AS(order_as<float>(Op::prod, x), Error); // of the default method exact
}

TEST_CASE("products refuse what they do not have, by name", "[product][status]") {
    const auto status = [](Request r) {
        r.op = Op::prod;
        r.device = cpu;
        return make_plan(r).status();
    };
    for (const MethodInfo& m : methods()) {
        const bool there = m.method == Method::tree || m.method == Method::compensated || m.method == Method::serial;
        const Status s = status({.method = m.method, .n = 2});
        if (there) {
            REQUIRE(s.ok());
        } else {
            expect(s, StatusCode::unsupported, "method");
            REQUIRE(std::strstr(s.allowed, "compensated, tree") != nullptr);
        }
    }
    constexpr auto tree = Method::tree;
    REQUIRE(status({.method = tree, .n = 0}).ok());
    REQUIRE(status({.method = tree, .output = DType::f64, .n = 2}).ok());
    expect(status({.method = tree, .output = DType::f16, .n = 2}), StatusCode::invalid_argument, "output");
    expect(status({.method = tree, .n = 2, .nan = NanPolicy::ignore}), StatusCode::invalid_argument, "nan");
    for (const Shape shape : {Shape::rows, Shape::columns, Shape::segments})
        REQUIRE(status({.method = tree, .shape = shape, .n = 2, .groups = 3}).ok());
    expect(status({.method = tree, .shape = Shape::tensors, .n = 2}), StatusCode::unsupported, "op");
    REQUIRE(make_plan({.op = Op::prod, .method = tree, .n = 2, .device = cpu}).guarantee() == Guarantee::device);
}

} // namespace detreduce::proptests
