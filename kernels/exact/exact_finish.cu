// What happens to a state on the device besides adding elements to it.
#include "exact/launch.cuh"

namespace detreduce::cuda {

Status launch_exact_finish(ExactState* state, const ExactState* term, void* out, DType output, Stream stream) {
    const exact::Word* const words = term ? term->words().data() : nullptr;
    const exact::Finish finish{out, output, out == nullptr};
    return launch_kernel(LaunchKind::plain, exact::finish_kernel<1>, 1, state_block_threads, 0, stream,
                         state->words().data(), words, finish);
}

} // namespace detreduce::cuda
