#include "host/partial.hpp"

#include "host/arena.hpp"
#include "host/fp_environment.hpp"
#include "host/multiset/multiset.hpp"

namespace detreduce::host {
namespace {

template <class Found, class Any>
Found& of_kind(Any& any) {
    if (!std::holds_alternative<Found>(any)) any = Found{};
    return *std::get_if<Found>(&any);
}

} // namespace

bool Partial::can(const Request& request) noexcept {
    if (request.shape != Shape::flat || request.device.backend != Backend::cpu) return false;
    const Kind kind = info(request.op).kind;
    if (kind == Kind::order || request.op == Op::count_nonzero) return true; // the same by every method
    return request.method == Method::exact && (kind == Kind::sum || kind == Kind::moments);
}

Partial::Partial(const Request& request) noexcept : request_(request) {
    request_.method = Method::exact;
    request_.output = std::nullopt;
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
    with_multiset_op(plan, [&]<class Op>(const Op& op) {
        typename Op::Found part{};
        with_dtype(request_.dtype, [&]<class T>(T) {
            gather(op, part, Arrays<T>{static_cast<const T*>(x), static_cast<const T*>(y), n}, plan.launch().threads);
        });
        op.merge(of_kind<typename Op::Found>(found_), part, count_);
    });
    count_ += n;
    return {};
}

void Partial::finish(const Plan& plan, void* out) noexcept {
    const StandardFpEnvironment environment;
    with_multiset_op(plan, [&]<class Op>(const Op& op) { op.store(of_kind<typename Op::Found>(found_), count_, out); });
}

} // namespace detreduce::host
