#include "moments/launch_groups.cuh"

namespace detreduce::cuda {
template Status launch_moments_groups<float>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
}
