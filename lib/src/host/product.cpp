// Products on the CPU: the order of sums, with the accumulators of acc/product.hpp.
#include <algorithm>

#include <detreduce/acc/product.hpp>

#include "host/backend.hpp"
#include "host/for_each.hpp"
#include "host/fp_environment.hpp"
#include "host/groups.hpp"
#include "host/isa_table.hpp"
#include "host/levels.hpp"

namespace detreduce::host {
namespace {

/// A tile of at most TreeOrder<sizeof(T)>::tile elements.
template <class Acc, class T>
Acc multiply_tile(const Arrays<T>& part, Isa isa) {
    const Neighbours<T> neighbours(part);
    return isa_table(isa).of<T>().tiles.template of<Acc>().elements(neighbours.in.x,
                                                                    static_cast<std::uint32_t>(neighbours.in.n));
}

/// Of 1 or more elements.
template <class Acc, class T>
Acc in_tree_order(const Arrays<T>& in, const Launch& launch) {
    using Order = spec::TreeOrder<sizeof(T)>;
    using Above = spec::TreeOrder<sizeof(typename Acc::Value)>;
    if (in.n <= Order::tile) return multiply_tile<Acc>(in, launch.isa);

    Levels<Acc, Above, spec::tiles(max_n, Order::tile) * Above::tile> levels;
    const std::uint64_t all = spec::tiles(in.n, Order::tile);
    for (std::uint64_t first = 0; first < all; first += Above::tile) {
        const std::uint64_t count = std::min<std::uint64_t>(Above::tile, all - first);
        Acc* const out = levels.next();
        for_each(count, launch.threads, [&](std::uint64_t i) {
            out[i] = multiply_tile<Acc>(in.part((first + i) * Order::tile, Order::tile), launch.isa);
        });
        levels.take(count);
    }
    return levels.finish();
}

template <class Acc, class T>
Acc one_after_the_other(const Arrays<T>& in) {
    Acc product = Acc::identity();
    for (std::uint64_t i = 0; i < in.n; ++i)
        product.add(fp::widen(in.x[i * in.step]));
    return product;
}

template <class T>
DETREDUCE_OPAQUE void multiply_elements(const Plan& plan, const Launch& launch, const Arrays<T>& in, void* out) {
    using V = fp::Arithmetic<T>;
    using Rounded = acc::Product<V, false>;
    using Compensated = acc::Product<V, true>;
    const Method method = plan.request().method;
    const auto finish = [&](const auto& product) { acc::finish_into(out, plan.output(), product); };
    if (in.n == 0) return finish(Rounded::identity());
    if (method == Method::serial) return finish(one_after_the_other<Rounded>(in));
    if (method == Method::compensated) return finish(in_tree_order<Compensated>(in, launch));
    finish(in_tree_order<Rounded>(in, launch));
}

} // namespace

void multiply(const Plan& plan, const Inputs& in, void* out) noexcept {
    with_dtype(plan.request().dtype, [&]<class T>(T) {
        for_each_group<T>(plan, in, out, [&](const Launch& launch, const Arrays<T>& group, void* result) {
            multiply_elements(plan, launch, group, result);
        });
    });
}

} // namespace detreduce::host
