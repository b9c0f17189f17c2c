#include "exact/launch_sum.cuh"

namespace detreduce::cuda {
template Status launch_exact<double>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
template Status launch_exact_add<double>(ExactState*, const void*, std::uint64_t, Stream, const DeviceTraits&,
                                         std::uint32_t);
} // namespace detreduce::cuda
