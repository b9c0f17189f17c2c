// Raw elements: the first byte says of which dtype.
#include "memory_file.hpp"

namespace fuzz = detreduce::fuzz;
namespace program = detreduce::program;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static fuzz::MemoryFile memory;
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
    const detreduce::DType dtype = detreduce::dtypes()[data[0] / 4 % 4];
    const auto found = fuzz::require_one_reading(
        memory, bytes, data[0] % 4, [&](const std::string& path) { return program::open_raw(path, dtype); });
    const bool whole = bytes.size() % detreduce::size_of(dtype) == 0;
    fuzz::require(found.has_value() == whole && (!whole || *found == bytes), "raw elements are the bytes of the file");
    return 0;
}
