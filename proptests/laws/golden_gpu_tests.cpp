// Writes the tables of golden results (golden_files.hpp), and compares this GPU with the ones that
// are kept.
#include <memory>
#include <sstream>

#include <support/catch.hpp>

#include "golden/compare.hpp"
#include "golden/compute.hpp"
#include "laws/device_buffer.hpp"
#include "laws/golden_files.hpp"

namespace detreduce::golden {
namespace {

using proptests::DeviceBuffer;

std::unique_ptr<DeviceBuffer> on_device(const void* host, std::size_t bytes) {
    auto buffer = std::make_unique<DeviceBuffer>(bytes);
    if (bytes > 0) buffer->copy_from(host, bytes);
    return buffer;
}

std::uint64_t run_on_gpu(const Case& c, const Inputs& in) {
    const Plan plan = make_plan(request_of(c, current_gpu));
    throw_if_error(plan.status());
    const DeviceBuffer workspace(plan.workspace_bytes()), out(plan.results() * plan.result_bytes());
    throw_if_error(run(plan, in, out.data(), workspace.data()));
    std::vector<std::byte> results(plan.results() * plan.result_bytes());
    CUDA_CHECK(cudaMemcpy(results.data(), out.data(), results.size(), cudaMemcpyDeviceToHost));
    return bits_of(c, results.data());
}

std::uint64_t reduce_tensors(const Case& c, const Input& in) {
    std::vector<std::unique_ptr<DeviceBuffer>> memory;
    std::vector<Tensor> x = in.tensors, y = in.second_tensors;
    for (std::vector<Tensor>* list : {&x, &y}) {
        for (Tensor& t : *list) {
            memory.push_back(on_device(t.data, t.n * size_of(t.dtype)));
            t.data = memory.back()->data();
        }
    }
    return run_on_gpu(c, {x.data(), info(c.op).inputs == 2 ? y.data() : nullptr});
}

std::uint64_t reduce_on_gpu(const Case& c, const Input& in) {
    INFO(line_of({c, 0})); // for what throws
    if (c.shape == Shape::tensors) return reduce_tensors(c, in);
    const Inputs host = inputs_of(c, in);
    const std::size_t bytes = in.elements * size_of(c.dtype);
    const auto x = on_device(host.x, bytes), y = on_device(host.y, host.y ? bytes : 0),
               offsets = on_device(host.offsets, in.offsets.size() * sizeof(std::uint64_t));
    return run_on_gpu(c, {x->data(), host.y ? y->data() : nullptr,
                          host.offsets ? reinterpret_cast<const std::uint64_t*>(offsets->data()) : nullptr});
}

std::string device_line() {
    const cuda::DeviceInfo device = cuda::devices().at(0);
    std::ostringstream text;
    text << device.name << " (compute capability " << device.major << '.' << device.minor << ", driver "
         << cuda::driver_version() << ')';
    return text.str();
}

class GpuMemory : public Memory {
  public:
    [[nodiscard]] Device device() const override { return current_gpu; }
    [[nodiscard]] std::shared_ptr<std::byte> copied(const void* host, std::size_t bytes) const override {
        const auto buffer = std::make_shared<DeviceBuffer>(bytes);
        if (host == nullptr) buffer->fill(0, bytes);
        if (host != nullptr && bytes > 0) buffer->copy_from(host, bytes);
        return {buffer, reinterpret_cast<std::byte*>(buffer->data())};
    }
    void fetch(void* host, const std::byte* from, std::size_t bytes) const override {
        if (bytes > 0) CUDA_CHECK(cudaMemcpy(host, from, bytes, cudaMemcpyDeviceToHost));
    }
};

/// The lines of the kept file with such cases.
std::vector<Entry> kept(bool flat_sums) {
    std::vector<Entry> entries;
    for (const Entry& e : parse_table(embedded_table()).entries) {
        if (is_flat_sum(e.of) == flat_sums) entries.push_back(e);
    }
    return entries;
}

void check(const File& f) {
    std::ostringstream written;
    write_table(written, device_line(), f.cases, reduce_on_gpu);
    if (is_asked_for(f)) write(f, written.str()); // before the comparison: it may be what is missing there
    const std::vector<Entry> expected = kept(is_flat_sum(f.cases.front())), ours = parse_table(written.str()).entries;
    REQUIRE(expected.size() == ours.size());
    for (std::size_t i = 0; i < ours.size(); ++i)
        REQUIRE(line_of(ours[i]) == line_of(expected[i]));
}

void check_calls(const File& f) {
    std::ostringstream written;
    write_table(written, device_line(), f.calls, GpuMemory());
    if (is_asked_for(f)) write(f, written.str());
    const std::vector<CallResult> ours = parse_table(written.str()).calls;
    std::vector<CallResult> expected = parse_table(embedded_table()).calls;
    std::erase_if(expected, [&](const CallResult& r) { return !r.call.starts_with(std::string(f.calls.kind) + '\t'); });
    REQUIRE(expected.size() == ours.size());
    for (std::size_t i = 0; i < ours.size(); ++i)
        REQUIRE(line_of(ours[i]) == line_of(expected[i]));
}

} // namespace

TEST_CASE("golden bits: this GPU gives what the table of sums says", "[golden]") {
    check(files()[0]);
}

TEST_CASE("golden bits: this GPU gives what the table of ops and shapes says", "[golden]") {
    check(files()[1]);
}

TEST_CASE("golden bits: this GPU gives what the table of row ops says", "[golden][rows][sanitizer]") {
    check_calls(files()[2]);
}

TEST_CASE("golden bits: this GPU gives what the table of losses says", "[golden][losses][sanitizer]") {
    check_calls(files()[3]);
}

} // namespace detreduce::golden
