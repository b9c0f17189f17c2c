// group_norm and batch_norm on the CPU.
#include <cfenv>
#include <cmath>
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
    constexpr std::uint64_t n = 4, channels = 50;
    std::vector<double> x(n * channels), upstream(n * channels);
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = std::sin(1.7 * static_cast<double>(i));
        upstream[i] = std::cos(2.3 * static_cast<double>(i));
    }
    for (const ChannelNorm norm : {ChannelNorm::group_norm, ChannelNorm::batch_norm}) {
        const ChannelNormPlan plan = make_channel_norm_plan( // 4 / 3 rounds
            {.norm = norm, .dtype = DType::f64, .n = n, .channels = channels, .size = 1, .device = cpu});
        const auto all = [&] {
            std::vector<double> out(x.size()), dx(x.size()), mean(plan.statistics()), rstd(plan.statistics()),
                statistics(2 * channels, .3),
                room((plan.workspace_bytes() + plan.gradient_workspace_bytes()) / sizeof(double) + 1);
            const bool batch = norm == ChannelNorm::batch_norm;
            REQUIRE(run(plan,
                        {.x = x.data(),
                         .out = out.data(),
                         .mean = mean.data(),
                         .rstd = rstd.data(),
                         .running_mean = batch ? statistics.data() : nullptr,
                         .running_variance = batch ? statistics.data() + channels : nullptr},
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
