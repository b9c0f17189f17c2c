// What dispatch.cpp calls for clip_grad_norm().
#pragma once

#include "cuda_backend.hpp"
#include "sequence/launch.hpp"

namespace detreduce::cuda {

[[nodiscard]] Status launch_clip(const ClipPlan& plan, const std::int64_t* state, const Tensor* list, void* norm_out,
                                 void* workspace, Stream stream, const DeviceTraits& device);

} // namespace detreduce::cuda
