// The sequence engine: every op whose additions, multiplications or merges have an order, by every
// method but `exact`.
#include <algorithm>
#include <atomic>

#include <detreduce/acc/finish.hpp>

#include "host/backend.hpp"
#include "host/fp_environment.hpp"
#include "host/sequence/sequence.hpp"

namespace detreduce::host {
namespace {

/// f(accumulator) for that of an op of this kind; null, and there for its type.
template <class V, class F>
void with_accumulator(Kind kind, Method method, const F& f) {
    if (kind == Kind::moments) return f(static_cast<const acc::CountedMoments<V>*>(nullptr));
    if (kind != Kind::product) return detreduce::with_accumulator<V>(method, f);
    if (method == Method::compensated) return f(static_cast<const acc::Product<V, true>*>(nullptr));
    f(static_cast<const acc::Product<V, false>*>(nullptr));
}

/// One after the other.
template <class Acc, class Source>
Acc serial(const Source& source) {
    constexpr std::uint64_t at_once = 1024;
    const Buffer<typename Acc::Value> values(at_once);
    Acc all = Acc::identity();
    for (std::uint64_t i = 0; i < source.size(); i += at_once) {
        const auto m = static_cast<std::uint32_t>(std::min(at_once, source.size() - i));
        source.write(i, m, values.data(), nullptr);
        for (std::uint32_t k = 0; k < m; ++k)
            all.merge(Acc::of(values[k]));
    }
    return all;
}

/// Tiles are handed to whichever thread comes first, and meet in one atomic.
template <class Acc, class Source>
Acc atomic(const Source& source, std::uint32_t threads) {
    constexpr std::uint64_t size = spec::TreeOrder<sizeof(typename Source::Element)>::tile;
    typename Acc::Value total = 0;
    std::atomic<std::uint64_t> next{0};
    for_each(std::min<std::uint64_t>(threads, spec::tiles(source.size(), size)), threads, [&](std::uint64_t) {
        for (std::uint64_t i = size * next++; i < source.size(); i = size * next++) {
            const auto m = static_cast<std::uint32_t>(std::min(size, source.size() - i));
            std::atomic_ref(total).fetch_add(source.template tile<Acc>(i, m).sum, std::memory_order_relaxed);
        }
    });
    return {total};
}

template <class Acc, class Source>
Acc reduce_by(Method method, const Source& source, std::uint32_t threads) {
    if (method == Method::serial) return serial<Acc>(source);
    if constexpr (std::is_same_v<Acc, acc::Rounded<typename Acc::Value>>) {
        if (method == Method::atomic) return atomic<Acc>(source, threads);
    }
    return tree<Acc>(source, threads);
}

/// What was reduced of n terms, as the result or the two of moments.
template <class Acc>
void store(const Plan& plan, const OpInfo& op, const Acc& all, std::uint64_t n, void* out) {
    const Request& r = plan.request();
    if constexpr (acc::is_moments<Acc>) {
        acc::MomentsResult{out, plan.output(), static_cast<std::uint32_t>(plan.result_bytes()), r.op, n, r.ddof}.store(
            all.m);
    } else if constexpr (acc::is_product<Acc>) {
        acc::finish_into(out, plan.output(), all);
    } else if (std::is_same_v<Acc, acc::Rounded<typename Acc::Value>> && op.finalize == Finalize::sum &&
               plan.output() == dtype_of<typename Acc::Value> && n > 0) {
        // What finish_into() gives, in a few instructions: groups may be short.
        *static_cast<typename Acc::Value*>(out) = fp::canonical(all.sum);
    } else { // the sum of nothing is +0, and its mean 0/0
        acc::finish_into(out, plan.output(), n == 0 ? fp::Eft<double>{0.0, 0.0} : all.total(), op.finalize, n);
    }
}

/// f(accumulator, reduce) for reduce(source, threads, out), which reduces elements of T.
template <class T, class F>
void with_reduction(const Plan& plan, const F& f) {
    const OpInfo& op = info(plan.request().op);
    const Method method = plan.request().method;
    with_accumulator<fp::Arithmetic<T>>(op.kind, method, [&]<class Acc>(const Acc* acc) {
        f(acc, [&](const auto& source, std::uint32_t threads, void* out) {
            const std::uint64_t n = source.size();
            store(plan, op, n == 0 ? Acc::identity() : reduce_by<Acc>(method, source, threads), n, out);
        });
    });
}

/// Groups of equal lengths, some neighbours at once; false where for_each_group() has to.
template <class Acc, class T>
bool reduce_neighbours(const Plan& plan, const IsaFunctions<T>& isa, const Inputs& in, void* out) {
    using Tiles = TileFunctions<T, Acc>;
    const Request& r = plan.request();
    const OpInfo& op = info(r.op);
    const Tiles& tiles = isa.tiles.template of<Acc>();
    const std::uint64_t groups = plan.groups();
    const std::uint32_t threads = plan.launch().threads;
    if (groups < 2 || r.n == 0) return false;
    if (r.method == Method::serial || r.method == Method::atomic) return false;
    const T* const x = static_cast<const T*>(in.x);
    const detail::Strides strides = detail::strides_of(r);
    const std::size_t bytes = detail::group_bytes(plan);
    const auto store_all = [&](const Acc* found, std::uint64_t first, std::uint64_t count) {
        if constexpr (std::is_same_v<Acc, acc::Rounded<typename Acc::Value>>) {
            if (op.finalize == Finalize::sum && plan.output() == dtype_of<T>) { // all at once: groups may be short
                static_assert(sizeof(Acc) == sizeof(typename Acc::Value));
                return isa.rounded(&found->sum, static_cast<std::uint32_t>(count), static_cast<T*>(out) + first);
            }
        }
        for (std::uint64_t i = 0; i < count; ++i)
            store(plan, op, found[i], r.n, static_cast<char*>(out) + (first + i) * bytes);
    };
    constexpr std::uint64_t tile = spec::TreeOrder<sizeof(T)>::tile;
    const bool as_they_are = tiles.rows != nullptr && op.transform == Transform::element;
    if (!detail::is_across(r.shape)) {
        if (r.shape != Shape::rows || r.n > tile || !as_they_are) return false;
        const std::uint64_t at_once = std::min<std::uint64_t>(64, spec::tiles(groups, threads));
        for_each(spec::tiles(groups, static_cast<std::uint32_t>(at_once)), threads, [&](std::uint64_t block) {
            const std::uint64_t first = block * at_once, count = std::min(at_once, groups - first);
            const Buffer<Acc> found(count);
            tiles.rows(x + first * strides.group, strides.group, static_cast<std::uint32_t>(r.n),
                       static_cast<std::uint32_t>(count), found.data());
            store_all(found.data(), first, count);
        });
        return true;
    }
    using Strip = ColumnStrip<T, Acc>;
    using Above = spec::TreeOrder<sizeof(typename Acc::Value)>;
    constexpr std::uint64_t line = 64 / sizeof(T), room_for_tiles = (std::size_t{128} << 10) / sizeof(Acc);
    const std::uint64_t count = spec::tiles(r.n, tile);
    if (!as_they_are && r.n <= tile) return false; // for_each_group() copies such columns as a whole
    std::uint64_t width = std::min<std::uint64_t>(
        as_they_are ? Strip::columns : columns_at_once<T>(tile, op.inputs, count * sizeof(Acc), max_groups), groups);
    if (width == 0) return false;
    while (width > line &&
           (width * count > room_for_tiles || spec::tiles(groups, static_cast<std::uint32_t>(width)) * count < threads))
        width /= 2;
    if (count > Above::tile || width * count > room_for_tiles) return false;
    const auto reduce_strip = [&](std::uint64_t strip, std::uint32_t together) {
        const std::uint64_t first = strip * width, columns = std::min(width, groups - first);
        const Buffer<Acc> found(count * columns);
        for_each(count, together, [&](std::uint64_t t) {
            if (!as_they_are) {
                const Arrays<T> all = group_of<T>(plan, in, first);
                return for_each_column(all.part(t * tile, tile), columns, [&](std::uint64_t c, const Arrays<T>& part) {
                    const auto m = static_cast<std::uint32_t>(part.n);
                    found[t * columns + c] = Elements<T>{isa, op.transform, part}.template tile<Acc>(0, m);
                });
            }
            const Buffer<std::byte> room(Strip::room);
            const std::uint64_t m = std::min(tile, r.n - t * tile);
            const T* const from = x + first + t * tile * strides.element;
            tiles.columns(from, strides.element, static_cast<std::uint32_t>(m), static_cast<std::uint32_t>(columns),
                          t + 1 < count ? from + tile * strides.element : x + first + columns, room.data(),
                          found.data() + t * columns);
        });
        for (std::uint64_t c = 0; count > 1 && c < columns; ++c) {
            const Buffer<Acc> items(count);
            for (std::uint64_t t = 0; t < count; ++t)
                items[t] = found[t * columns + c];
            found[c] = reduce_accumulators<Acc, Above>(items.data(), count);
        }
        store_all(found.data(), first, columns);
    };
    const std::uint64_t strips = spec::tiles(groups, static_cast<std::uint32_t>(width));
    for_each_or_together(strips, strips >= count ? 1 : count, threads, reduce_strip);
    return true;
}

} // namespace

DETREDUCE_OPAQUE void reduce_sequences(const Plan& plan, const Inputs& in, void* out) noexcept {
    const Transform transform = info(plan.request().op).transform;
    with_dtype(plan.request().dtype, [&]<class T>(T) {
        const IsaFunctions<T>& isa = isa_table(plan.launch().isa).of<T>();
        with_reduction<T>(plan, [&]<class Acc>(const Acc*, const auto& reduce) {
            if (reduce_neighbours<Acc>(plan, isa, in, out)) return;
            for_each_group<T>(plan, in, out, [&](std::uint32_t threads, const Arrays<T>& group, void* result) {
                reduce(Elements<T>{isa, transform, group}, threads, result);
            });
        });
    });
}

DETREDUCE_OPAQUE void reduce_computed_sequence(const Plan& plan, const detail::TermSource& source, void* out) noexcept {
    with_dtype(plan.request().dtype, [&]<class T>(T) {
        const IsaFunctions<T>& isa = isa_table(plan.launch().isa).of<T>();
        with_reduction<T>(plan, [&](const auto*, const auto& reduce) {
            reduce(ComputedTerms<T>{isa, source, plan.request().n}, plan.launch().threads, out);
        });
    });
}

} // namespace detreduce::host
