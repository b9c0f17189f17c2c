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

/// A thread more is worth its start-up only when it gets this many tiles (half a MiB).
constexpr std::uint64_t tiles_per_thread = 16;

int team_size(std::uint64_t tiles, const Launch& launch) {
    const std::uint64_t useful = std::max<std::uint64_t>(1, tiles / tiles_per_thread);
    return static_cast<int>(std::min<std::uint64_t>(launch.threads, useful));
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
#pragma omp parallel num_threads(team_size(count, launch))
        {
            const StandardFpEnvironment environment;
#pragma omp for schedule(static)
            for (std::uint64_t i = 0; i < count; ++i) {
                const std::uint64_t begin = (first + i) * Order::tile;
                out[i] = tile(x + begin, static_cast<std::uint32_t>(std::min<std::uint64_t>(Order::tile, n - begin)));
            }
        }
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
#pragma omp parallel num_threads(team_size(all, launch))
    {
        const StandardFpEnvironment environment;
#pragma omp for schedule(dynamic, 4)
        for (std::uint64_t i = 0; i < all; ++i) {
            const std::uint64_t begin = i * Order::tile;
            const auto m = static_cast<std::uint32_t>(std::min<std::uint64_t>(Order::tile, n - begin));
            std::atomic_ref<T>(total).fetch_add(tile(x + begin, m).sum, std::memory_order_relaxed);
        }
    }
    return {total};
}

} // namespace

std::uint32_t default_threads() noexcept {
    return static_cast<std::uint32_t>(std::max(1, omp_get_max_threads()));
}

template <class T>
T reduce_sum(Method method, const T* x, std::uint64_t n, const Launch& launch) noexcept {
    if (n == 0) return T(0);
    const StandardFpEnvironment environment;
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

template float reduce_sum<float>(Method, const float*, std::uint64_t, const Launch&) noexcept;
template double reduce_sum<double>(Method, const double*, std::uint64_t, const Launch&) noexcept;

} // namespace detreduce::host
