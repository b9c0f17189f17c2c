#include "product/launch_groups.cuh"

namespace detreduce::cuda {
template Status launch_product_groups<float>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
}
