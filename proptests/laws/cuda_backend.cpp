#include "laws/cuda_backend.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include <support/precondition.hpp>

namespace detreduce::proptests {

void check(cudaError_t error, const char* call) {
    if (error != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_((bytes + 511) / 512 * 512) {
    void* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, bytes_ + 2 * guard));
    base_ = static_cast<char*>(memory);
    CUDA_CHECK(cudaMemset(base_, 0xa5, bytes_ + 2 * guard));
    CUDA_CHECK(cudaDeviceSynchronize());
}

DeviceBuffer::~DeviceBuffer() {
    (void)cudaFree(base_);
}

void DeviceBuffer::fill(int byte, std::size_t bytes) const {
    CUDA_CHECK(cudaMemset(data(), byte, bytes));
    CUDA_CHECK(cudaDeviceSynchronize());
}

void DeviceBuffer::copy_from(const void* host, std::size_t bytes) const {
    CUDA_CHECK(cudaMemcpy(data(), host, bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaDeviceSynchronize());
}

bool DeviceBuffer::guards_intact() const {
    std::vector<unsigned char> zone(guard);
    for (const char* at : {base_, base_ + guard + bytes_}) {
        CUDA_CHECK(cudaMemcpy(zone.data(), at, guard, cudaMemcpyDeviceToHost));
        if (std::any_of(zone.begin(), zone.end(), [](unsigned char c) { return c != 0xa5; })) return false;
    }
    return true;
}

namespace {

constexpr std::size_t tail = 4096;

/// A buffer that grows and is kept from call to call, with room for a tail.
const DeviceBuffer& at_least(std::unique_ptr<DeviceBuffer>& buffer, std::size_t bytes) {
    if (!buffer || buffer->bytes() < bytes + tail) buffer = std::make_unique<DeviceBuffer>(2 * (bytes + tail));
    return *buffer;
}

/// Garbage in the first `bytes`, and a pattern right behind them that no kernel may touch.
void prepare(const DeviceBuffer& buffer, std::size_t bytes) {
    CUDA_CHECK(cudaMemset(buffer.data(), 0xff, bytes));
    CUDA_CHECK(cudaMemset(buffer.data() + bytes, 0xa5, tail));
}

bool tail_is_intact(const DeviceBuffer& buffer, std::size_t bytes) {
    std::vector<unsigned char> zone(tail);
    CUDA_CHECK(cudaMemcpy(zone.data(), buffer.data() + bytes, tail, cudaMemcpyDeviceToHost));
    return std::all_of(zone.begin(), zone.end(), [](unsigned char c) { return c == 0xa5; });
}

/// A copy in device memory, a whole number of elements after a boundary.
const char* upload(std::unique_ptr<DeviceBuffer>& buffer, const void* x, std::size_t bytes, std::size_t offset_bytes) {
    const DeviceBuffer& in = at_least(buffer, bytes + offset_bytes);
    char* const d_x = in.data() + offset_bytes;
    if (bytes > 0) CUDA_CHECK(cudaMemcpy(d_x, x, bytes, cudaMemcpyHostToDevice));
    return d_x;
}

/// A list in device memory: one behind the other, each aligned to its element and often no more.
void upload(std::unique_ptr<DeviceBuffer>& buffer, std::vector<Tensor>& tensors, unsigned offset) {
    std::size_t bytes = 0;
    std::vector<std::size_t> places;
    for (const Tensor& t : tensors) {
        const std::size_t element = size_of(t.dtype);
        bytes = (bytes + element - 1) / element * element + offset % 4 * element;
        places.push_back(bytes);
        bytes += t.n * element;
    }
    const DeviceBuffer& in = at_least(buffer, bytes);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        Tensor& t = tensors[i];
        char* const to = in.data() + places[i];
        if (t.n > 0) CUDA_CHECK(cudaMemcpy(to, t.data, t.n * size_of(t.dtype), cudaMemcpyHostToDevice));
        t.data = to;
    }
}

/// What `buffer` begins with, if nothing behind it was written.
void download(const DeviceBuffer& buffer, void* to, std::size_t bytes) {
    CUDA_CHECK(cudaMemcpy(to, buffer.data(), bytes, cudaMemcpyDeviceToHost));
    if (!tail_is_intact(buffer, bytes)) throw std::runtime_error("a kernel wrote outside its memory");
}

/// A state in device memory, with a pattern behind it.
const DeviceBuffer& upload(std::unique_ptr<DeviceBuffer>& buffer, const ExactState& state) {
    const DeviceBuffer& device = at_least(buffer, sizeof state);
    prepare(device, sizeof state);
    CUDA_CHECK(cudaMemcpy(device.data(), &state, sizeof state, cudaMemcpyHostToDevice));
    return device;
}
ExactState* as_state(const DeviceBuffer& buffer) {
    return reinterpret_cast<ExactState*>(buffer.data());
}

std::unique_ptr<DeviceBuffer> input, second_input, offset_input, output, scratch, states[2];

/// Results and workspace between patterns that must stay.
void run_guarded(const Request& request, const Inputs& in, void* result) {
    const Plan plan = make_plan(request);
    throw_if_error(plan.status());
    const std::size_t result_bytes = plan.results() * plan.result_bytes();
    const DeviceBuffer& out = at_least(output, result_bytes);
    const DeviceBuffer& workspace = at_least(scratch, plan.workspace_bytes());
    prepare(out, result_bytes);
    prepare(workspace, plan.workspace_bytes());
    throw_if_error(run(plan, in, out.data(), workspace.data()));
    download(out, result, result_bytes);
    if (!tail_is_intact(workspace, plan.workspace_bytes()))
        throw std::runtime_error("a kernel wrote outside its workspace");
}

} // namespace

void CudaBackend::reduce(const Request& request, const void* x, const void* y, unsigned offset, void* result,
                         std::size_t elements, const std::vector<std::uint64_t>& offsets) {
    const std::size_t element = size_of(request.dtype);
    const char* const d_x = upload(input, x, elements * element, offset * element);
    // Elsewhere than x, every other time.
    const char* const d_y = y ? upload(second_input, y, elements * element, offset / 2 * element) : nullptr;
    const std::uint64_t* d_offsets = nullptr;
    if (!offsets.empty()) {
        d_offsets = reinterpret_cast<const std::uint64_t*>(
            upload(offset_input, offsets.data(), offsets.size() * sizeof offsets[0], 0));
    }
    run_guarded(request, {d_x, d_y, d_offsets}, result);
}

void CudaBackend::reduce_tensors(const Request& request, std::vector<Tensor> x, std::vector<Tensor> y, unsigned offset,
                                 void* result) {
    upload(input, x, offset);
    upload(second_input, y, offset / 2);
    run_guarded(request, {x.data(), info(request.op).inputs == 2 ? y.data() : nullptr}, result);
}

const void* CudaBackend::on_device(const void* from, std::size_t bytes, std::size_t offset_bytes) {
    return upload(input, from, bytes, offset_bytes);
}
std::uint64_t* CudaBackend::room_for_offsets(std::uint64_t count) {
    const DeviceBuffer& room = at_least(output, count * sizeof(std::uint64_t));
    prepare(room, count * sizeof(std::uint64_t));
    return reinterpret_cast<std::uint64_t*>(room.data());
}
void CudaBackend::fetch_offsets(std::vector<std::uint64_t>& offsets, std::uint64_t count) {
    download(*output, offsets.data(), count * sizeof(std::uint64_t));
}

Status CudaBackend::check_offsets(const std::vector<std::uint64_t>& offsets, std::uint64_t n, bool whole) {
    const auto* const d_offsets =
        static_cast<const std::uint64_t*>(on_device(offsets.data(), offsets.size() * sizeof offsets[0], 0));
    return detreduce::check_offsets(current_gpu, d_offsets, offsets.size() - 1, n, nullptr, whole);
}

void CudaBackend::add(ExactState& state, DType dtype, const void* x, std::size_t n, unsigned offset) {
    const char* const d_x = upload(input, x, n * size_of(dtype), offset * size_of(dtype));
    const DeviceBuffer& d_state = upload(states[0], state);
    throw_if_error(cuda::add(as_state(d_state), dtype, d_x, n));
    download(d_state, &state, sizeof state);
}

void CudaBackend::merge(ExactState& state, const ExactState& term) {
    const DeviceBuffer &d_state = upload(states[0], state), &d_term = upload(states[1], term);
    throw_if_error(cuda::merge(as_state(d_state), as_state(d_term)));
    download(d_state, &state, sizeof state);
}

void CudaBackend::round(const ExactState& state, DType dtype, void* result) {
    const DeviceBuffer& d_state = upload(states[0], state);
    const DeviceBuffer& out = at_least(output, size_of(dtype));
    prepare(out, size_of(dtype));
    throw_if_error(cuda::round(as_state(d_state), dtype, out.data()));
    download(out, result, size_of(dtype));
    ExactState after;
    download(d_state, &after, sizeof after);
    if (std::memcmp(&after, &state, sizeof state) != 0) throw std::runtime_error("rounding changed a state");
}

std::vector<Draw> CudaBackend::all_draws(Method method) {
    const bool exact = method == Method::exact;
    std::vector<Draw> draws;
    for (const Schedule schedule : {Schedule::two_pass, Schedule::last_block, Schedule::cooperative}) {
        if (exact && schedule == Schedule::cooperative) continue;
        for (const std::uint32_t block : {128u, 256u}) {
            if (exact && block != 128) continue;
            for (const std::uint32_t grid : {0u, 1u, 2u, 3u, 13u, 64u, 1000u, 100000u}) {
                for (const unsigned offset : {0u, 1u, 2u, 3u, 5u, 7u})
                    draws.push_back({{.schedule = schedule, .grid = grid, .block = block}, offset});
            }
        }
    }
    return draws;
}

/// Runs before any test: without a GPU these are skipped, loudly.
int precondition() {
    std::string why;
    if (!cuda::devices(&why).empty()) return 0;
    std::fprintf(stderr,
                 "\n*** SKIPPED: no GPU test has run, because there is no usable CUDA device (%s). ***\n"
                 "*** The GPU's bits are still checked on the CPU through proptests/golden/. ***\n\n",
                 why.c_str());
    return 77;
}

} // namespace detreduce::proptests
