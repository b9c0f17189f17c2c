// .npy files: the first byte says how they are read.
#include "memory_file.hpp"

namespace fuzz = detreduce::fuzz;
namespace program = detreduce::program;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static fuzz::MemoryFile memory;
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
    const int way = data[0] % 4;
    const std::size_t wanted = data[0] / 4 % 8; // one of the dtypes, or none; then with any number of dimensions
    const auto dtypes = detreduce::dtypes();
    const auto dtype = wanted < dtypes.size() ? std::optional(dtypes[wanted]) : std::nullopt;
    (void)fuzz::require_one_reading(memory, bytes, way, [&](const std::string& path) {
        return wanted == 7 ? program::open_flat_npy(path) : program::open_npy(path, dtype);
    });
    return 0;
}
