#include "moments/launch_groups.cuh"

namespace detreduce::cuda {
template Status launch_moments_groups<float16>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
}
