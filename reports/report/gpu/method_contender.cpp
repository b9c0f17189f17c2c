#include <memory>

#include "contenders.hpp"

namespace detreduce::report::gpu {

std::optional<Contender> method_contender(Method method, DType dtype, std::uint64_t n, const Launch& launch,
                                          std::string variant) {
    const Plan plan =
        make_plan({.method = method, .dtype = dtype, .n = n, .device = {Backend::cuda, -1}, .launch = launch});
    if (plan.status().code == StatusCode::unsupported) return std::nullopt;
    check(plan.status(), "make_plan");
    const auto workspace = std::make_shared<DeviceMemory>(plan.workspace_bytes());
    const auto out = std::make_shared<DeviceMemory>(size_of(dtype));
    return Contender{std::string(name(method)), std::move(variant), [=](const void* x, cudaStream_t stream) {
                         check(run(plan, x, out->get(), workspace->get(), stream), "run");
                     }};
}

} // namespace detreduce::report::gpu
