#include "host/partial.hpp"

#include <detreduce/acc/finish.hpp>

#include "host/arena.hpp"
#include "host/backend.hpp"
#include "host/fp_environment.hpp"

namespace detreduce::host {

bool Partial::can(const Request& request) noexcept {
    if (request.shape != Shape::flat || request.device.backend != Backend::cpu) return false;
    const Kind kind = info(request.op).kind;
    if (kind == Kind::order || request.op == Op::count_nonzero) return true; // the same by every method
    return request.method == Method::exact && (kind == Kind::sum || kind == Kind::moments);
}

Partial::Partial(const Request& request) noexcept
    : request_(request), view_(spec::ListView::of(request.op, request.nan)) {
    request_.method = Method::exact;
    request_.output = std::nullopt;
    request_.shape = Shape::tensors; // each part is a list of one
    request_.ddof = 0;
}

Status Partial::add(const void* x, const void* y, std::uint64_t n) noexcept {
    if (n == 0) return {};
    request_.n = n;
    const Plan plan = make_plan(request_);
    if (!plan.status().ok()) return plan.status();
    const ArenaScope arena;
    if (const Status bad = arena.status(); !bad.ok()) return bad;
    const StandardFpEnvironment environment;
    const Tensor tensor{x, n, request_.dtype}, with{y, n, request_.dtype};
    switch (info(request_.op).kind) {
    case Kind::sum:
        add_tensors(plan, {&tensor, y == nullptr ? nullptr : &with}, terms_);
        break;
    case Kind::moments:
        add_moments(plan, tensor, powers_);
        break;
    default: {
        spec::ListFound part = find_in(plan, tensor, view_);
        if (!view_.counts) part.integer += count_; // an index in the whole
        found_.merge(part, view_.counts);
    }
    }
    count_ += n;
    return {};
}

void Partial::finish(const Plan& plan, void* out) noexcept {
    const StandardFpEnvironment environment;
    const OpInfo& op = info(request_.op);
    if (op.kind == Kind::sum) {
        acc::store_as(out, plan.output(),
                      [&](auto t) { return acc::exact::round_products<decltype(t)>(terms_, op.finalize); });
    } else if (op.kind == Kind::moments) {
        finish_moments(plan, count_, powers_, out);
    } else {
        view_.store(found_, out, plan.output(), plan.result_bytes());
    }
}

} // namespace detreduce::host
