#include "product/launch_groups.cuh"

namespace detreduce::cuda {
template Status launch_product_groups<bfloat16>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
}
