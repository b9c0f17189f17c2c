// The ways to add on the CPU.
#include <omp.h>

#include <algorithm>
#include <atomic>

#include <detreduce/acc/finish.hpp>
#include <detreduce/exact_state.hpp>

#include "host/backend.hpp"
#include "host/fp_environment.hpp"
#include "host/levels.hpp"
#include "host/isa_table.hpp"

namespace detreduce::host {
namespace {

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

/// The words of `exact`, as an accumulator.
struct Digits {
    const acc::exact::Word* words;
    template <class T>
    [[nodiscard]] T finish() const {
        return acc::exact::round<T>(words);
    }
};

template <class Acc, class T>
Acc tree(const T* x, std::uint64_t n, const Launch& launch) {
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

template <class T>
auto serial(const T* x, std::uint64_t n) {
    auto a = acc::Rounded<fp::Arithmetic<T>>::absent();
    for (std::uint64_t i = 0; i < n; ++i)
        a.add(fp::widen(x[i]));
    return a;
}

/// Blocks are handed to whichever thread comes first, and meet in one atomic.
template <class T>
auto atomic(const T* x, std::uint64_t n, const Launch& launch) {
    using Order = spec::TreeOrder<sizeof(T)>;
    using V = fp::Arithmetic<T>;
    const auto tile = isa_table(launch.isa).of<T>().rounded;
    V total = 0;
    const std::uint64_t all = spec::tiles(n, Order::tile);
    std::atomic<std::uint64_t> next{0};
    const std::uint64_t workers = std::min<std::uint64_t>(launch.threads, all);
    for_each(workers, launch.threads, [&](std::uint64_t) {
        for (std::uint64_t i = next++; i < all; i = next++) {
            const std::uint64_t begin = i * Order::tile;
            const auto m = static_cast<std::uint32_t>(std::min<std::uint64_t>(Order::tile, n - begin));
            std::atomic_ref<V>(total).fetch_add(tile(x + begin, m).sum, std::memory_order_relaxed);
        }
    });
    return acc::Rounded<V>{total};
}

/// Each thread takes a run of elements into words of its own, and adds them to the caller's.
template <class T>
void exact(const T* x, std::uint64_t n, acc::exact::Word* words, const Launch& launch) {
    const auto add = isa_table(launch.isa).of<T>().exact;
    if (launch.threads == 1) return add(x, n, words);
    acc::exact::normalize(words);
    const std::uint64_t run = std::max<std::uint64_t>(1, (n + launch.threads - 1) / launch.threads);
    for_each((n + run - 1) / run, launch.threads, [&](std::uint64_t i) {
        acc::exact::Word own[acc::exact::words] = {};
        add(x + i * run, std::min<std::uint64_t>(run, n - i * run), own);
        for (int w = 0; w < acc::exact::words; ++w) {
            if (own[w] != 0) std::atomic_ref(words[w]).fetch_add(own[w], std::memory_order_relaxed);
        }
    });
    acc::exact::normalize(words);
}

template <class T>
DETREDUCE_OPAQUE void add(const T* x, std::uint64_t n, acc::exact::Word* words, const Launch& launch) {
    exact(x, n, words, launch);
}

template <class T>
DETREDUCE_OPAQUE void compute(Method method, const T* x, std::uint64_t n, DType output, void* out,
                              const Launch& launch) {
    using V = fp::Arithmetic<T>;
    switch (method) {
    case Method::tree:
        return acc::finish_into(out, output, tree<acc::Rounded<V>>(x, n, launch));
    case Method::kahan:
        return acc::finish_into(out, output, tree<acc::Kahan<V>>(x, n, launch));
    case Method::compensated:
        return acc::finish_into(out, output, tree<acc::Compensated<V>>(x, n, launch));
    case Method::serial:
        return acc::finish_into(out, output, serial(x, n));
    case Method::atomic:
        return acc::finish_into(out, output, atomic(x, n, launch));
    case Method::exact: {
        ExactState state;
        exact(x, n, state.words().data(), launch);
        return acc::finish_into(out, output, Digits{state.words().data()});
    }
    }
}

} // namespace

std::uint32_t default_threads(std::uint64_t n, std::size_t element_bytes) noexcept {
    constexpr std::uint64_t worth_a_thread = std::uint64_t{512} << 10; // bytes; less does not pay for its start-up
    const std::uint64_t useful = std::max<std::uint64_t>(1, n * element_bytes / worth_a_thread);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(static_cast<std::uint64_t>(omp_get_max_threads()), 1,
                                                                std::min<std::uint64_t>(useful, max_threads)));
}

void reduce_sum(Method method, DType dtype, const void* x, std::uint64_t n, DType output, void* out,
                const Launch& launch) noexcept {
    const StandardFpEnvironment environment;
    if (n == 0) {
        acc::finish_into(out, output, acc::Rounded<float>{0.0f});
    } else {
        with_dtype(dtype, [&]<class T>(T) { compute(method, static_cast<const T*>(x), n, output, out, launch); });
    }
}

void add_exact(DType dtype, const void* x, std::uint64_t n, acc::exact::Word* words, const Launch& launch) noexcept {
    const StandardFpEnvironment environment;
    with_dtype(dtype, [&]<class T>(T) { add(static_cast<const T*>(x), n, words, launch); });
}

} // namespace detreduce::host
