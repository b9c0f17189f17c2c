#include <memory>

#include "contenders.hpp"

namespace detreduce::report::gpu {

std::optional<Contender> method_contender(Method method, DType dtype, std::uint64_t n, const Launch& launch,
                                          std::string variant, Op op) {
    const bool binary = info(op).inputs == 2;
    const Plan plan = make_plan({.op = op,
                                 .method = method,
                                 .dtype = dtype,
                                 .n = binary ? n / 2 : n,
                                 .device = {Backend::cuda, -1},
                                 .launch = launch});
    if (plan.status().code == StatusCode::unsupported) return std::nullopt;
    check(plan.status(), "make_plan");
    const auto workspace = std::make_shared<DeviceMemory>(plan.workspace_bytes());
    const auto out = std::make_shared<DeviceMemory>(plan.results() * plan.result_bytes());
    const std::size_t half = plan.request().n * size_of(dtype);
    std::string title(name(method));
    if (op != Op::sum) title = std::string(name(op)) + " " + title;
    return Contender{std::move(title), std::move(variant),
                     [=](const void* x, cudaStream_t stream) {
                         const void* const y = binary ? static_cast<const char*>(x) + half : nullptr;
                         check(run(plan, {x, y}, out->get(), workspace->get(), stream), "run");
                     },
                     static_cast<const float*>(out->get()), dtype == DType::f32 ? plan.results() : 0};
}

} // namespace detreduce::report::gpu
