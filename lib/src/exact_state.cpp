// ExactState: what is not a line of its header.
#include <detreduce/exact_state.hpp>

#include <algorithm>
#include <cstring>

#include <detreduce/plan.hpp>
#include <detreduce/states.hpp>

#include "check_pointer.hpp"
#include "host/arena.hpp"
#include "host/backend.hpp"
#include "state_bytes.hpp"

namespace detreduce {
namespace {

using acc::exact::Word;
using namespace state_bytes;

constexpr Status beyond = invalid(
    "state", "is beyond its headroom, so that it is NaN from now on; allowed are 2^62 elements, and sums below 2^1086");

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
    put(blob.data() + 8, 1, 4); // the version
    put(blob.data() + 12, word_count, 4);
    for (std::size_t i = 0; i < word_count; ++i)
        put(blob.data() + 16 + 8 * i, static_cast<std::uint64_t>(form.words_[i]), 8);
    put(blob.data() + serialized_bytes - 8, checksum(std::span(blob).first(serialized_bytes - 8)), 8);
    return blob;
}

Status ExactState::deserialize(std::span<const std::byte> blob, ExactState& state) noexcept {
    Header header{};
    if (const Status bad = state_bytes::read("blob", blob, header); !bad.ok()) return bad;
    if (header.request.op != Op::sum || header.request.shape != Shape::flat)
        return invalid("blob", "is a state of another op or shape; allowed is that of one sum");
    if (header.version == 2) { // which has a stricter form
        ExactState read;
        const Status status = detreduce::deserialize(make_plan(header.request), blob, read.words_);
        if (!status.ok()) return invalid("blob", status.allowed);
        state = read;
        return {};
    }
    ExactState read;
    for (std::size_t i = 0; i < word_count; ++i)
        read.words_[i] = static_cast<Word>(get(blob.data() + header.begin + 8 * i, 8));
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
