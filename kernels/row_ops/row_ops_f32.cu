#include "row_ops/launch.cuh"

namespace detreduce::cuda {
template Status launch_rows<float>(const RowPlan&, const RowArrays&, void*, Stream, const DeviceTraits&);
}
