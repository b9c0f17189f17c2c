// What detreduce._core does of losses, rows and norms, on addresses.
#pragma once

#include <nanobind/nanobind.h>

namespace detreduce::python {

/// Adds them to `module`.
void bind_losses(nanobind::module_& module);

} // namespace detreduce::python
