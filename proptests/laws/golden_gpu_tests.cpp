// Writes the table of golden bits (DETREDUCE_GOLDEN_OUT=FILE), and compares with the one that is kept.
#include <cstdlib>
#include <fstream>

#include <support/catch.hpp>

#include "laws/cuda_backend.hpp"
#include "laws/golden.hpp"

namespace detreduce::proptests {
namespace {

std::vector<std::string> compute() {
    std::vector<std::string> lines;
    for (const GoldenCase& wanted : golden_cases()) {
        with_input(wanted, [&]<class T>(const GoldenCase& c, const std::vector<T>& x) {
            lines.push_back(golden_line(c, hex_bits(CudaBackend::reduce(std::span<const T>(x), c.method))));
        });
    }
    return lines;
}

} // namespace

TEST_CASE("golden bits: this GPU gives what the table says", "[golden]") {
    const std::vector<std::string> lines = compute();
    if (const char* path = std::getenv("DETREDUCE_GOLDEN_OUT")) {
        const cuda::DeviceInfo device = cuda::devices().at(0);
        std::ofstream file(path);
        file << "# spec_version " << spec_version << ", from " << device.name << " (compute capability " << device.major
             << '.' << device.minor << ", driver " << cuda::driver_version()
             << ")\n# method\tdtype\tfamily\tn\tseed\tbits\n";
        for (const std::string& line : lines)
            file << line << '\n';
        REQUIRE(file.good());
    }
    const std::vector<std::string> table = read_golden(golden_path());
    REQUIRE(table.size() == lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i)
        REQUIRE(lines[i] == table[i]);
}

} // namespace detreduce::proptests
