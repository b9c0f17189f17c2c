#include "groups/launch_sums.cuh"

namespace detreduce::cuda {
template Status launch_groups<double>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
}
