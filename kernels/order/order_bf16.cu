#include "order/launch.cuh"
#include "order/launch_groups.cuh"
#include "order/launch_minmax.cuh"

namespace detreduce::cuda {
template Status launch_order<bfloat16>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
template Status launch_order_groups<bfloat16>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
template Status launch_tally_groups<bfloat16>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
template Status launch_minmax<bfloat16>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
} // namespace detreduce::cuda
