#include "laws/transform_kernels.cuh"

namespace detreduce::proptests {
template struct GpuTransform<float16>;
}
