// Products on the CPU: the order of sums, with the accumulators of acc/product.hpp.
#include <algorithm>

#include <detreduce/acc/product.hpp>

#include "host/backend.hpp"
#include "host/for_each.hpp"
#include "host/fp_environment.hpp"
#include "host/isa_table.hpp"
#include "host/levels.hpp"

namespace detreduce::host {
namespace {

/// n ≥ 1.
template <class Acc, class T>
Acc in_tree_order(const T* x, std::uint64_t n, const Launch& launch) {
    using Order = spec::TreeOrder<sizeof(T)>;
    using Above = spec::TreeOrder<sizeof(typename Acc::Value)>;
    const auto tile = isa_table(launch.isa).of<T>().tile(static_cast<const Acc*>(nullptr));
    if (n <= Order::tile) return tile(x, static_cast<std::uint32_t>(n));

    Levels<Acc, Above, spec::tiles(max_n, Order::tile) * Above::tile> levels;
    const std::uint64_t all = spec::tiles(n, Order::tile);
    for (std::uint64_t first = 0; first < all; first += Above::tile) {
        const std::uint64_t count = std::min<std::uint64_t>(Above::tile, all - first);
        Acc* const out = levels.next();
        for_each(count, launch.threads, [&](std::uint64_t i) {
            const std::uint64_t begin = (first + i) * Order::tile;
            out[i] = tile(x + begin, static_cast<std::uint32_t>(std::min<std::uint64_t>(Order::tile, n - begin)));
        });
        levels.take(count);
    }
    return levels.finish();
}

template <class Acc, class T>
Acc one_after_the_other(const T* x, std::uint64_t n) {
    Acc product = Acc::absent();
    for (std::uint64_t i = 0; i < n; ++i)
        product.add(fp::widen(x[i]));
    return product;
}

template <class T>
DETREDUCE_OPAQUE void multiply_elements(const Plan& plan, const T* x, void* out) {
    using V = fp::Arithmetic<T>;
    using Rounded = acc::Product<V, false>;
    using Compensated = acc::Product<V, true>;
    const Request& r = plan.request();
    const auto finish = [&](const auto& product) { acc::finish_into(out, plan.output(), product); };
    if (r.n == 0) return finish(Rounded::absent());
    if (r.method == Method::serial) return finish(one_after_the_other<Rounded>(x, r.n));
    if (r.method == Method::compensated) return finish(in_tree_order<Compensated>(x, r.n, plan.launch()));
    finish(in_tree_order<Rounded>(x, r.n, plan.launch()));
}

} // namespace

void multiply(const Plan& plan, const void* x, void* out) noexcept {
    with_dtype(plan.request().dtype, [&]<class T>(T) { multiply_elements(plan, static_cast<const T*>(x), out); });
}

} // namespace detreduce::host
