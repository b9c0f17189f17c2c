#include "exact/launch_terms.cuh"

namespace detreduce::cuda {
template Status launch_exact_terms<float16>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
template Status launch_exact_squares<float16>(acc::exact::Word*, const void*, std::uint64_t, Stream,
                                              const DeviceTraits&, std::uint32_t);
} // namespace detreduce::cuda
