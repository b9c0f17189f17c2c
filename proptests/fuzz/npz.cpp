// .npz archives: the first byte says which member is read.
#include <npz.hpp>

#include "memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace detreduce;
    if (size == 0) return 0;
    constexpr const char* members[] = {"", "x", "x.npy", "y"};
    const std::span<const std::uint8_t> bytes(data + 1, size - 1);
    const auto open = [&] {
        return program::open_npy(program::open_npz_member("fuzz", std::as_bytes(bytes), members[data[0] % 4]),
                                 std::nullopt);
    };
    const auto all = fuzz::result_of([&] { return fuzz::bytes_of(open()->all()); });
    const auto poured = fuzz::result_of([&] {
        fuzz::Collected sink;
        open()->pour_into(sink);
        return sink.bytes;
    });
    fuzz::require(all == poured, "a member poured is the member");
    return 0;
}
