#pragma once

#include <detreduce/accuracy/study.hpp>

/// Those of device.cu; none where there is no CUDA.
void add_device_reductions(detreduce::accuracy::Study& study);
