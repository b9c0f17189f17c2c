// What all ranks of a reduction by many must ask for, whoever brings it to them. mpi.hpp and
// nccl.hpp include this.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <detreduce/plan.hpp>

namespace detreduce::detail {

/// What must be the same everywhere, and its name.
struct RankField {
    const char* name;
    std::int64_t value;
};
inline constexpr std::size_t rank_fields = 11;

/// `most_words`: of one message.
[[nodiscard]] inline std::array<RankField, rank_fields> fields_of(const Request& r, std::uint64_t most_words) {
    const auto number = [](std::uint64_t n) { // any that is too large is as bad as another
        return static_cast<std::int64_t>(std::min(n, std::uint64_t{1} << 62));
    };
    return {{{"op", static_cast<std::int64_t>(r.op)},
             {"method", static_cast<std::int64_t>(r.method)},
             {"dtype", static_cast<std::int64_t>(r.dtype)},
             {"output", r.output ? static_cast<std::int64_t>(*r.output) : -1},
             {"shape", static_cast<std::int64_t>(r.shape)},
             {"groups", number(r.shape == Shape::tensors && !r.each ? 1 : r.groups)},
             {"device.backend", static_cast<std::int64_t>(r.device.backend)},
             {"nan", static_cast<std::int64_t>(r.nan)},
             {"each", r.each},
             {"ddof", number(r.ddof)},
             {"most_words", number(most_words)}}};
}

/// Field `name` is not what it is on rank 0: on rank `rank`, or, no_element, on some rank.
[[nodiscard]] constexpr Status differs(const char* name, std::uint64_t rank = Status::no_element) {
    return {StatusCode::invalid_argument, name, "must be the same on every rank", 0, rank};
}
[[nodiscard]] constexpr Status no_room_somewhere() {
    return {StatusCode::out_of_memory, "groups", "a rank lacks the memory for the states of so many groups"};
}
[[nodiscard]] constexpr Status no_room_for_fingerprints() {
    return {StatusCode::out_of_memory, "tensors", "a rank has no room for so many fingerprints"};
}
[[nodiscard]] constexpr Status other_list() {
    return {StatusCode::invalid_argument, "list", "that of another rank was refused, which knows why"};
}
/// What is wrong with a rank's request: the same everywhere, unless `lacks` says what that one
/// lacks.
[[nodiscard]] inline Status refused(const Request& bad, const char* lacks) noexcept {
    const Status said = make_plan(bad).status();
    return said.ok() ? Status{StatusCode::unsupported, "launch", lacks} : said;
}
[[nodiscard]] constexpr Status no_such_root() {
    return {StatusCode::invalid_argument, "root", "allowed are the ranks of the communicator"};
}
[[nodiscard]] constexpr Status moved_from() {
    return {StatusCode::invalid_argument, "plan", "must not have been moved from"};
}

/// What the plans of all reductions by many have. One that was moved from has a status that is not
/// ok.
template <class Comm>
class RankPlan {
  public:
    [[nodiscard]] const Status& status() const noexcept { return status_; }
    /// That of this rank's states.
    [[nodiscard]] const Plan& states() const noexcept { return plan_; }
    [[nodiscard]] Comm comm() const noexcept { return comm_; }
    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return size_; }

  protected:
    explicit RankPlan(Comm none) noexcept : comm_(none), none_(none) {}
    RankPlan(RankPlan&& other) noexcept
        : plan_(other.plan_), comm_(std::exchange(other.comm_, other.none_)), none_(other.none_), rank_(other.rank_),
          size_(other.size_), status_(std::exchange(other.status_, moved_from())) {}
    RankPlan& operator=(RankPlan&& other) noexcept {
        plan_ = other.plan_;
        comm_ = std::exchange(other.comm_, other.none_);
        rank_ = other.rank_;
        size_ = other.size_;
        status_ = std::exchange(other.status_, moved_from());
        return *this;
    }
    ~RankPlan() = default;

    Plan plan_;
    Comm comm_, none_; ///< none_: no communicator
    int rank_ = 0, size_ = 1;
    Status status_;
};

} // namespace detreduce::detail
