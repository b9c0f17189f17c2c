// What losses.cpp calls: one function an element type.
#pragma once

#include <detreduce/losses.hpp>

namespace detreduce::cuda {

template <class T>
[[nodiscard]] Status launch_loss(const LossPlan& plan, const LossInputs& in, void* out, void* workspace, Stream stream);

template <class T>
[[nodiscard]] Status launch_loss_gradient(const LossPlan& plan, const LossInputs& in, const void* upstream,
                                          const double* sums, void* dx, Stream stream);

} // namespace detreduce::cuda
