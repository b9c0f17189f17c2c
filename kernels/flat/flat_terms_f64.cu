#include "flat/launch_terms.cuh"

namespace detreduce::cuda {
template Status launch_flat_terms<double>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
}
