#include "exact/launch_groups.cuh"

namespace detreduce::cuda {
template Status launch_exact_groups<double>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
template Status add_exact_tensors<double>(Term, exact::Word*, exact::GroupWork, std::uint32_t, int, Stream,
                                          const DeviceTraits&);
template Status add_exact_slots<double>(Term, const Plan&, const Inputs&, const exact::GroupWork&, Stream,
                                        const DeviceTraits&);
template Status count_resident_for_tensors<double>(const DeviceTraits&, std::uint32_t&);
} // namespace detreduce::cuda
