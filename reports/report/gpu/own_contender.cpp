#include <memory>

#include <fmt/format.h>

#include "contenders.hpp"
#include "own.hpp"

namespace detreduce::report::gpu {

void launch_own(const OwnReduction& own, const void* x, std::uint64_t n, void* out, void* workspace,
                cudaStream_t stream) {
    std::string why;
    try {
        const auto error = static_cast<cudaError_t>(own.launch(x, n, out, workspace, stream));
        if (error == cudaSuccess) return;
        why = fmt::format("it gave the error {} ({})", cudaGetErrorName(error), cudaGetErrorString(error));
    } catch (const std::exception& error) {
        why = fmt::format("it threw an exception: {}", error.what());
    } catch (...) {
        why = "it threw something that is not a std::exception";
    }
    throw program::Failure(fmt::format("{}: {}", words_of(own, n), why));
}

Contender own_contender(const OwnReduction& own, std::uint64_t n) {
    const auto workspace = std::make_shared<DeviceMemory>(workspace_of(own, n));
    const auto out = std::make_shared<DeviceMemory>(sizeof(double)); // any result
    return {own.name, "", [&own, n, workspace, out](const void* x, cudaStream_t stream) {
                launch_own(own, x, n, out->get(), workspace->get(), stream);
            }};
}

} // namespace detreduce::report::gpu
