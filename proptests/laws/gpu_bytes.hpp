// Results and states of a GPU beside those of the CPU, as bytes.
#pragma once

#include <support/catch.hpp>

#include "laws/device_memory.hpp"
#include "laws/on_cpu.hpp"

namespace detreduce::proptests {

/// Requires that the GPU gives the bytes of the CPU. `y` and `offsets` are empty where the request
/// has none.
template <class T>
void require_bytes_of_cpu(const Request& r, const std::vector<T>& x, const std::vector<T>& y,
                          const std::vector<std::uint64_t>& offsets = {}) {
    const auto there_x = upload(x), there_y = upload(y);
    const auto there_offsets = upload(offsets);
    const Plan plan = make_plan(r);
    throw_if_error(plan.status());
    const DeviceBuffer out(bytes_of_all(plan)), workspace(plan.workspace_bytes());
    const auto inputs = [&](const void* first, const void* second, const void* cuts) {
        return Inputs{first, y.empty() ? nullptr : second,
                      offsets.empty() ? nullptr : static_cast<const std::uint64_t*>(cuts)};
    };
    throw_if_error(
        run(plan, inputs(there_x->data(), there_y->data(), there_offsets->data()), out.data(), workspace.data()));
    CUDA_CHECK(cudaDeviceSynchronize());
    REQUIRE(workspace.guards_intact());
    std::vector<char> bytes(bytes_of_all(plan));
    CUDA_CHECK(cudaMemcpy(bytes.data(), out.data(), bytes.size(), cudaMemcpyDeviceToHost));
    REQUIRE(bytes == on_cpu<char>(r, inputs(x.data(), y.data(), offsets.data())));
}

} // namespace detreduce::proptests
