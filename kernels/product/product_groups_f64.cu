#include "product/launch_groups.cuh"

namespace detreduce::cuda {
template Status launch_product_groups<double>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
}
