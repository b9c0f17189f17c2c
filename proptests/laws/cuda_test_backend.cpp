// The GPU, as the conformance suite sees a backend: memory that is checked for stray writes,
// workspaces that start as garbage.
#include "laws/test_backend.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include <support/precondition.hpp>

#include "laws/device_buffer.hpp"

namespace detreduce::proptests {

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

const char* upload(std::unique_ptr<DeviceBuffer>& buffer, const Tensor& x, unsigned offset) {
    return upload(buffer, x.data, x.n * size_of(x.dtype), offset * size_of(x.dtype));
}
template <class T>
const T* upload(std::unique_ptr<DeviceBuffer>& buffer, std::span<const T> x, unsigned offset) {
    return reinterpret_cast<const T*>(upload(buffer, x.data(), x.size_bytes(), offset * sizeof(T)));
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

const Backend TestBackend::kind = Backend::cuda;

void TestBackend::reduce(const Request& request, const Tensor& x, const Tensor& y, unsigned offset, void* result) {
    run(request, x, y, {}, offset, result);
}

void TestBackend::run(const Request& request, const Tensor& x, const Tensor& y,
                      const std::vector<std::uint64_t>& offsets, unsigned offset, void* results) {
    const char* const d_x = upload(input, x, offset);
    const char* const d_y =
        y.data ? upload(second_input, y, offset / 2) : nullptr; // elsewhere than x, every other time
    const std::uint64_t* d_offsets = nullptr;
    if (!offsets.empty()) {
        d_offsets = reinterpret_cast<const std::uint64_t*>(
            upload(offset_input, offsets.data(), offsets.size() * sizeof offsets[0], 0));
    }
    run_guarded(request, {d_x, d_y, d_offsets}, results);
}

void TestBackend::run_list(const Request& request, std::vector<Tensor> x, std::vector<Tensor> y, unsigned offset,
                           void* results) {
    upload(input, x, offset);
    upload(second_input, y, offset / 2);
    run_guarded(request, {x.data(), info(request.op).inputs == 2 ? y.data() : nullptr}, results);
}

template <class Id>
Status TestBackend::offsets_of_ids(std::span<const Id> ids, std::uint64_t groups, std::vector<std::uint64_t>& offsets,
                                   unsigned offset) {
    const Id* const d_ids = upload(input, ids, offset);
    const std::size_t bytes = (groups + 1) * sizeof(std::uint64_t);
    const DeviceBuffer& room = at_least(output, bytes);
    prepare(room, bytes);
    const Status status = detreduce::offsets_of_ids(current_gpu, d_ids, ids.size(), groups,
                                                    reinterpret_cast<std::uint64_t*>(room.data()));
    download(room, offsets.data(), bytes);
    return status;
}
template Status TestBackend::offsets_of_ids(std::span<const std::uint32_t>, std::uint64_t, std::vector<std::uint64_t>&,
                                            unsigned);
template Status TestBackend::offsets_of_ids(std::span<const std::uint64_t>, std::uint64_t, std::vector<std::uint64_t>&,
                                            unsigned);

template <class Id>
Status TestBackend::check_ids(std::span<const Id> ids, std::uint64_t groups, unsigned offset) {
    return detreduce::check_ids(current_gpu, upload(input, ids, offset), ids.size(), groups);
}
template Status TestBackend::check_ids(std::span<const std::uint32_t>, std::uint64_t, unsigned);
template Status TestBackend::check_ids(std::span<const std::uint64_t>, std::uint64_t, unsigned);

Status TestBackend::check_offsets(const std::vector<std::uint64_t>& offsets, std::uint64_t n, bool whole) {
    const std::uint64_t* const d_offsets = upload(input, std::span<const std::uint64_t>(offsets), 0);
    return detreduce::check_offsets(current_gpu, d_offsets, offsets.size() - 1, n, nullptr, whole);
}

/// Where the input lies is all that a draw says here.
void TestBackend::add(ExactState& state, const Tensor& x, const Draw& draw) {
    const char* const d_x = upload(input, x, draw.offset);
    const DeviceBuffer& d_state = upload(states[0], state);
    throw_if_error(cuda::add(as_state(d_state), x.dtype, d_x, x.n));
    download(d_state, &state, sizeof state);
}

void TestBackend::merge(ExactState& state, const ExactState& term) {
    const DeviceBuffer &d_state = upload(states[0], state), &d_term = upload(states[1], term);
    throw_if_error(cuda::merge(as_state(d_state), as_state(d_term)));
    download(d_state, &state, sizeof state);
}

void TestBackend::round(const ExactState& state, DType dtype, void* result) {
    const DeviceBuffer& d_state = upload(states[0], state);
    const DeviceBuffer& out = at_least(output, size_of(dtype));
    prepare(out, size_of(dtype));
    throw_if_error(cuda::round(as_state(d_state), dtype, out.data()));
    download(out, result, size_of(dtype));
    ExactState after;
    download(d_state, &after, sizeof after);
    if (std::memcmp(&after, &state, sizeof state) != 0) throw std::runtime_error("rounding changed a state");
}

std::vector<Draw> TestBackend::all_draws(Method method) {
    const bool exact = method == Method::exact, of_256 = !exact && method != Method::tree && method != Method::atomic;
    std::vector<Draw> draws;
    for (const Schedule schedule : {Schedule::two_pass, Schedule::last_block, Schedule::cooperative}) {
        if (exact && schedule == Schedule::cooperative) continue;
        if (!exact && method != Method::tree && schedule != Schedule::two_pass) continue;
        for (const std::uint32_t block :
             {exact ? 0u : 256u, 128u}) { // exact: 0 is 256 where short inputs have kernels of their own
            if (of_256 && block != 256) continue;
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
