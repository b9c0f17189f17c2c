// clip_grad_norm on the GPU.
#include <cstring>
#include <memory>
#include <stdexcept>

#include <detreduce/clip_grad_norm.hpp>

#include "laws/clip_image.hpp"
#include "laws/device_memory.hpp"

namespace detreduce::proptests {
namespace {

std::unique_ptr<DeviceBuffer> upload(Image& image) {
    auto buffer = std::make_unique<DeviceBuffer>(image.bytes());
    buffer->copy_from(image.data(), image.bytes());
    return buffer;
}
void fetch(Image& image, const DeviceBuffer& from) {
    CUDA_CHECK(cudaMemcpy(image.data(), from.data(), image.bytes(), cudaMemcpyDeviceToHost));
}

struct ClipBackend {
    static constexpr Device device = current_gpu;
    static Launch launch(std::uint64_t) { return {}; }
    static void run(const ClipPlan& plan, Image& image, void* norm, const State& state) {
        const auto tensors = upload(image);
        const std::size_t norm_bytes = size_of(plan.request().norm);
        const DeviceBuffer workspace(plan.workspace_bytes()), out(norm_bytes);
        workspace.fill(0xff, plan.workspace_bytes());
        const DeviceBuffer words(state.size() * sizeof(std::int64_t));
        words.copy_from(state.data(), words.bytes());
        const auto list = image.list_at(tensors->data());
        if (state.empty()) {
            throwing::run(plan, list.data(), out.data(), workspace.data());
        } else {
            throw_if_error(clip_by_state(plan, reinterpret_cast<const std::int64_t*>(words.data()), list.data(),
                                         out.data(), workspace.data()));
        }
        CUDA_CHECK(cudaDeviceSynchronize());
        CUDA_CHECK(cudaMemcpy(norm, out.data(), norm_bytes, cudaMemcpyDeviceToHost));
        fetch(image, *tensors);
        if (!tensors->guards_intact() || !workspace.guards_intact() || !out.guards_intact())
            throw std::runtime_error("a kernel wrote outside its memory");
    }
};

} // namespace
} // namespace detreduce::proptests

#include "laws/clip_laws.hpp"

namespace detreduce::proptests {
namespace {

Clipped on_cpu(const AnyList& list, ClipRequest r) {
    Image image(list, 0);
    r.n = image.elements();
    r.tensors = list.size();
    r.device = cpu;
    Clipped result{{}, 0, 0};
    throwing::run(throwing::make_clip_plan(r), image.list_at(image.data()).data(), &result.norm);
    result.list = image.tensors();
    return result;
}

/// `count` tensors of about `n` elements, all of them finite.
AnyList finite_list(std::size_t count, std::size_t n) {
    AnyList list;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t word = 256 + accuracy::hash(5, i) % 4; // dtype; the scope is finite
        list.push_back(any_from(word + (i << 16), Style::near, n + i % 37));
    }
    return list;
}

/// Kernels in what work(stream) enqueues.
template <class Work>
std::size_t count_launches(const Work& work) {
    const StreamOwner owner;
    cudaGraph_t graph = nullptr;
    CUDA_CHECK(cudaStreamBeginCapture(owner.stream, cudaStreamCaptureModeGlobal));
    const Status status = work(owner.stream);
    CUDA_CHECK(cudaStreamEndCapture(owner.stream, &graph));
    throw_if_error(status);
    std::size_t nodes = 0;
    CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    CUDA_CHECK(cudaGraphDestroy(graph));
    return nodes;
}

} // namespace

TEST_CASE("clip on the GPU: the bits of the CPU, of large lists and of long ones", "[clip][gpu]") {
    for (const AnyList& list : {finite_list(7, 3'000'001), finite_list(2501, 300), finite_list(1, 100'003)}) {
        const ClipRequest r{.max_norm = std::min(on_cpu(list, {.max_norm = 1e300}).norm / 3, 1e300)}; // it may overflow
        const Clipped expected = on_cpu(list, r), result = clipped(list, r, 5);
        INFO(list.size() << " tensors");
        REQUIRE(expected.list != list);
        REQUIRE(fp::to_bits(result.norm) == fp::to_bits(expected.norm));
        REQUIRE(result.list == expected.list);
    }
}

TEST_CASE("clip on the GPU: captured in a graph, and replayed on other elements", "[graph][clip][gpu]") {
    const AnyList list = finite_list(20, 5000);
    Image image(list, 1);
    const auto tensors = upload(image);
    const ClipRequest r{.n = image.elements(), .tensors = list.size(), .max_norm = 0.25};
    const ClipPlan plan = throwing::make_clip_plan(r);
    const DeviceBuffer workspace(plan.workspace_bytes()), out(sizeof(double));
    const StreamOwner owner;
    const Graph graph(owner.stream, [&](cudaStream_t stream) {
        return run(plan, image.list_at(tensors->data()).data(), out.data(), workspace.data(), stream);
    });
    AnyList now = list;
    for (int i = 0; i < 3; ++i) { // each time of what the last left
        workspace.fill(0xff, plan.workspace_bytes());
        graph.launch();
        const Clipped expected = on_cpu(now, r);
        fetch(image, *tensors);
        now = image.tensors();
        REQUIRE(fp::to_bits(download<double>(out.data())) == fp::to_bits(expected.norm));
        REQUIRE(now == expected.list);
    }
}

TEST_CASE("clip on the GPU: one launch more than the norm", "[graph][clip][gpu]") {
    for (const std::size_t count : {1, 40, 900}) {
        const AnyList list = finite_list(count, 100);
        Image image(list, 1);
        const auto tensors = upload(image);
        const auto at = image.list_at(tensors->data());
        const ClipPlan plan = throwing::make_clip_plan({.n = image.elements(), .tensors = count});
        const DeviceBuffer workspace(plan.workspace_bytes()), out(sizeof(double));
        const auto norm = [&](cudaStream_t stream) {
            return run(plan.norm(), at.data(), out.data(), workspace.data(), stream);
        };
        const auto clip = [&](cudaStream_t stream) {
            return run(plan, at.data(), out.data(), workspace.data(), stream);
        };
        const std::size_t per_launch = CUDART_VERSION >= 12010 ? 1000 : 120;
        INFO(count << " tensors");
        REQUIRE(count_launches(clip) == count_launches(norm) + (count + per_launch - 1) / per_launch);
    }
}

} // namespace detreduce::proptests
