#include "exact/launch_small.cuh"

namespace detreduce::cuda {
template Status launch_exact_small<bfloat16>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
} // namespace detreduce::cuda
