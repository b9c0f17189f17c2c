// count_unique on the CPU.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <utility>

#include <detreduce/spec/unique_key.hpp>

#include "host/backend.hpp"
#include "host/groups.hpp"

namespace detreduce::host {
namespace {

/// One bit for each pattern of 16 bits, none of them set.
struct Patterns {
    static constexpr std::uint32_t size = 1024;
    const Buffer<std::uint64_t> words{size};

    Patterns() { std::fill_n(words.data(), size, 0); }
    void mark(std::uint32_t code) const { words[code / 64] |= std::uint64_t{1} << (code % 64); }
};

/// Of 16 bits: every thread marks the patterns that it sees; those that are one value are put
/// together at the end.
template <class T>
std::uint64_t unique_patterns(const Arrays<T>& in, std::uint32_t threads) {
    const Patterns all, unique;
    for_runs(in.n, threads, threads, [&](std::uint64_t, std::uint64_t begin, std::uint64_t end) {
        const Patterns seen;
        for (std::uint64_t i = begin; i < end; ++i)
            seen.mark(fp::to_bits(in.x[i * in.step]));
        for (std::size_t w = 0; w < Patterns::size; ++w) {
            if (seen.words[w] != 0) std::atomic_ref(all.words[w]).fetch_or(seen.words[w], std::memory_order_relaxed);
        }
    });
    for (std::uint32_t w = 0; w < Patterns::size; ++w) {
        for (std::uint64_t remaining = all.words[w]; remaining != 0; remaining &= remaining - 1) {
            const auto code = w * 64 + static_cast<std::uint32_t>(std::countr_zero(remaining));
            unique.mark(spec::unique_key(fp::from_bits<T>(static_cast<fp::Bits<T>>(code))));
        }
    }
    std::uint64_t count = 0;
    for (std::uint32_t w = 0; w < Patterns::size; ++w)
        count += static_cast<std::uint64_t>(std::popcount(unique.words[w]));
    return count;
}

/// Sorts the keys from `first` up to `end`.
template <class Key>
std::uint64_t unique_of_keys(Key* first, Key* end) {
    std::sort(first, end);
    std::uint64_t different = first != end;
    for (const Key* k = first; k + 1 < end; ++k)
        different += k[0] != k[1];
    return different;
}

/// Equal keys meet in one of 256 buckets, which are then sorted, each by one thread. Which bucket
/// is taken from all bits of the key, since exponents alone may be the same for all.
template <class T>
struct Buckets {
    using Key = fp::Bits<T>;
    static constexpr std::size_t count = 256, most_runs = 16;
    using Places = std::array<std::uint64_t, count>;

    Arrays<T> in;
    std::uint32_t threads;
    Key* keys;      ///< room for n
    Places begin{}; ///< of each bucket
    const Buffer<Places> at_of_run{
        most_runs}; ///< where a run of elements puts its next key of each bucket; at first, how many it has

    [[nodiscard]] static std::size_t bucket_of(Key key) {
        return static_cast<Key>(key * static_cast<Key>(0x9e3779b97f4a7c15)) >> (8 * sizeof(Key) - 8);
    }
    template <class F>
    void for_keys(const F& f) {
        for_runs(in.n, std::min<std::uint32_t>(threads, most_runs), threads,
                 [&](std::uint64_t run, std::uint64_t first, std::uint64_t end) {
                     for (std::uint64_t i = first; i < end; ++i)
                         f(at_of_run[run], spec::unique_key(in.x[i * in.step]));
                 });
    }
    void place() {
        std::uint64_t next = 0;
        for (std::size_t b = 0; b < count; ++b) {
            begin[b] = next;
            for (std::size_t run = 0; run < most_runs; ++run)
                next += std::exchange(at_of_run[run][b], next);
        }
    }
    [[nodiscard]] std::uint64_t unique() {
        std::fill_n(at_of_run.data(), most_runs, Places{});
        for_keys([](Places& counts, Key key) { ++counts[bucket_of(key)]; });
        place();
        for_keys([this](Places& at, Key key) { keys[at[bucket_of(key)]++] = key; });
        std::uint64_t total = 0;
        for_each(count, threads, [&](std::uint64_t b) {
            Key* const first = keys + begin[b];
            Key* const end = keys + (b + 1 < count ? begin[b + 1] : in.n);
            std::atomic_ref(total).fetch_add(unique_of_keys(first, end), std::memory_order_relaxed);
        });
        return total;
    }
};

/// `room`: for as many keys, unless elements have 16 bits. Few elements are sorted where they need
/// no room.
template <class T>
std::uint64_t unique(const Arrays<T>& in, std::uint32_t threads, [[maybe_unused]] fp::Bits<T>* room) {
    constexpr std::uint64_t few = 1024;
    if (in.n <= few) {
        const Buffer<fp::Bits<T>> keys(few);
        for (std::uint64_t i = 0; i < in.n; ++i)
            keys[i] = spec::unique_key(in.x[i * in.step]);
        return unique_of_keys(keys.data(), keys.data() + in.n);
    }
    if constexpr (fp::is_narrow<T>) {
        return unique_patterns(in, threads);
    } else {
        return Buckets<T>{in, threads, room}.unique();
    }
}

} // namespace

std::size_t workspace_bytes(const Request& r) noexcept {
    if (r.op != Op::count_unique || is_narrow(r.dtype)) return 0;
    return r.n * size_of(r.dtype) * (detail::is_matrix(r.shape) ? r.groups : 1);
}

void count_unique(const Plan& plan, const Inputs& in, void* out, void* workspace) noexcept {
    const Request& r = plan.request();
    with_dtype(r.dtype, [&]<class T>(T) {
        for_each_group<T>(plan, in, out, [&](std::uint32_t threads, const Arrays<T>& group, void* result) {
            // Every group has room of its own: many are counted at once.
            auto* const counted = static_cast<std::uint64_t*>(result);
            const auto g = static_cast<std::uint64_t>(counted - static_cast<std::uint64_t*>(out));
            const std::uint64_t before = r.shape == Shape::segments ? in.offsets[g] : g * r.n;
            auto* const room = static_cast<fp::Bits<T>*>(workspace);
            *counted = unique(group, threads, room == nullptr ? nullptr : room + before);
        });
    });
}

} // namespace detreduce::host
