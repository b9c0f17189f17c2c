// How what parts of groups found becomes results: by large groups, by one group, or by tensors.
#pragma once

#include <cstdint>

#include <detreduce/plan.hpp>
#include <detreduce/spec/order_key.hpp>

#include "sequence/launch.hpp"
#include "groups/groups.hpp"
#include "groups/parts.hpp"
#include "multiset/found.hpp"
#include "tensors/list.hpp"
#include "state_form.hpp"

namespace detreduce::cuda::multiset {

struct Results {
    void* out;
    DType output;
    std::uint32_t bytes;       ///< of a value
    bool integer;              ///< indices or counts
    std::uint32_t state_words; ///< unless 0, states are wanted: so many words a group
    std::uint64_t first_index; ///< of a group here, for states
    spec::StateKey keys[2];    ///< of states

    [[nodiscard]] static Results of(const Plan& plan, void* out) {
        const Request& r = plan.request();
        return {out,
                plan.output(),
                static_cast<std::uint32_t>(plan.result_bytes()),
                plan.result_is_integer(),
                static_cast<std::uint32_t>(plan.state_words()),
                r.first_index,
                {detail::state_key(r, 0), detail::state_key(r, 1)}};
    }
};

/// What keys mean: those of elements of `dtype`, compared in these ways.
struct Views {
    DType dtype;
    NanPolicy nan;
    spec::View view[2]; ///< of the first key and, of minmax, of the second

    [[nodiscard]] static Views of(const Request& r, DType dtype) {
        return {dtype, r.nan, {r.op == Op::minmax ? spec::View::minimum : spec::view_of(r.op), spec::View::maximum}};
    }
};

/// The groups that blocks join.
struct JoinWork {
    /// Parts first … first + parts − 1 are of `length` elements each; the first begins with element
    /// `begin`, which may be less than 0.
    struct Group {
        std::uint64_t result, first, parts, begin, length;
    };
    const LargeGroup* large = nullptr; ///< unless null, groups cut into work items
    const std::uint64_t* large_count = nullptr;
    std::uint64_t item_length = 1;
    const TensorEntry* tensors = nullptr; ///< unless null, the tensors of a list
    std::uint64_t count = 1;
    Group one{};            ///< else the first group; others have no parts, as it then has
    Found empty{};          ///< what there is of those without parts
    Found* known = nullptr; ///< unless null, what is known of more than this, as of doubles: it is
                            ///< joined to that
    bool first = false;     ///< nothing is known yet

    [[nodiscard]] DETREDUCE_HD std::uint64_t groups() const { return large != nullptr ? *large_count : count; }
    [[nodiscard]] DETREDUCE_HD Group group(std::uint64_t i) const {
        if (large != nullptr) {
            return {large[i].group, large[i].first, spec::tiles(large[i].n, item_length), 0, item_length};
        }
        if (tensors != nullptr) { // indices were those in the list
            return {tensors[i].index, tensors[i].first, tensors[i].blocks, std::uint64_t{0} - tensors[i].second, 0};
        }
        return {one.result + i, one.first, one.parts, 0, 0};
    }
};

/// How a join is launched.
struct JoinLaunch {
    std::uint32_t blocks, threads;
    bool early; ///< the kernel before it lets it start early
};

/// By a block each. `dtype`: of the keys.
[[nodiscard]] Status join(const Run& run, DType dtype, const Found* found, const JoinWork& work, const Results& results,
                          const JoinLaunch& launch);
/// By a thread each.
[[nodiscard]] Status join_parts(const Request& r, const Found* found, const Parts& parts, const Results& results,
                                Stream stream);

} // namespace detreduce::cuda::multiset
