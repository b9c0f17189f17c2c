// Writes the table of golden results (DETREDUCE_GOLDEN_OUT=FILE), and compares this GPU with the one that is kept.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <support/catch.hpp>

#include "golden/compare.hpp"
#include "golden/compute.hpp"
#include "laws/cuda_backend.hpp"

namespace detreduce::golden {
namespace {

std::uint64_t reduce_on_gpu(const Case& c, const void* x) {
    const Plan plan = make_plan(request_of(c, current_gpu));
    throw_if_error(plan.status());
    const proptests::DeviceBuffer input(c.n * size_of(c.dtype)), workspace(plan.workspace_bytes()), out(8);
    input.copy_from(x, c.n * size_of(c.dtype));
    throw_if_error(run(plan, input.data(), out.data(), workspace.data()));
    std::uint64_t bits = 0;
    proptests::check(cudaMemcpy(&bits, out.data(), size_of(c.output), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return bits;
}

std::string device_line() {
    const cuda::DeviceInfo device = cuda::devices().at(0);
    std::ostringstream text;
    text << device.name << " (compute capability " << device.major << '.' << device.minor << ", driver "
         << cuda::driver_version() << ')';
    return text.str();
}

} // namespace

TEST_CASE("golden bits: this GPU gives what the table says", "[golden]") {
    std::ostringstream written;
    write_table(written, device_line(), reduce_on_gpu);
    if (const char* path =
            std::getenv("DETREDUCE_GOLDEN_OUT")) { // before the comparison: it may be what is missing there
        std::ofstream file(path);
        file << written.str();
        REQUIRE(file.good());
    }
    const Table table = parse_table(embedded_table()), ours = parse_table(written.str());
    REQUIRE(table.entries.size() == ours.entries.size());
    for (std::size_t i = 0; i < ours.entries.size(); ++i)
        REQUIRE(line_of(ours.entries[i]) == line_of(table.entries[i]));
}

} // namespace detreduce::golden
