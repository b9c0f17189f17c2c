#include "reduce_cuda.hpp"

#include "command.hpp"

namespace detreduce::program {

void reduce_on_cuda(const Request&, const void*, void*) {
    throw Failure("this build has no CUDA backend; allowed: --device cpu");
}

} // namespace detreduce::program
