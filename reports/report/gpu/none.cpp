// A build without CUDA: there is no device, so nobody gets here.
#include "gpu.hpp"

#include "failure.hpp"

namespace detreduce::report::gpu {
namespace {

[[noreturn]] void refuse() {
    throw program::Failure("this detreduce was built without CUDA; use --device cpu");
}

} // namespace

void run_job(const Job&, const Input&, DType, void*) {
    refuse();
}
void run_split(const Device&, const Split&, const Input&, DType, void*) {
    refuse();
}
void run_on(const Device&, std::span<const HostArray>, void*, std::size_t, std::size_t, const Launched&) {
    refuse();
}
void cub_sum(const Device&, const Input&, void*) {
    refuse();
}
void measure_cost(const Options&, Progress&, Results&) {
    refuse();
}
void measure_op_cost(const Options&, Progress&, Results&) {
    refuse();
}
void measure_ladder(const Options&, std::uint64_t, int, Progress&, Results&) {
    refuse();
}
Gpu describe(int) {
    refuse();
}
std::string compiler() {
    return "";
}

} // namespace detreduce::report::gpu
