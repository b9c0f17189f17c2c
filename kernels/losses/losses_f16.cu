#include "losses/launch.cuh"

namespace detreduce::cuda {
template Status launch_loss<float16>(const LossPlan&, const LossInputs&, void*, void*, Stream);
template Status launch_loss_gradient<float16>(const LossPlan&, const LossInputs&, const void*, void*, Stream);
} // namespace detreduce::cuda
