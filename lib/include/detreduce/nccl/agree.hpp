// What the ranks of an NCCL communicator tell each other when they make a plan, and what comes of
// it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include <detreduce/plan.hpp>
#include <detreduce/ranks.hpp>
#include <detreduce/ranks_clip.hpp>

namespace detreduce::nccl::detail {

/// What every rank tells all others.
struct Card {
    std::array<std::int64_t, detreduce::detail::rank_fields> fields;
    std::array<std::int64_t, 3> options; ///< of clipping
    enum Found : std::int64_t { good, bad_request, bad_device, bad_list, no_memory } found;
    Request request;
};
static_assert(std::is_trivially_copyable_v<Card>);

/// The status of a plan after all ranks have told what they found: the same on each of them, but
/// for what this one, whose GPU is `device`, knows of its own list.
[[nodiscard]] inline Status agreed(std::span<const Card> cards, int device, const Status& own) noexcept {
    const auto fields = detreduce::detail::fields_of(cards[0].request, 0);
    for (std::size_t i = 0; i < fields.size(); ++i)
        for (std::size_t r = 1; r < cards.size(); ++r)
            if (cards[r].fields[i] != cards[0].fields[i]) return detreduce::detail::differs(fields[i].name, r);
    for (std::size_t i = 0; i < cards[0].options.size(); ++i)
        for (const Card& card : cards)
            if (card.options[i] != cards[0].options[i])
                return detreduce::detail::differs(detreduce::detail::clip_options[i]);
    for (const Card::Found found : {Card::bad_device, Card::bad_request, Card::bad_list, Card::no_memory}) {
        const auto first =
            std::find_if(cards.begin(), cards.end(), [&](const Card& card) { return card.found == found; });
        if (first == cards.end()) continue;
        if (found == Card::no_memory) return detreduce::detail::no_room_somewhere();
        if (found == Card::bad_list) return own.ok() ? detreduce::detail::other_list() : own;
        if (found == Card::bad_device)
            return {StatusCode::invalid_argument, "device", "must be the communicator's GPU, or current_gpu"};
        Request bad = first->request;
        bad.device = {Backend::cuda, device};
        return detreduce::detail::refused(bad, "a rank cannot run this: its GPU lacks it");
    }
    return {};
}

} // namespace detreduce::nccl::detail
