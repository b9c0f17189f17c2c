#include "groups/launch_sums.cuh"

namespace detreduce::cuda {
template Status launch_groups<float>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
}
