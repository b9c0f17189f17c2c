// mpi.hpp for elements in the memory of GPUs. If a source of a program includes this,
// mpi::make_plan() accepts a GPU. Header-only, over mpi.hpp and the CUDA runtime; CMake:
// find_package(detreduce COMPONENTS mpi_cuda) and link detreduce::mpi_cuda.
//
// States are made, and results are written, on the GPU. MPI is given the GPU's memory where it says
// that it takes that (MPIX_Query_cuda_support() of Open MPI and MPICH), but not by begin() nor for
// argmin and argmax: MPI_Iallreduce need not take it, and functions of a program run on the CPU.
// Else states go by page-locked host memory. The bits are the same either way, and those of a CPU.
#pragma once

#include <detreduce/mpi.hpp>
#include <detreduce/ranks_cuda.hpp>

#include <new>

#if defined(OPEN_MPI)
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#if defined(MPIX_CUDA_AWARE_SUPPORT)
#define DETREDUCE_MPI_KNOWS_CUDA 1
#endif
#elif defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40000000
#define DETREDUCE_MPI_KNOWS_CUDA 1
#endif

namespace detreduce::mpi::detail {

/// May MPI be given the memory of a GPU?
[[nodiscard]] inline bool takes_gpu_memory() noexcept {
#if defined(DETREDUCE_MPI_KNOWS_CUDA)
    return MPIX_Query_cuda_support() == 1;
#else
    return false;
#endif
}

class CudaGpu final : public Gpu {
  public:
    /// For so many words, two of which are no states.
    CudaGpu(int device, std::uint64_t words) noexcept
        : device_(device), bytes_((words - 2) * sizeof(std::int64_t)), takes_gpu_memory_(takes_gpu_memory()) {}

    [[nodiscard]] Status allocate(std::uint64_t workspace_bytes) noexcept {
        const DeviceScope scope(device_);
        if (!scope.status().ok()) return scope.status();
        const std::uint64_t states = (bytes_ + flag_bytes + 255) / 256 * 256;
        void* memory = nullptr;
        Status status = status_of("cudaMalloc", cudaMalloc(&memory, states + workspace_bytes));
        if (!status.ok()) return status;
        gpu_.reset(memory);
        workspace_ = static_cast<char*>(memory) + states;
        status = status_of("cudaMallocHost", cudaMallocHost(&memory, bytes_ + flag_bytes));
        if (status.ok()) host_.reset(memory);
        return status;
    }

    [[nodiscard]] std::int64_t* words() noexcept override { return static_cast<std::int64_t*>(host_.get()); }

    [[nodiscard]] Status put(const detreduce::Plan& plan, Inputs in, Stream stream) noexcept override {
        const DeviceScope scope(device_);
        return scope.status().ok() ? run(plan, in, on_gpu(), workspace_, stream) : scope.status();
    }
    [[nodiscard]] Status put_states(const detreduce::Plan& plan, const std::int64_t* states,
                                    Stream stream) noexcept override {
        const DeviceScope scope(device_);
        if (!scope.status().ok()) return scope.status();
        const Status copied = copy(on_gpu(), states, bytes_, cudaMemcpyDeviceToDevice, stream);
        return copied.ok() ? normalize(plan, on_gpu(), stream) : copied;
    }
    [[nodiscard]] Status send(bool may_be_gpu, Stream stream, std::int64_t*& message) noexcept override {
        const DeviceScope scope(device_);
        if (!scope.status().ok()) return scope.status();
        Status status;
        if (may_be_gpu && takes_gpu_memory_) {
            message = on_gpu();
            status = status_of("cudaMemsetAsync", cudaMemsetAsync(on_gpu() + bytes_ / sizeof(std::int64_t), 0,
                                                                  flag_bytes, static_cast<cudaStream_t>(stream)));
        } else {
            status = copy(words(), on_gpu(), bytes_, cudaMemcpyDeviceToHost, stream);
        }
        return status.ok() ? synchronize(stream) : status;
    }
    [[nodiscard]] Status receive(const std::int64_t* message, Stream stream) noexcept override {
        const DeviceScope scope(device_);
        if (!scope.status().ok()) return scope.status();
        const std::uint64_t count = bytes_ / sizeof(std::int64_t);
        const Status copied = message == words()
                                  ? copy(on_gpu(), words(), bytes_, cudaMemcpyHostToDevice, stream)
                                  : copy(words() + count, on_gpu() + count, flag_bytes, cudaMemcpyDeviceToHost, stream);
        return copied.ok() ? synchronize(stream) : copied;
    }
    [[nodiscard]] Status finish(const detreduce::Plan& plan, void* out, Stream stream) noexcept override {
        const DeviceScope scope(device_);
        if (!scope.status().ok()) return scope.status();
        const Status finished = detreduce::finish(plan, on_gpu(), out, stream);
        return finished.ok() ? synchronize(stream) : finished;
    }

  private:
    using DeviceScope = detreduce::detail::DeviceScope;
    static constexpr std::uint64_t flag_bytes = 2 * sizeof(std::int64_t);

    [[nodiscard]] static Status status_of(const char* call, cudaError_t error) noexcept {
        return detreduce::detail::status_of(call, error);
    }
    [[nodiscard]] static Status copy(void* to, const void* from, std::uint64_t bytes, cudaMemcpyKind kind,
                                     Stream stream) noexcept {
        return status_of("cudaMemcpyAsync", cudaMemcpyAsync(to, from, bytes, kind, static_cast<cudaStream_t>(stream)));
    }
    [[nodiscard]] static Status synchronize(Stream stream) noexcept {
        return status_of("cudaStreamSynchronize", cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
    }
    [[nodiscard]] std::int64_t* on_gpu() const noexcept { return static_cast<std::int64_t*>(gpu_.get()); }

    int device_;
    std::uint64_t bytes_; ///< of states
    bool takes_gpu_memory_;
    detreduce::detail::CudaMemory gpu_;
    detreduce::detail::CudaHostMemory host_;
    void* workspace_ = nullptr;
};

[[nodiscard]] inline Status make_cuda_gpu(const detreduce::Plan& plan, std::uint64_t words,
                                          std::shared_ptr<Gpu>& gpu) noexcept {
    int device = plan.request().device.index;
    if (device < 0) {
        const Status status = detreduce::detail::status_of("cudaGetDevice", cudaGetDevice(&device));
        if (!status.ok()) return status;
    }
    try {
        const auto made = std::make_shared<CudaGpu>(device, words);
        const Status status = made->allocate(plan.workspace_bytes());
        if (status.cuda_code == cudaErrorMemoryAllocation) return detreduce::detail::no_room_somewhere();
        gpu = made;
        return status;
    } catch (const std::bad_alloc&) {
        return detreduce::detail::no_room_somewhere();
    }
}

inline const bool has_cuda_gpu = (make_gpu = make_cuda_gpu, true);

} // namespace detreduce::mpi::detail
