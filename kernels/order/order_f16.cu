#include "order/launch.cuh"
#include "order/launch_groups.cuh"
#include "order/launch_minmax.cuh"

namespace detreduce::cuda {
template Status launch_order<float16>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
template Status launch_order_groups<float16>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
template Status launch_tally_groups<float16>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
template Status launch_minmax<float16>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
} // namespace detreduce::cuda
