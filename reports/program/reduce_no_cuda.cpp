#include "reduce_cuda.hpp"

#include "failure.hpp"

namespace detreduce::program {
namespace {

[[noreturn]] void fail() {
    throw Failure("this build has no CUDA backend; allowed: --device cpu");
}

} // namespace

void reduce_on_cuda(const Request&, const Inputs&, void*) {
    fail();
}

std::unique_ptr<golden::Memory> cuda_memory(int) {
    fail();
}

std::unique_ptr<ExactSum> exact_sum_on_cuda(const ExactState&, int) {
    fail();
}

} // namespace detreduce::program
