#include "exact/launch_terms.cuh"

namespace detreduce::cuda {
template Status launch_exact_terms<double>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
template Status launch_exact_squares<double>(acc::exact::Word*, const void*, std::uint64_t, Stream, const DeviceTraits&,
                                             std::uint32_t);
} // namespace detreduce::cuda
