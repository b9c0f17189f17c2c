#include "families.hpp"
#include "softmax_three_kernels.cuh"
#include "softmax_fused.cuh"
#include "softmax_online.cuh"

namespace detreduce::ladder {

std::span<const Rung> softmax_rungs() {
    constexpr Guarantee level = Guarantee::run_to_run;
    constexpr Family family = Family::softmax;
    static constexpr Rung list[] = {
        rung<SoftmaxThreeKernels>("three kernels", "maximum, sum, quotients: a launch each", family, level, 3, false),
        rung<SoftmaxFused>("fused two-pass", "one kernel: maximum, sum, quotients", family, level, 3, false),
        rung<SoftmaxOnline>("online one-pass", "maximum and sum in one pass", family, level, 2, false),
    };
    return list;
}

} // namespace detreduce::ladder
