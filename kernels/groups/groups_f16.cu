#include "groups/launch_sums.cuh"

namespace detreduce::cuda {
template Status launch_groups<float16>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
}
