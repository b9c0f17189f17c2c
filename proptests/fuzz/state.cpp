// Serialized states, of `exact` and of plans: any bytes, or any words with the checksum that
// belongs to them.
#include <algorithm>
#include <array>
#include <cstring>

#include <detreduce/exact_state.hpp>
#include <detreduce/states.hpp>
#include <state_file.hpp>

#include "memory_file.hpp"

namespace detreduce::fuzz {
namespace {

using Blob = std::string;

void append(Blob& blob, std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
        blob += static_cast<char>(value >> (8 * i));
}

/// FNV-1a over all of it, behind it.
Blob sealed(Blob blob) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : blob)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    append(blob, hash, 8);
    return blob;
}

/// lib/SPEC.md, section 7.2.
Blob blob_of(const std::array<std::uint64_t, ExactState::word_count>& words) {
    Blob blob = "DREXACT\n";
    append(blob, 1, 4);
    append(blob, words.size(), 4);
    for (const std::uint64_t word : words)
        append(blob, word, 8);
    return sealed(std::move(blob));
}

/// Any word, of those that matter more often than others.
std::uint64_t some_word(FuzzedDataProvider& in) {
    constexpr std::uint64_t half = std::uint64_t{1} << 62;
    switch (in.ConsumeIntegralInRange<int>(0, 4)) {
    case 0:
        return in.ConsumeIntegral<std::uint64_t>();
    case 1:
        return in.ConsumeIntegral<std::uint32_t>();
    case 2:
        return half - 2 + in.ConsumeIntegralInRange<std::uint64_t>(0, 4);
    case 3:
        return 0 - (half - 2 + in.ConsumeIntegralInRange<std::uint64_t>(0, 4));
    default:
        return in.ConsumeIntegral<std::uint8_t>();
    }
}

/// lib/SPEC.md, section 18.5, of a request that has states, and of words that are nearly always
/// zeros.
Blob blob_of_plan(FuzzedDataProvider& in) {
    Request r{.op = static_cast<Op>(in.ConsumeIntegralInRange<std::size_t>(0, ops().size() - 1)),
              .method = Method::exact,
              .dtype = in.PickValueInArray({DType::f16, DType::f32, DType::f64, DType::f8e4m3}),
              .shape = in.PickValueInArray({Shape::flat, Shape::rows, Shape::tensors}),
              .device = cpu,
              .nan = in.PickValueInArray({NanPolicy::propagate, NanPolicy::ignore}),
              .state = true};
    r.groups = r.shape == Shape::flat ? 1 : in.ConsumeIntegralInRange<std::uint64_t>(0, 3);
    r.each = r.shape == Shape::tensors && in.ConsumeBool();
    const Plan plan = make_plan(r);
    if (!plan.status().ok()) return {};
    std::vector<std::uint64_t> words(plan.groups() * plan.state_words());
    Blob blob = "DREXACT\n";
    append(blob, 2, 4);
    append(blob, plan.state_words(), 4);
    append(blob, static_cast<std::uint64_t>(r.op), 1);
    append(blob, static_cast<std::uint64_t>(r.dtype), 1);
    append(blob, static_cast<std::uint64_t>(r.nan), 1);
    append(blob, r.shape == Shape::flat ? 0 : r.shape == Shape::rows ? 1 : r.each ? 3 : 2, 1);
    append(blob, 0, 4);
    append(blob, plan.groups(), 8);
    append(blob, in.ConsumeBool() ? some_word(in) : 0, 8);
    while (!words.empty() && in.remaining_bytes() > 2)
        words[in.ConsumeIntegralInRange<std::size_t>(0, words.size() - 1)] = some_word(in);
    for (const std::uint64_t word : words)
        append(blob, word, 8);
    if (in.ConsumeBool()) blob[in.ConsumeIntegralInRange<std::size_t>(8, 39)] ^= 1; // one field is another
    return sealed(std::move(blob));
}

/// Zeros, but for a few words: of states that are normalized most limbs are below 2^32.
Blob some_blob(FuzzedDataProvider& in) {
    std::array<std::uint64_t, ExactState::word_count> words{};
    while (in.remaining_bytes() > 2) {
        words[in.ConsumeIntegralInRange<std::size_t>(0, words.size() - 1)] = some_word(in);
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
    const auto loaded =
        result_of([&] { return program::load_states({memory.file(blob)}, {.op = Op::sum, .method = Method::exact}); });
    Request of;
    const bool of_mean = serialized_request(std::as_bytes(std::span(blob)), of).ok() && of.op == Op::mean;
    require(of_mean || loaded.has_value() == state.has_value(), "the program reads what the library reads");
    if (!state) return;
    if (blob[8] == 1) require(written(*state) == blob, "what was read is written as it was");
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

/// As states of whatever request the bytes name.
void check_plan(std::string_view blob) {
    const auto bytes = std::as_bytes(std::span(blob));
    Request r;
    const Status status = serialized_request(bytes, r);
    require_well_formed(status);
    if (!status.ok()) return;
    const bool continues = make_plan(r).status().ok();
    if (!continues) r.first_index = 0; // it was beyond 2^61
    const Plan plan = make_plan(r);
    require(plan.status().ok(), "bytes name a request that has a plan");
    const std::vector<std::int64_t> before(plan.groups() * plan.state_words() + 1, 42);
    auto words = before;
    const Status read = deserialize(plan, bytes, words.data());
    require_well_formed(read);
    if (!read.ok()) return require(words == before, "states that cannot be read leave the old ones");
    require(words.back() == 42, "no more is written than there are words");
    if (blob[8] == 2 && continues) {
        std::vector<std::byte> again(serialized_bytes(plan));
        require(serialize(plan, words.data(), again).ok(), "what was read can be written");
        require(std::equal(bytes.begin(), bytes.end(), again.begin(), again.end()), "it is written as it was read");
    }
    std::vector<double> out(2 * plan.results() + 1);
    require(finish(plan, words.data(), out.data()).ok(), "what was read can be finished");
    (void)merge(plan, words.data(), words.data());
}

} // namespace
} // namespace detreduce::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace detreduce::fuzz;
    if (size == 0) return 0;
    FuzzedDataProvider in(data + 1, size - 1);
    const auto check_both = [](std::string_view blob) {
        check(blob);
        check_plan(blob);
    };
    if (data[0] % 2 == 0) {
        check_both({reinterpret_cast<const char*>(data + 1), size - 1});
    } else if (data[0] % 4 == 1) {
        check_both(some_blob(in));
    } else {
        check_both(blob_of_plan(in));
    }
    return 0;
}
