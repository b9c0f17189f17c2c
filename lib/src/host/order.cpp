// Ops that compare elements, on the CPU.
#include <algorithm>
#include <array>

#include <detreduce/acc/finish.hpp>
#include <detreduce/spec/order_key.hpp>

#include "host/backend.hpp"
#include "host/for_each.hpp"
#include "host/isa_table.hpp"

namespace detreduce::host {
namespace {

template <class T>
struct Scan {
    using Map = spec::KeyMap<T>;
    using Key = typename Map::Key;
    using Found = spec::Found<Key>;
    /// What stays in the first cache while it is read a second time, to find an index; and what of it is looked at one by one.
    static constexpr std::uint64_t block = 16384 / sizeof(T), part = 512 / sizeof(T);

    const IsaFunctions<T>& isa;
    Map map;
    const T* x;
    bool wants_index;

    [[nodiscard]] Key largest(std::uint64_t begin, std::uint64_t end) const {
        return map.settled(isa.largest_key(map, x + begin, end - begin));
    }
    /// The first element of [begin, end) with this key, the largest there.
    [[nodiscard]] std::uint64_t find(Key key, std::uint64_t begin, std::uint64_t end) const {
        while (end - begin > part && largest(begin, begin + part) != key)
            begin += part;
        while (map.settled(map.key(x[begin])) != key)
            ++begin;
        return begin;
    }
    /// Of the elements [begin, end), of which there are some.
    [[nodiscard]] Found best(std::uint64_t begin, std::uint64_t end) const {
        if (!wants_index) return {largest(begin, end), 0};
        Found found{Map::lowest, begin}; // the answer also if no key is larger than that
        for (std::uint64_t next = begin; begin < end; begin = next) {
            next = begin + std::min(block, end - begin);
            const Key key = largest(begin, next);
            if (key > found.key) found = {key, find(key, begin, next)};
        }
        return found;
    }
};

/// Each thread takes a run of elements.
template <class T>
spec::Found<typename spec::KeyMap<T>::Key> best_of_runs(const Scan<T>& scan, std::uint64_t n, std::uint32_t threads) {
    if (threads == 1) return scan.best(0, n);
    std::array<typename Scan<T>::Found, max_threads> found;
    const std::uint64_t run = (n + threads - 1) / threads, runs = (n + run - 1) / run;
    for_each(runs, threads, [&](std::uint64_t i) { found[i] = scan.best(i * run, std::min((i + 1) * run, n)); });
    return *std::max_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(runs),
                             [](const auto& a, const auto& b) { return b.beats(a); });
}

} // namespace

void reduce_by_order(const Plan& plan, const void* x, void* out) noexcept {
    const Request& r = plan.request();
    with_dtype(r.dtype, [&]<class T>(T) {
        const auto map = spec::KeyMap<T>::of(spec::view_of(r.op), r.nan);
        const Scan<T> scan{isa_table(plan.launch().isa).of<T>(), map, static_cast<const T*>(x), plan.result_is_integer()};
        const auto found = best_of_runs(scan, r.n, plan.launch().threads);
        if (plan.result_is_integer()) {
            *static_cast<std::uint64_t*>(out) = found.index;
        } else {
            acc::store_as(out, plan.output(),
                          [&](auto t) { return fp::round_to<decltype(t)>(map.element(found.key)); });
        }
    });
}

} // namespace detreduce::host
