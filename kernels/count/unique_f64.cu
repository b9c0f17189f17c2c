#include "count/unique.cuh"

namespace detreduce::cuda {
template Status sort_bytes<std::uint64_t>(std::uint64_t, std::size_t&);
template Status launch_count_unique<double>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
} // namespace detreduce::cuda
