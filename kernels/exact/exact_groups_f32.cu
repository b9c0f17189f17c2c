#include "exact/launch_groups.cuh"

namespace detreduce::cuda {
template Status launch_exact_groups<float>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
template Status describe_exact_list<float>(Term, const DeviceTraits&, ExactListShape&);
template Status add_exact_list<float>(Term, exact::Word*, exact::ListWork, std::uint32_t, int, Stream,
                                      const DeviceTraits&);
template Status add_exact_slots<float>(Term, const Plan&, const Inputs&, const exact::GroupWork&, Stream,
                                       const DeviceTraits&);
} // namespace detreduce::cuda
