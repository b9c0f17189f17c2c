// The GPU, as the conformance suite sees a backend: memory that is checked for stray writes, workspaces that start as garbage.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include <detreduce/detreduce.hpp>

#include "laws/draw.hpp"

namespace detreduce::proptests {

/// Throws std::runtime_error that names the call.
void check(cudaError_t error, const char* call);
#define CUDA_CHECK(call) ::detreduce::proptests::check((call), #call)

/// Device memory between two guard zones.
class DeviceBuffer {
  public:
    explicit DeviceBuffer(std::size_t bytes);
    ~DeviceBuffer();
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    [[nodiscard]] char* data() const { return base_ + guard; } ///< aligned to 512 bytes
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    /// Both wait until the device is done: streams of a test need not be ordered after the default one, and a copy from pageable
    /// memory may return before it has arrived.
    void fill(int byte, std::size_t bytes) const;
    void copy_from(const void* host, std::size_t bytes) const;
    /// Were the zones left alone?
    [[nodiscard]] bool guards_intact() const;

  private:
    static constexpr std::size_t guard = 4096;
    std::size_t bytes_;
    char* base_ = nullptr;
};

struct CudaBackend {
    static constexpr Backend kind = Backend::cuda;
    static constexpr const char* name = "cuda";

    template <class Out, class T>
    static Out reduce(std::span<const T> x, Method method, const Draw& draw = {}) {
        return reduce<Out>(Op::sum, x, std::span<const T>(), method, draw);
    }
    template <class Out, class T>
    static Out reduce(Op op, std::span<const T> x, std::span<const T> y, Method method, const Draw& draw = {}) {
        Out result;
        const Request request{.op = op,
                              .method = method,
                              .dtype = dtype_of<T>,
                              .output = dtype_of<Out>,
                              .n = x.size(),
                              .device = current_gpu,
                              .launch = draw.launch};
        reduce(request, x.data(), y.data(), draw.offset, &result, x.size());
        return result;
    }

    /// As CpuBackend's.
    template <class Out, class T>
    static std::vector<Out> reduce_groups(Request request, std::span<const T> x, std::span<const T> y,
                                          const std::vector<std::uint64_t>& offsets, const Draw& draw = {}) {
        request.dtype = dtype_of<T>;
        if constexpr (Element<Out>) request.output = dtype_of<Out>;
        request.launch = draw.launch;
        std::vector<Out> out(make_plan(request).results());
        reduce(request, x.data(), info(request.op).inputs == 2 ? y.data() : nullptr, draw.offset, out.data(), x.size(),
               offsets);
        return out;
    }
    template <class Out, class List>
    static std::vector<Out> reduce_tensors(Request request, const List& list, const List& second,
                                           const Draw& draw = {}) {
        if constexpr (Element<Out>) request.output = dtype_of<Out>;
        request.launch = draw.launch;
        const auto tensors = [](const List& from) {
            std::vector<Tensor> to;
            for (const auto& t : from)
                to.push_back({t.bytes.data(), t.n(), t.dtype});
            return to;
        };
        std::vector<Out> out(make_plan(request).results());
        reduce_tensors(request, tensors(list), tensors(second), draw.offset, out.data());
        return out;
    }
    template <class Out, class List>
    static std::vector<Out> reduce_tensors(const Request& request, const List& list, const Draw& draw = {}) {
        return reduce_tensors<Out>(request, list, List{}, draw);
    }

    /// An element, or for argmin and argmax, of which Out is std::uint64_t, an index.
    template <class Out, class T>
    static Out order(Op op, std::span<const T> x, Method method, NanPolicy nan, const Draw& draw = {}) {
        Out result;
        Request request{.op = op,
                        .method = method,
                        .dtype = dtype_of<T>,
                        .n = x.size(),
                        .device = current_gpu,
                        .launch = draw.launch,
                        .nan = nan};
        if constexpr (Element<Out>) request.output = dtype_of<Out>;
        reduce(request, x.data(), nullptr, draw.offset, &result, x.size());
        return result;
    }

    /// All results of an op of one input.
    template <class Out, class T>
    static std::vector<Out> results(Request request, std::span<const T> x, const Draw& draw = {}) {
        request.dtype = dtype_of<T>;
        if (request.n == 0) request.n = x.size();
        if constexpr (Element<Out>) request.output = dtype_of<Out>;
        request.device = current_gpu;
        request.launch = draw.launch;
        const Plan plan = make_plan(request);
        throw_if_error(plan.status());
        std::vector<Out> out(plan.results());
        reduce(request, x.data(), nullptr, draw.offset, out.data(), x.size());
        return out;
    }

    /// Ids and offsets of segments, which go to the device. What is written there goes to `offsets`, which has room for groups + 1.
    template <class Id>
    static Status offsets_of_ids(std::span<const Id> ids, std::uint64_t groups, std::vector<std::uint64_t>& offsets,
                                 unsigned offset = 0) {
        const auto* const d_ids = static_cast<const Id*>(on_device(ids.data(), ids.size_bytes(), offset * sizeof(Id)));
        std::uint64_t* const d_offsets = room_for_offsets(groups + 1);
        const Status status = detreduce::offsets_of_ids(current_gpu, d_ids, ids.size(), groups, d_offsets);
        fetch_offsets(offsets, groups + 1);
        return status;
    }
    template <class Id>
    static Status check_ids(std::span<const Id> ids, std::uint64_t groups, unsigned offset = 0) {
        const auto* const d_ids = static_cast<const Id*>(on_device(ids.data(), ids.size_bytes(), offset * sizeof(Id)));
        return detreduce::check_ids(current_gpu, d_ids, ids.size(), groups);
    }
    static Status check_offsets(const std::vector<std::uint64_t>& offsets, std::uint64_t n, bool whole);

    /// States go to the device and come back. Where the input lies is all that a draw says here.
    template <class T>
    static void add(ExactState& state, std::span<const T> x, const Draw& draw = {}) {
        add(state, dtype_of<T>, x.data(), x.size(), draw.offset);
    }
    static void merge(ExactState& state, const ExactState& term);
    template <class Out>
    static Out round(const ExactState& state) {
        Out result;
        round(state, dtype_of<Out>, &result);
        return result;
    }

    static std::vector<Draw> all_draws(Method method);

  private:
    static void reduce(const Request& request, const void* x, const void* y, unsigned offset, void* result,
                       std::size_t elements, const std::vector<std::uint64_t>& offsets = {});
    static void reduce_tensors(const Request& request, std::vector<Tensor> x, std::vector<Tensor> y, unsigned offset,
                               void* result);
    static const void* on_device(const void* from, std::size_t bytes, std::size_t offset_bytes);
    static std::uint64_t* room_for_offsets(std::uint64_t count);
    static void fetch_offsets(std::vector<std::uint64_t>& offsets, std::uint64_t count);
    static void add(ExactState& state, DType dtype, const void* x, std::size_t n, unsigned offset);
    static void round(const ExactState& state, DType dtype, void* result);
};

} // namespace detreduce::proptests
