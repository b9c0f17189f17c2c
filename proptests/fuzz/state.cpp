// Serialized states of `exact`: any bytes, or any words with the checksum that belongs to them.
#include <algorithm>
#include <array>
#include <cstring>

#include <detreduce/exact_state.hpp>
#include <state_file.hpp>

#include "memory_file.hpp"

namespace detreduce::fuzz {
namespace {

using Blob = std::string;

void append(Blob& blob, std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
        blob += static_cast<char>(value >> (8 * i));
}

/// lib/SPEC.md, section 7.2.
Blob blob_of(const std::array<std::uint64_t, ExactState::word_count>& words) {
    Blob blob = "DREXACT\n";
    append(blob, 1, 4);
    append(blob, words.size(), 4);
    for (const std::uint64_t word : words)
        append(blob, word, 8);
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : blob)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    append(blob, hash, 8);
    return blob;
}

/// Zeros, but for a few words: of states that are normalized most limbs are below 2^32.
Blob some_blob(FuzzedDataProvider& in) {
    std::array<std::uint64_t, ExactState::word_count> words{};
    while (in.remaining_bytes() > 2) {
        const auto at = in.ConsumeIntegralInRange<std::size_t>(0, words.size() - 1);
        switch (in.ConsumeIntegralInRange<int>(0, 4)) {
        case 0:
            words[at] = in.ConsumeIntegral<std::uint64_t>();
            break;
        case 1:
            words[at] = in.ConsumeIntegral<std::uint32_t>();
            break;
        case 2:
            words[at] = (std::uint64_t{1} << 62) - 2 + in.ConsumeIntegralInRange<std::uint64_t>(0, 4);
            break;
        case 3:
            words[at] = 0 - ((std::uint64_t{1} << 62) - 2 + in.ConsumeIntegralInRange<std::uint64_t>(0, 4));
            break;
        default:
            words[at] = in.ConsumeIntegral<std::uint8_t>();
        }
    }
    return blob_of(words);
}

std::optional<ExactState> read(std::string_view blob) {
    ExactState state;
    state.add(1.0);
    const ExactState before = state;
    const Status status = ExactState::deserialize(std::as_bytes(std::span(blob)), state);
    require_well_formed(status);
    if (status.ok()) return state;
    require(std::memcmp(&before, &state, sizeof state) == 0, "a state that cannot be read leaves the old one");
    return std::nullopt;
}

Blob written(const ExactState& state) {
    const auto blob = state.serialize();
    return {reinterpret_cast<const char*>(blob.data()), blob.size()};
}

void check(std::string_view blob) {
    static MemoryFile memory;
    const auto state = read(blob);
    const auto loaded = result_of([&] { return program::load_states({memory.file(blob)}); });
    require(loaded.has_value() == state.has_value(), "the program reads what the library reads");
    if (!state) return;
    require(written(*state) == blob, "what was read is written as it was");
    require(*loaded == *state, "the program reads the same state");
    const auto sum = state->round<double>();
    require((sum != sum) == state->is_nan(), "the sum is NaN where the state says so");
    require(state->is_nan() || !state->is_infinite() || sum - sum != 0, "the sum is infinite where the state says so");
    (void)state->round<float16>();
    (void)state->round<bfloat16>();
    (void)state->round<float>();
    ExactState twice = *state;
    twice.merge(*state);
    if (read(written(twice))) {
        twice.subtract(*state);
        require(twice == *state, "what was merged can be taken away");
    }
}

} // namespace
} // namespace detreduce::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace detreduce::fuzz;
    if (size == 0) return 0;
    FuzzedDataProvider in(data + 1, size - 1);
    if (data[0] % 2 == 0) {
        check({reinterpret_cast<const char*>(data + 1), size - 1});
    } else {
        check(some_blob(in));
    }
    return 0;
}
