// ExactState: what is not a line of its header.
#include <detreduce/exact_state.hpp>

#include <algorithm>
#include <cstring>

#include <detreduce/plan.hpp>

#include "check_pointer.hpp"
#include "host/arena.hpp"
#include "host/backend.hpp"

namespace detreduce {
namespace {

using acc::exact::Word;

constexpr Status beyond = invalid(
    "state", "is beyond its headroom, so that it is NaN from now on; allowed are 2^62 elements, and sums below 2^1086");

constexpr char magic[8] = {'D', 'R', 'E', 'X', 'A', 'C', 'T', '\n'};
constexpr std::uint32_t blob_version = 1;

void put(std::byte* to, std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
        to[i] = static_cast<std::byte>(value >> (8 * i));
}

std::uint64_t get(const std::byte* from, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
        value |= std::uint64_t{std::to_integer<std::uint8_t>(from[i])} << (8 * i);
    return value;
}

/// FNV-1a, 64 bits (Fowler, Noll & Vo): any single changed byte changes it.
std::uint64_t checksum(std::span<const std::byte> bytes) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const std::byte b : bytes)
        hash = (hash ^ std::to_integer<std::uint8_t>(b)) * 0x100000001b3u;
    return hash;
}

ExactState normalized(ExactState state) {
    state.normalize();
    return state;
}

bool same_words(const ExactState& a, const ExactState& b) {
    return std::equal(a.words().begin(), a.words().end(), b.words().begin());
}

} // namespace

Status ExactState::add(DType dtype, const void* x, std::uint64_t n, const Launch& launch) noexcept {
    const Plan plan = make_plan({.dtype = dtype, .n = n, .device = cpu, .launch = launch});
    if (!plan.status().ok()) return plan.status();
    if (const Status bad = check_elements("x", x, dtype, n); !bad.ok()) return bad;
    const host::ArenaScope arena;
    if (const Status bad = arena.status(); !bad.ok()) return bad;
    if (n > 0 && !is_beyond()) {
        make_room(acc::exact::max_weight / 2);
        host::add_exact(plan, x, words_);
    }
    if (!is_beyond()) return {};
    acc::exact::set_beyond(words_);
    return beyond;
}

StateStatus ExactState::combine(ExactState term, bool subtract) noexcept {
    using acc::exact::max_weight, acc::exact::weight;
    bool bad = is_beyond() || term.is_beyond();
    if (!bad) {
        if (term.words_[weight] > max_weight / 2) acc::exact::normalize(term.words_);
        make_room(term.words_[weight]);
        const Word total = words_[weight] + term.words_[weight];
        for (std::size_t i = 0; i < word_count; ++i) { // without a sign: 2^62 + 2^62 wraps, and is seen
            const auto more = static_cast<std::uint64_t>(term.words_[i]);
            words_[i] = static_cast<Word>(static_cast<std::uint64_t>(words_[i]) + (subtract ? 0 - more : more));
        }
        words_[weight] = total;
        bad = is_beyond();
    }
    if (!bad) return Status{};
    acc::exact::set_beyond(words_);
    return beyond;
}

bool ExactState::is_nan() const noexcept {
    using namespace acc::exact;
    return is_beyond() || (has_special(words_) && special_outcome(words_).kind == Outcome::Kind::nan);
}

bool ExactState::is_infinite() const noexcept {
    return !is_nan() && acc::exact::has_special(words_);
}

bool operator==(const ExactState& a, const ExactState& b) noexcept {
    return same_words(normalized(a), normalized(b));
}

std::array<std::byte, ExactState::serialized_bytes> ExactState::serialize() const noexcept {
    const ExactState form = normalized(*this);
    std::array<std::byte, serialized_bytes> blob{};
    std::memcpy(blob.data(), magic, sizeof magic);
    put(blob.data() + 8, blob_version, 4);
    put(blob.data() + 12, word_count, 4);
    for (std::size_t i = 0; i < word_count; ++i)
        put(blob.data() + 16 + 8 * i, static_cast<std::uint64_t>(form.words_[i]), 8);
    put(blob.data() + serialized_bytes - 8, checksum(std::span(blob).first(serialized_bytes - 8)), 8);
    return blob;
}

Status ExactState::deserialize(std::span<const std::byte> blob, ExactState& state) noexcept {
    if (blob.size() < 16 || std::memcmp(blob.data(), magic, sizeof magic) != 0) {
        return invalid("blob", "is not a state of detreduce: allowed are the bytes of a serialized state");
    }
    if (get(blob.data() + 8, 4) != blob_version || get(blob.data() + 12, 4) != word_count) {
        return invalid("blob", "has another version; allowed is version 1 with 74 words");
    }
    if (blob.size() != serialized_bytes) return invalid("blob", "has the wrong size; allowed are exactly 616 bytes");
    const std::size_t content = serialized_bytes - 8;
    if (get(blob.data() + content, 8) != checksum(blob.first(content))) {
        return invalid("blob", "is damaged: its checksum does not fit");
    }
    ExactState read;
    for (std::size_t i = 0; i < word_count; ++i)
        read.words_[i] = static_cast<Word>(get(blob.data() + 16 + 8 * i, 8));
    if (read.is_beyond()) {
        return invalid("blob",
                       "is that of a state beyond its headroom; allowed are 2^62 elements, and sums below 2^1086");
    }
    if (!same_words(read, normalized(read)))
        return invalid("blob", "is not normalized, so it is not a serialized state");
    state = read;
    return {};
}

} // namespace detreduce
