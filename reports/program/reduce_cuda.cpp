#include "reduce_cuda.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <detreduce/cuda.hpp>

#include "failure.hpp"

namespace detreduce::program {
namespace {

void check(cudaError_t error, std::string_view what) {
    if (error != cudaSuccess) throw Failure(fmt::format("{}: {}", what, cudaGetErrorString(error)));
}

void check(const Status& status) {
    if (!status.ok()) throw Failure(to_string(status));
}

struct Free {
    void operator()(void* p) const { cudaFree(p); }
};
using DeviceMemory = std::unique_ptr<void, Free>;

struct FreeHost {
    void operator()(void* p) const { cudaFreeHost(p); }
};
using PinnedMemory = std::unique_ptr<void, FreeHost>;

struct DestroyEvent {
    void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using Event = std::unique_ptr<CUevent_st, DestroyEvent>;

struct DestroyStream {
    void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
using OwnStream = std::unique_ptr<CUstream_st, DestroyStream>;

DeviceMemory allocate(std::size_t bytes) {
    void* p = nullptr;
    if (bytes > 0) check(cudaMalloc(&p, bytes), fmt::format("cannot allocate {} bytes on the CUDA device", bytes));
    return DeviceMemory(p);
}

PinnedMemory allocate_pinned(std::size_t bytes) {
    void* p = nullptr;
    check(cudaMallocHost(&p, bytes), fmt::format("cannot allocate {} bytes that the CUDA device can read", bytes));
    return PinnedMemory(p);
}

Event make_event() {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cannot make a CUDA event");
    return Event(event);
}

OwnStream make_stream() {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cannot make a CUDA stream");
    return OwnStream(stream);
}

/// In slices: the driver stages pageable memory, and a mapped file is read from disk one slice
/// after the other.
void copy_to_device(void* to, const void* from, std::size_t bytes) {
    constexpr std::size_t slice = std::size_t{64} << 20;
    for (std::size_t at = 0; at < bytes; at += slice) {
        check(cudaMemcpy(static_cast<char*>(to) + at, static_cast<const char*>(from) + at, std::min(slice, bytes - at),
                         cudaMemcpyHostToDevice),
              "cannot copy to the CUDA device");
    }
}

/// Two buffers take turns: while one is copied to the device and added there, the other is filled.
class CudaExactSum : public ExactSum {
  public:
    explicit CudaExactSum(const ExactState& start)
        : state_(allocate(sizeof(ExactState))), result_(allocate(sizeof(Value::bytes))), stream_(make_stream()) {
        for (Slot& slot : slots_)
            slot = {allocate_pinned(block_bytes), allocate(block_bytes), make_event()};
        // On the stream: it does not wait for the default one, on which a plain copy may still be
        // under way.
        check(cudaMemcpyAsync(state_.get(), &start, sizeof start, cudaMemcpyHostToDevice, stream_.get()),
              "cannot copy to the CUDA device");
        check(cudaStreamSynchronize(stream_.get()), failed);
    }

    ~CudaExactSum() override {
        cudaStreamSynchronize(stream_.get());
    } // before the memory goes away, also after a Failure

    [[nodiscard]] std::byte* buffer() override {
        current_ = 1 - current_;
        check(cudaEventSynchronize(slots_[current_].done.get()), failed); // at once when nothing was recorded
        return static_cast<std::byte*>(slots_[current_].host.get());
    }

    void add(DType dtype, std::uint64_t n) override {
        const Slot& slot = slots_[current_];
        check(cudaMemcpyAsync(slot.device.get(), slot.host.get(), n * size_of(dtype), cudaMemcpyHostToDevice,
                              stream_.get()),
              "cannot copy to the CUDA device");
        check(cuda::add(device_state(), dtype, slot.device.get(), n, stream_.get()));
        check(cudaEventRecord(slot.done.get(), stream_.get()), failed);
    }

    [[nodiscard]] ExactState state() override {
        ExactState state;
        copy_back(&state, state_.get(), sizeof state);
        return state;
    }

    [[nodiscard]] Value round(DType output) override {
        Value value{output};
        check(cuda::round(device_state(), output, result_.get(), stream_.get()));
        copy_back(value.bytes, result_.get(), size_of(output));
        return value;
    }

  private:
    static constexpr std::string_view failed = "the reduction failed on the CUDA device";

    struct Slot {
        PinnedMemory host;
        DeviceMemory device;
        Event done; ///< the block that was in it has been added
    };

    [[nodiscard]] ExactState* device_state() const { return static_cast<ExactState*>(state_.get()); }

    void copy_back(void* to, const void* from, std::size_t bytes) {
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_.get()), failed);
        check(cudaStreamSynchronize(stream_.get()), failed);
    }

    std::array<Slot, 2> slots_;
    std::size_t current_ = 0;
    DeviceMemory state_, result_;
    OwnStream stream_;
};

void use_device(int index) {
    check(cudaSetDevice(index), "cannot use the CUDA device");
}

/// Bytes of x, or of y: of a matrix to the end of its last row.
std::size_t bytes_of_input(const Plan& plan) {
    const Request& r = plan.request();
    if (r.shape != Shape::rows && r.shape != Shape::columns) return r.n * size_of(r.dtype);
    const bool by_rows = r.shape == Shape::rows;
    const std::uint64_t rows = by_rows ? r.groups : r.n, length = by_rows ? r.n : r.groups;
    return rows == 0 ? 0 : ((rows - 1) * plan.stride() + length) * size_of(r.dtype);
}

DeviceMemory copy_of(const void* from, std::size_t bytes) {
    DeviceMemory to = allocate(bytes);
    copy_to_device(to.get(), from, bytes);
    return to;
}

/// Runs on what is on the device, and brings the results back.
void run_to_host(const Plan& plan, const Inputs& in, void* out) {
    const std::size_t size = plan.results() * plan.result_bytes();
    const DeviceMemory output = allocate(size), workspace = allocate(plan.workspace_bytes());
    check(run(plan, in, output.get(), workspace.get()));
    check(cudaMemcpy(out, output.get(), size, cudaMemcpyDeviceToHost), "the reduction failed on the CUDA device");
}

void reduce_tensors_on_cuda(const Plan& plan, const Inputs& in, void* out) {
    std::vector<DeviceMemory> memory;
    const auto copied = [&](const void* from) {
        const auto* const list = static_cast<const Tensor*>(from);
        std::vector<Tensor> tensors;
        for (std::uint64_t i = 0; list != nullptr && i < plan.request().groups; ++i) {
            memory.push_back(copy_of(list[i].data, list[i].n * size_of(list[i].dtype)));
            tensors.push_back({memory.back().get(), list[i].n, list[i].dtype});
        }
        return tensors;
    };
    const std::vector<Tensor> x = copied(in.x), y = copied(in.y);
    run_to_host(plan, {x.data(), in.y ? y.data() : nullptr}, out);
}

class CudaMemory : public golden::Memory {
  public:
    explicit CudaMemory(int index) : index_(index) { use_device(index); }
    [[nodiscard]] Device device() const override { return {Backend::cuda, index_}; }
    [[nodiscard]] std::shared_ptr<std::byte> copied(const void* host, std::size_t bytes) const override {
        const std::shared_ptr<void> memory = allocate(bytes);
        if (host == nullptr && bytes > 0) check(cudaMemset(memory.get(), 0, bytes), "cannot write to the CUDA device");
        if (host != nullptr) copy_to_device(memory.get(), host, bytes);
        return {memory, static_cast<std::byte*>(memory.get())};
    }
    void fetch(void* host, const std::byte* from, std::size_t bytes) const override {
        if (bytes > 0) check(cudaMemcpy(host, from, bytes, cudaMemcpyDeviceToHost), "a call failed on the CUDA device");
    }

  private:
    int index_;
};

} // namespace

std::unique_ptr<golden::Memory> cuda_memory(int index) {
    return std::make_unique<CudaMemory>(index);
}

void reduce_on_cuda(const Request& request, const Inputs& in, void* out) {
    const Plan plan = make_plan(request);
    check(plan.status());
    use_device(request.device.index);
    if (request.shape == Shape::tensors) return reduce_tensors_on_cuda(plan, in, out);
    const std::size_t bytes = bytes_of_input(plan),
                      offset_bytes = in.offsets ? (request.groups + 1) * sizeof(std::uint64_t) : 0;
    const DeviceMemory x = copy_of(in.x, bytes), y = copy_of(in.y, in.y ? bytes : 0),
                       offsets = copy_of(in.offsets, offset_bytes);
    run_to_host(plan, {x.get(), y.get(), static_cast<const std::uint64_t*>(offsets.get())}, out);
}

std::unique_ptr<ExactSum> exact_sum_on_cuda(const ExactState& start, int index) {
    use_device(index);
    return std::make_unique<CudaExactSum>(start);
}

} // namespace detreduce::program
