// Streams, graphs and copies for tests of what only a GPU can get wrong.
#pragma once

#include <memory>
#include <vector>

#include "laws/device_buffer.hpp"

namespace detreduce::proptests {

template <class T>
std::unique_ptr<DeviceBuffer> upload(const std::vector<T>& x) {
    auto buffer = std::make_unique<DeviceBuffer>(x.size() * sizeof(T));
    buffer->copy_from(x.data(), x.size() * sizeof(T));
    return buffer;
}

template <class T>
T download(const void* d) {
    T value;
    CUDA_CHECK(cudaMemcpy(&value, d, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

struct StreamOwner {
    cudaStream_t stream = nullptr;
    StreamOwner() { CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); }
    ~StreamOwner() { (void)cudaStreamDestroy(stream); }
    StreamOwner(const StreamOwner&) = delete;
};

/// A copy in device memory that begins `offset` elements after a boundary; of nothing, null.
template <class T>
struct OnDevice {
    DeviceBuffer memory;
    std::size_t n;
    T* data;
    OnDevice(const std::vector<T>& x, unsigned offset)
        : memory((x.size() + offset) * sizeof(T)), n(x.size()),
          data(x.empty() ? nullptr : reinterpret_cast<T*>(memory.data()) + offset) {
        if (!x.empty()) CUDA_CHECK(cudaMemcpy(data, x.data(), x.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    /// When the device is done.
    [[nodiscard]] std::vector<T> fetched() const {
        std::vector<T> x(n);
        CUDA_CHECK(cudaDeviceSynchronize());
        if (n > 0) CUDA_CHECK(cudaMemcpy(x.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost));
        if (!memory.guards_intact()) throw_if_error({StatusCode::invalid_argument, "test", "stray writes"});
        return x;
    }
};

/// The same as the laws of backends see an array.
template <class T>
struct DeviceArray {
    OnDevice<T> on_device;
    DeviceArray(const std::vector<T>& x, unsigned offset) : on_device(x, offset) {}
    [[nodiscard]] T* data() const { return on_device.data; }
    [[nodiscard]] std::vector<T> fetched() const { return on_device.fetched(); }
};

/// What a stream was given while it was captured.
class Graph {
  public:
    /// Captures what work(stream) enqueues; it returns a Status.
    template <class Work>
    Graph(cudaStream_t stream, const Work& work) : stream_(stream) {
        CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        const Status status = work(stream);
        CUDA_CHECK(cudaStreamEndCapture(stream, &graph_));
        throw_if_error(status);
        CUDA_CHECK(cudaGraphInstantiate(&executable_, graph_, 0));
    }
    ~Graph() {
        (void)cudaGraphExecDestroy(executable_);
        (void)cudaGraphDestroy(graph_);
    }
    Graph(const Graph&) = delete;
    /// Runs it and waits.
    void launch() const {
        CUDA_CHECK(cudaGraphLaunch(executable_, stream_));
        CUDA_CHECK(cudaStreamSynchronize(stream_));
    }

  private:
    cudaStream_t stream_;
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t executable_ = nullptr;
};

} // namespace detreduce::proptests
