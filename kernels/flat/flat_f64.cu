#include "flat/launch_sum.cuh"

namespace detreduce::cuda {
template Status launch_flat<double>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
}
