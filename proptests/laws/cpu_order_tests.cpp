#include "laws/cpu_backend.hpp"

namespace detreduce::proptests {
using TestBackend = CpuBackend;
}

#include "laws/order_laws.hpp"

namespace detreduce::proptests {

TEST_CASE("order: the calls of host.hpp", "[order]") {
    const std::vector<float> x{2, NAN, -3, 2};
    REQUIRE(std::isnan(min(x)));
    REQUIRE(std::isnan(max(x)));
    REQUIRE(std::isnan(nrminf(x)));
    REQUIRE(argmin(x) == 1);
    REQUIRE(argmax(x) == 1);
    REQUIRE(min(x, NanPolicy::ignore) == -3);
    REQUIRE(max(x, NanPolicy::ignore) == 2);
    REQUIRE(nrminf(x, NanPolicy::ignore, {.threads = 2}) == 3);
    REQUIRE(argmin(x, NanPolicy::ignore) == 2);
    REQUIRE(argmax(x, NanPolicy::ignore, {.threads = 3}) == 0);
    REQUIRE(order_as<double>(Op::min, x, NanPolicy::ignore) == -3);
    REQUIRE(reduce_as<float>(Op::max, std::vector<float>{1, 2}) == 2);
    REQUIRE(nrminf(std::vector<double>{}) == 0);
    REQUIRE_THROWS_AS(min(std::vector<double>{}), Error);
    REQUIRE_THROWS_AS(argmax(std::vector<double>{}), Error);
    REQUIRE_THROWS_AS(arg(Op::max, x), Error);
    REQUIRE_THROWS_AS(order_as<float>(Op::argmax, x), Error);
    REQUIRE_THROWS_AS(order_as<float>(Op::sum, x, NanPolicy::ignore), Error);
}

} // namespace detreduce::proptests
