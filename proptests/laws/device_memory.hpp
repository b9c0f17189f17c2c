// Streams, graphs and copies for tests of what only a GPU can get wrong.
#pragma once

#include <memory>
#include <vector>

#include "laws/cuda_backend.hpp"

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
