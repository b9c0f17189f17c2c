// States of plans: what is said about them, and how many words they have.
#include <detreduce/states.hpp>

#include "check_arrays.hpp"
#include "check_pointer.hpp"
#include "cuda_call.hpp"
#include "host/arena.hpp"
#include "host/backend.hpp"
#include "state_form.hpp"

namespace detreduce {
namespace {

Status check_states(const char* argument, const Plan& plan, const std::int64_t* states) {
    if (states == nullptr && plan.groups() > 0) return invalid(argument, "must not be null");
    return misaligned(states, 8) ? invalid(argument, "must be aligned to 8 bytes") : Status{};
}

Status check_plan(const Plan& plan) {
    if (!plan.status().ok() || plan.request().state) return plan.status();
    return invalid("plan", "must be that of a request for states");
}

Status status_of(std::uint64_t bad_group) {
    if (bad_group == Status::no_element) return {};
    return invalid("states",
                   "is no state of this plan, or beyond the headroom; allowed are states of at most 2^62 elements",
                   bad_group);
}

bool on_cuda(const Plan& plan) {
    return plan.request().device.backend == Backend::cuda;
}
Status enqueue(const Plan& plan, std::int64_t* states, const std::int64_t* others, void* out, Stream stream) {
    return plan.groups() == 0 ? Status{}
                              : cuda::call(&cuda::Functions::enqueue_states, plan, states, others, out, stream);
}

} // namespace

std::uint64_t Plan::state_words() const noexcept {
    if (!request_.state) return 0;
    const OpInfo& op = info(request_.op);
    constexpr std::uint64_t words = acc::exact::words;
    const std::uint64_t last = detail::has_joined_products(request_) ? acc::exact::joined_words : words;
    switch (op.kind) {
    case Kind::sum:
        return last;
    case Kind::moments:
        return words + last;
    case Kind::order:
        return op.gives_integer || op.results == 2 ? 2 : 1;
    default:
        return 1;
    }
}

StateMerge state_merge(const Plan& plan) noexcept {
    const OpInfo& op = info(plan.request().op);
    if (op.kind != Kind::order) return StateMerge::sum;
    return op.gives_integer ? StateMerge::pair : StateMerge::max;
}

Status merge(const Plan& plan, std::int64_t* states, const std::int64_t* others, Stream stream) noexcept {
    if (const Status bad = check_plan(plan); !bad.ok()) return bad;
    if (const Status bad = check_states("states", plan, states); !bad.ok()) return bad;
    if (const Status bad = check_states("others", plan, others); !bad.ok()) return bad;
    if (on_cuda(plan)) return enqueue(plan, states, others, nullptr, stream);
    return status_of(host::merge_states(plan, states, others));
}

Status normalize(const Plan& plan, std::int64_t* states, Stream stream) noexcept {
    if (const Status bad = check_plan(plan); !bad.ok()) return bad;
    if (const Status bad = check_states("states", plan, states); !bad.ok()) return bad;
    if (on_cuda(plan)) return enqueue(plan, states, nullptr, nullptr, stream);
    return status_of(host::normalize_states(plan, states));
}

Status finish(const Plan& plan, const std::int64_t* states, void* out, Stream stream) noexcept {
    if (const Status bad = check_plan(plan); !bad.ok()) return bad;
    if (const Status bad = check_states("states", plan, states); !bad.ok()) return bad;
    if (out == nullptr && plan.results() > 0) return invalid("out", "must not be null");
    if (const Status bad = check_out(plan, out); !bad.ok()) return bad;
    if (on_cuda(plan)) return enqueue(plan, const_cast<std::int64_t*>(states), nullptr, out, stream); // only read
    const host::ArenaScope arena;
    if (const Status bad = arena.status(); !bad.ok()) return bad;
    return status_of(host::finish_states(plan, states, out));
}

} // namespace detreduce
