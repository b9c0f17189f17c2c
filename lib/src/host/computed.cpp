// Sums of terms that a caller's function computes, into buffers that stay in the cache, a tile at a time: then they are reduced as elements are.
#include <algorithm>
#include <atomic>

#include <detreduce/acc/finish.hpp>
#include <detreduce/transform_reduce.hpp>

#include "host/arena.hpp"
#include "host/backend.hpp"
#include "host/for_each.hpp"
#include "host/fp_environment.hpp"
#include "host/isa_table.hpp"
#include "host/levels.hpp"

namespace detreduce::host {
namespace {

using detail::TermSource;

/// The terms of one tile of elements of T.
template <class Acc, class T>
Acc reduce_tile(const IsaFunctions<T>& isa, const TermSource& source, std::uint64_t first, std::uint32_t m) {
    using V = typename Acc::Value;
    constexpr std::uint32_t room = spec::TreeOrder<sizeof(T)>::tile;
    const Buffer<V> values(room);
    source.write(source, first, m, values.data());
    if constexpr (std::is_same_v<T, V>) {
        return isa.tiles.template of<Acc>().elements(values.data(), m);
    } else { // in the order of 16-bit elements
        const Buffer<V> errors(Acc::keeps_errors ? room : 0);
        if constexpr (Acc::keeps_errors) std::fill_n(errors.data(), m, -V{}); // absent: a term is what it is
        return isa.tiles.template of<Acc>().terms(values.data(), errors.data(), m);
    }
}

template <class Acc, class T>
Acc tree(const TermSource& source, std::uint64_t n, const Launch& launch) {
    using Order = spec::TreeOrder<sizeof(T)>;
    using Above = spec::TreeOrder<sizeof(typename Acc::Value)>;
    const IsaFunctions<T>& isa = isa_table(launch.isa).of<T>();
    const auto tile = [&](std::uint64_t i) {
        const std::uint64_t first = i * Order::tile;
        return reduce_tile<Acc>(isa, source, first,
                                static_cast<std::uint32_t>(std::min<std::uint64_t>(Order::tile, n - first)));
    };
    if (n <= Order::tile) return tile(0);
    Levels<Acc, Above, spec::tiles(max_n, Order::tile) * Above::tile> levels;
    const std::uint64_t all = spec::tiles(n, Order::tile);
    for (std::uint64_t first = 0; first < all; first += Above::tile) {
        const std::uint64_t count = std::min<std::uint64_t>(Above::tile, all - first);
        Acc* const out = levels.next();
        for_each(count, launch.threads, [&](std::uint64_t i) { out[i] = tile(first + i); });
        levels.take(count);
    }
    return levels.finish();
}

/// Terms of V are elements of V to the state, block by block.
template <class V>
void add_exactly(const TermSource& source, std::uint64_t first, std::uint64_t count, acc::exact::Word* words,
                 const Launch& launch) {
    constexpr std::uint64_t block = 65536 / sizeof(V); // so many that normalizing after each costs little
    const auto add = isa_table(launch.isa).of<V>().exact;
    const Buffer<V> terms(block);
    for (std::uint64_t i = 0; i < count; i += block) {
        const auto m = static_cast<std::uint32_t>(std::min(block, count - i));
        source.write(source, first + i, m, terms.data());
        add(terms.data(), m, words);
    }
}

/// Each thread takes a run of elements into words of its own, and adds them to the sum's.
template <class V>
void exact(const TermSource& source, std::uint64_t n, acc::exact::Word* words, const Launch& launch) {
    const std::uint64_t run = std::max<std::uint64_t>(1, (n + launch.threads - 1) / launch.threads);
    for_each((n + run - 1) / run, launch.threads, [&](std::uint64_t i) {
        acc::exact::Word own[acc::exact::words] = {};
        add_exactly<V>(source, i * run, std::min(run, n - i * run), own, launch);
        for (int w = 0; w < acc::exact::words; ++w) {
            if (own[w] != 0) std::atomic_ref(words[w]).fetch_add(own[w], std::memory_order_relaxed);
        }
    });
    acc::exact::normalize(words);
}

template <class T>
DETREDUCE_OPAQUE void compute(const Plan& plan, const TermSource& source, void* out) {
    using V = fp::Arithmetic<T>;
    const std::uint64_t n = plan.request().n;
    const Launch& launch = plan.launch();
    const Finalize finalize = info(plan.request().op).finalize;
    if (n == 0) return acc::finish_into(out, plan.output(), {0.0, 0.0}, Finalize::sum, 0);
    const auto finish = [&](const auto& acc) { acc::finish_into(out, plan.output(), acc.total(), finalize, n); };
    switch (plan.request().method) {
    case Method::kahan:
        return finish(tree<acc::Kahan<V>, T>(source, n, launch));
    case Method::compensated:
        return finish(tree<acc::Compensated<V>, T>(source, n, launch));
    case Method::exact: {
        acc::exact::Word words[acc::exact::words] = {};
        exact<V>(source, n, words, launch);
        return acc::store_as(out, plan.output(),
                             [&](auto t) { return acc::exact::round<decltype(t)>(words, finalize); });
    }
    default: // tree: plan_transform() lets nothing else through
        return finish(tree<acc::Rounded<V>, T>(source, n, launch));
    }
}

} // namespace

void reduce_computed(const Plan& plan, const TermSource& source, void* out) noexcept {
    const StandardFpEnvironment environment;
    with_dtype(plan.request().dtype, [&]<class T>(T) { compute<T>(plan, source, out); });
}

} // namespace detreduce::host
