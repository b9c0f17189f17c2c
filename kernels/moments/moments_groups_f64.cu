#include "moments/launch_groups.cuh"

namespace detreduce::cuda {
template Status launch_moments_groups<double>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
}
