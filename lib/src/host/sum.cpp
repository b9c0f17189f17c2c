// The three ways to add on the CPU.
#include <omp.h>

#include <algorithm>
#include <atomic>

#include <detreduce/fp/bits.hpp>

#include "host/backend.hpp"
#include "host/fp_environment.hpp"
#include "host/levels.hpp"
#include "host/tile.hpp"

namespace detreduce::host {
namespace {

template <class T>
TileFn<T> tile_function(Isa isa) {
    if constexpr (sizeof(T) == 4) {
        return tile_table(isa).f32;
    } else {
        return tile_table(isa).f64;
    }
}

/// f(i) for every i < count, by `threads` threads. With one, OpenMP is left alone: it would allocate.
template <class F>
void for_each(std::uint64_t count, std::uint32_t threads, const F& f) {
    if (threads == 1 || count == 1) {
        for (std::uint64_t i = 0; i < count; ++i)
            f(i);
        return;
    }
#pragma omp parallel num_threads(static_cast <int>(std::min <std::uint64_t>(threads, count)))
    {
        const StandardFpEnvironment environment;
#pragma omp for schedule(static)
        for (std::uint64_t i = 0; i < count; ++i)
            f(i);
    }
}

template <class T>
acc::Rounded<T> tree(const T* x, std::uint64_t n, const Launch& launch) {
    using Order = spec::TreeOrder<sizeof(T)>;
    using Acc = acc::Rounded<T>;
    const TileFn<T> tile = tile_function<T>(launch.isa);
    if (n <= Order::tile) return tile(x, static_cast<std::uint32_t>(n));

    Levels<Acc, Order> levels;
    const std::uint64_t all = spec::tiles(n, Order::tile);
    for (std::uint64_t first = 0; first < all; first += Order::tile) {
        const std::uint64_t count = std::min<std::uint64_t>(Order::tile, all - first);
        Acc* const out = levels.next();
        for_each(count, launch.threads, [&](std::uint64_t i) {
            const std::uint64_t begin = (first + i) * Order::tile;
            out[i] = tile(x + begin, static_cast<std::uint32_t>(std::min<std::uint64_t>(Order::tile, n - begin)));
        });
        levels.take(count);
    }
    return levels.finish();
}

template <class T>
acc::Rounded<T> serial(const T* x, std::uint64_t n) {
    acc::Rounded<T> a = acc::Rounded<T>::absent();
    for (std::uint64_t i = 0; i < n; ++i)
        a.add(x[i]);
    return a;
}

/// Blocks are handed to whichever thread comes first, and meet in one atomic.
template <class T>
acc::Rounded<T> atomic(const T* x, std::uint64_t n, const Launch& launch) {
    using Order = spec::TreeOrder<sizeof(T)>;
    const TileFn<T> tile = tile_function<T>(launch.isa);
    T total = 0;
    const std::uint64_t all = spec::tiles(n, Order::tile);
    std::atomic<std::uint64_t> next{0};
    const std::uint64_t workers = std::min<std::uint64_t>(launch.threads, all);
    for_each(workers, launch.threads, [&](std::uint64_t) {
        for (std::uint64_t i = next++; i < all; i = next++) {
            const std::uint64_t begin = i * Order::tile;
            const auto m = static_cast<std::uint32_t>(std::min<std::uint64_t>(Order::tile, n - begin));
            std::atomic_ref<T>(total).fetch_add(tile(x + begin, m).sum, std::memory_order_relaxed);
        }
    });
    return {total};
}

template <class T>
DETREDUCE_OPAQUE T compute(Method method, const T* x, std::uint64_t n, const Launch& launch) {
    switch (method) {
    case Method::tree:
        return fp::canonical(tree(x, n, launch).finish());
    case Method::serial:
        return fp::canonical(serial(x, n).finish());
    case Method::atomic:
        return fp::canonical(atomic(x, n, launch).finish());
    }
    return fp::from_bits<T>(fp::Format<T>::canonical_nan); // not reached: the plan knows the methods
}

} // namespace

std::uint32_t default_threads(std::uint64_t n, std::size_t element_bytes) noexcept {
    constexpr std::uint64_t worth_a_thread = std::uint64_t{512} << 10; // bytes; less does not pay for its start-up
    const std::uint64_t useful = std::max<std::uint64_t>(1, n * element_bytes / worth_a_thread);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(static_cast<std::uint64_t>(omp_get_max_threads()), 1,
                                                                std::min<std::uint64_t>(useful, max_threads)));
}

template <class T>
T reduce_sum(Method method, const T* x, std::uint64_t n, const Launch& launch) noexcept {
    if (n == 0) return T(0);
    const StandardFpEnvironment environment;
    return compute(method, x, n, launch);
}

template float reduce_sum<float>(Method, const float*, std::uint64_t, const Launch&) noexcept;
template double reduce_sum<double>(Method, const double*, std::uint64_t, const Launch&) noexcept;

} // namespace detreduce::host
