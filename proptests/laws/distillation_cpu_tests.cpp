// Distillation on the CPU.
#include <cfenv>
#include <cstring>
#include <memory>
#include <vector>

#include "laws/askew.hpp"

#include <detreduce/types.hpp>

namespace detreduce::proptests {
namespace {

struct DistillationBackend {
    static constexpr Device device = cpu;
    template <class T>
    using Array = Askew<T>;
    static std::unique_ptr<std::vector<double>> memory(std::size_t bytes) {
        return std::make_unique<std::vector<double>>(bytes / sizeof(double) + 1);
    }
};

} // namespace
} // namespace detreduce::proptests

#include "laws/distillation_laws.hpp"

namespace detreduce::proptests {

TEST_CASE("distillation: the caller's rounding mode means nothing", "[distillation]") {
    const std::vector<double> x{.1, -2, .7, 3, 1, 1, 0, -1, 5, 4, .3, .2}, y{1, 2, 3, 0, -1, .5, .25, 2, 0, 0, 1, 7};
    const DistillationPlan plan = make_distillation_plan(
        {.dtype = DType::f64, .n = 3, .rows = 4, .temperature = 3, .device = cpu}); // 4 / 9 rounds
    const auto all = [&] {
        std::vector<double> found(1 + x.size()), room(plan.workspace_bytes() / sizeof(double) + 1);
        REQUIRE(run(plan, x.data(), y.data(), found.data(), room.data()).ok());
        REQUIRE(run_gradient(plan, x.data(), y.data(), nullptr, found.data() + 1, room.data()).ok());
        return found;
    };
    const auto expected = all();
    for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
        std::fesetround(mode);
        const auto found = all();
        std::fesetround(FE_TONEAREST);
        REQUIRE(std::memcmp(found.data(), expected.data(), sizeof(double) * expected.size()) == 0);
    }
}

} // namespace detreduce::proptests
