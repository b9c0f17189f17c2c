#include "exact/launch_groups.cuh"

namespace detreduce::cuda {
template Status launch_exact_groups<float>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
template Status add_exact_tensors<float>(Term, exact::Word*, exact::GroupWork, std::uint32_t, int, Stream,
                                         const DeviceTraits&);
template Status add_exact_slots<float>(Term, const Plan&, const Inputs&, const exact::GroupWork&, Stream,
                                       const DeviceTraits&);
template Status count_resident_for_tensors<float>(const DeviceTraits&, std::uint32_t&);
} // namespace detreduce::cuda
