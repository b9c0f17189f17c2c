#include "moments/launch.cuh"

namespace detreduce::cuda {
template Status launch_moments_tree<bfloat16>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
}
