// A build without CUDA: there is no device, so nobody gets here.
#include "gpu.hpp"

#include "command.hpp"

namespace detreduce::report::gpu {
namespace {

[[noreturn]] void refuse() {
    throw program::Failure("this detreduce was built without CUDA; use --device cpu");
}

} // namespace

std::vector<float> results_of(const Job&, std::span<const float>) {
    refuse();
}
std::vector<double> results_of(const Job&, std::span<const double>) {
    refuse();
}
std::vector<CostRow> measure_cost(const Options&, Progress&, std::vector<std::string>&) {
    refuse();
}
Gpu describe(int) {
    refuse();
}
std::string compiler() {
    return "";
}

} // namespace detreduce::report::gpu
