// What detreduce._core does with tensors of torch.
#pragma once

#include <nanobind/nanobind.h>

namespace detreduce::python {

/// Adds open_tensors() and tensor_…() to `module`.
void bind_tensors(nanobind::module_& module);

} // namespace detreduce::python
