// group_norm and batch_norm on the CPU.
#include <cfenv>
#include <cstring>
#include <memory>
#include <vector>

#include "laws/askew.hpp"

#include <detreduce/types.hpp>

namespace detreduce::proptests {
namespace {

struct NormBackend {
    static constexpr Device device = cpu;
    template <class T>
    using Array = Askew<T>;
    static std::unique_ptr<std::vector<double>> memory(std::size_t bytes) {
        return std::make_unique<std::vector<double>>(bytes / sizeof(double) + 1);
    }
};

} // namespace
} // namespace detreduce::proptests

#include "laws/channel_norm_laws.hpp"

namespace detreduce::proptests {

TEST_CASE("norms of channels: the caller's rounding mode means nothing", "[norms]") {
    const std::vector<double> x{.1, -2, .7, 3, 1, 1, 0, -1}, upstream{1, 2, 3, 0, -1, .5, .25, 2};
    for (const ChannelNorm norm : {ChannelNorm::group_norm, ChannelNorm::batch_norm}) {
        const ChannelNormPlan plan = make_channel_norm_plan( // 4 / 3 rounds
            {.norm = norm, .dtype = DType::f64, .n = 4, .channels = 2, .size = 1, .device = cpu});
        const auto all = [&] {
            std::vector<double> out(8), dx(8), mean(4), rstd(4), statistics{.5, .25, 2, 3},
                room((plan.workspace_bytes() + plan.gradient_workspace_bytes()) / sizeof(double) + 1);
            const bool batch = norm == ChannelNorm::batch_norm;
            REQUIRE(run(plan,
                        {.x = x.data(),
                         .out = out.data(),
                         .mean = mean.data(),
                         .rstd = rstd.data(),
                         .running_mean = batch ? statistics.data() : nullptr,
                         .running_variance = batch ? statistics.data() + 2 : nullptr},
                        room.data())
                        .ok());
            REQUIRE(run_gradient(plan,
                                 {.x = x.data(),
                                  .out = dx.data(),
                                  .mean = mean.data(),
                                  .rstd = rstd.data(),
                                  .upstream = upstream.data()},
                                 room.data())
                        .ok());
            for (const auto* more : {&dx, &mean, &rstd, &statistics})
                out.insert(out.end(), more->begin(), more->end());
            return out;
        };
        const auto expected = all();
        for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
            std::fesetround(mode);
            const auto found = all();
            std::fesetround(FE_TONEAREST);
            REQUIRE(std::memcmp(found.data(), expected.data(), sizeof(double) * expected.size()) == 0);
        }
    }
}

} // namespace detreduce::proptests
