// Segments by id for tests, what the backend and a loop that counts make of them, and what is wrong
// with bad ones.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "laws/expect_status.hpp"
#include "laws/op_pairs.hpp"

namespace detreduce::proptests {

/// Ids of a sorted array.
template <class Id>
struct Keyed {
    std::uint64_t groups = 0;
    std::vector<Id> ids;
};

/// Few or many segments of few or many elements, of which those at the head and at the tail may be
/// empty; sometimes none of either, or one segment.
template <class Id>
Keyed<Id> keyed_from(std::uint64_t word) {
    const auto draw = [word](std::uint64_t which, std::uint64_t below) { return accuracy::hash(word, which) % below; };
    Keyed<Id> k{draw(1, 4) == 0 ? draw(2, 3) : 1 + draw(2, 3000), {}};
    if (k.groups == 0) return k;
    k.ids.resize(draw(3, 5) == 0 ? draw(4, 3) : draw(4, 4000));
    const std::uint64_t first = draw(5, 2) * draw(6, k.groups), width = 1 + draw(7, k.groups - first);
    for (std::size_t i = 0; i < k.ids.size(); ++i)
        k.ids[i] = static_cast<Id>(first + draw(100 + i, width));
    std::sort(k.ids.begin(), k.ids.end());
    return k;
}

template <class Id>
std::vector<std::uint64_t> counted(const Keyed<Id>& k) {
    std::vector<std::uint64_t> offsets(k.groups + 1);
    for (const Id id : k.ids)
        ++offsets[id + 1];
    for (std::uint64_t g = 0; g < k.groups; ++g)
        offsets[g + 1] += offsets[g];
    return offsets;
}

template <class Id>
std::vector<std::uint64_t> made(const Keyed<Id>& k, unsigned offset = 0) {
    std::vector<std::uint64_t> offsets(k.groups + 1, 77);
    throw_if_error(TestBackend::offsets_of_ids(std::span<const Id>(k.ids), k.groups, offsets, offset));
    return offsets;
}

/// Says `status` that element `index` of `argument` is bad, in these words?
inline bool is_bad(const Status& status, const char* argument, std::uint64_t index, const char* words) {
    return status.code == StatusCode::invalid_argument && std::strcmp(status.argument, argument) == 0 &&
           status.index == index && std::strstr(status.allowed, words) != nullptr;
}
inline bool is_fine(const Status& status) {
    return status.ok() && status.index == Status::no_element;
}

/// Puts something wrong at a few places, or nowhere.
template <class Entry>
void plant(std::vector<Entry>& entries, std::uint64_t end, std::uint64_t word) {
    for (std::uint64_t i = 0; i < accuracy::hash(word, 21) % 4 && !entries.empty(); ++i) {
        const std::uint64_t draw = accuracy::hash(word, 30 + i);
        const std::size_t at = accuracy::hash(draw, 1) % entries.size();
        if (draw % 2 == 0 && at > 0 && entries[at - 1] > 0) {
            entries[at] = static_cast<Entry>(entries[at - 1] - 1 - accuracy::hash(draw, 2) % entries[at - 1]);
        } else if (draw % 8 == 1) {
            entries[at] = static_cast<Entry>(~Entry{0});
        } else if (draw % 2 == 1) {
            entries[at] = static_cast<Entry>(end + accuracy::hash(draw, 2) % 3);
        }
    }
}

} // namespace detreduce::proptests
