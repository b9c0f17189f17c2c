#include "exact/launch_terms.cuh"

namespace detreduce::cuda {
template Status launch_exact_terms<float16>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
}
