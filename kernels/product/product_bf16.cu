#include "product/launch.cuh"

namespace detreduce::cuda {
template Status launch_product<bfloat16>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
}
