// Columns of CSV and of text: the first byte says which column, of which dtype, and what is between
// fields.
#include "memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace detreduce;
    if (size == 0) return 0;
    constexpr const char* columns[] = {"", "1", "2", "x"};
    const std::span<const std::uint8_t> bytes(data + 1, size - 1);
    const DType dtype = dtypes()[data[0] / 4 % 4];
    const auto fields = data[0] / 16 % 2 == 0 ? program::Fields::by_commas : program::Fields::by_blanks;
    const auto open = [&] {
        return program::open_column(std::make_unique<program::MemoryBytes>("fuzz", std::as_bytes(bytes)), dtype, fields,
                                    {columns[data[0] % 4]});
    };
    const auto all = fuzz::result_of([&] { return fuzz::bytes_of(open()->all()); });
    const auto poured = fuzz::result_of([&] {
        fuzz::Collected sink;
        open()->pour_into(sink);
        return sink.bytes;
    });
    fuzz::require(all == poured, "a column poured is the column");
    return 0;
}
