#include "order/launch.cuh"
#include "order/launch_groups.cuh"
#include "order/launch_minmax.cuh"

namespace detreduce::cuda {
template Status launch_order<double>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
template Status launch_order_groups<double>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
template Status launch_tally_groups<double>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
template Status launch_minmax<double>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
} // namespace detreduce::cuda
