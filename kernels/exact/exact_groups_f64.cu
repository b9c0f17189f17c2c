#include "exact/launch_groups.cuh"

namespace detreduce::cuda {
template Status launch_exact_groups<double>(const Plan&, const Inputs&, void*, void*, Stream, const DeviceTraits&);
template Status describe_exact_list<double>(Term, const DeviceTraits&, ExactListShape&);
template Status add_exact_list<double>(Term, exact::Word*, exact::ListWork, std::uint32_t, int, Stream,
                                       const DeviceTraits&);
template Status add_exact_slots<double>(Term, const Plan&, const Inputs&, const exact::GroupWork&, Stream,
                                        const DeviceTraits&);
} // namespace detreduce::cuda
