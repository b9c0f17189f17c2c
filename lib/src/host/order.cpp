// Ops that compare elements, on the CPU.
#include <algorithm>

#include <detreduce/acc/finish.hpp>
#include <detreduce/spec/order_key.hpp>

#include "host/backend.hpp"
#include "host/groups.hpp"
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
        Key key;
        isa.largest_key(&map, x + begin, end - begin, &key);
        return map.settled(key);
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

/// Each thread takes a run of elements: scan(begin, end).
template <class T, class BestOf>
spec::Found<typename spec::KeyMap<T>::Key> best_of_runs(const BestOf& scan, std::uint64_t n, std::uint32_t threads) {
    if (threads == 1) return scan(0, n);
    const Buffer<typename Scan<T>::Found> found(threads);
    const std::uint64_t run = (n + threads - 1) / threads, runs = (n + run - 1) / run;
    for_each(runs, threads, [&](std::uint64_t i) { found[i] = scan(i * run, std::min((i + 1) * run, n)); });
    return *std::max_element(found.data(), found.data() + runs,
                             [](const auto& a, const auto& b) { return b.beats(a); });
}

/// The best of [begin, end), of which there are some. What is not side by side is copied a block at a time.
template <class T>
typename Scan<T>::Found best_of(const Plan& plan, const spec::KeyMap<T>& map, const Arrays<T>& all, std::uint64_t begin,
                                std::uint64_t end) {
    const IsaFunctions<T>& isa = isa_table(plan.launch().isa).of<T>();
    const bool wants_index = plan.result_is_integer();
    if (all.step == 1) return Scan<T>{isa, map, all.x, wants_index}.best(begin, end);
    typename Scan<T>::Found found{Scan<T>::Map::lowest, begin};
    for (; begin < end; begin += Scan<T>::block) {
        const Neighbours<T> part(all.part(begin, std::min(Scan<T>::block, end - begin)));
        auto best = Scan<T>{isa, map, part.in.x, wants_index}.best(0, part.in.n);
        best.index += begin;
        if (best.key > found.key) found = best;
    }
    return found;
}

template <class T>
spec::KeyMap<T> map_of(const Plan& plan) {
    return spec::KeyMap<T>::of(spec::view_of(plan.request().op), plan.request().nan);
}

template <class T>
typename Scan<T>::Found best_of_all(const Plan& plan, const spec::KeyMap<T>& map, const Launch& launch,
                                    const Arrays<T>& in) {
    return best_of_runs<T>([&](std::uint64_t begin, std::uint64_t end) { return best_of(plan, map, in, begin, end); },
                           in.n, launch.threads);
}

template <class T>
void store_nothing(const Plan& plan, void* out) {
    if (plan.result_is_integer()) {
        *static_cast<std::uint64_t*>(out) = no_index;
    } else {
        acc::store_as(out, plan.output(), [&](auto t) {
            const bool zero = plan.request().op == Op::nrminf;
            return fp::from_bits<decltype(t)>(zero ? 0 : fp::Format<decltype(t)>::canonical_nan);
        });
    }
}

} // namespace

template <class T>
void reduce_by_order(const Plan& plan, const Launch& launch, const Arrays<T>& in, void* out) noexcept {
    if (in.n == 0) return store_nothing<T>(plan, out);
    const auto map = map_of<T>(plan);
    const auto found = best_of_all(plan, map, launch, in);
    if (plan.result_is_integer()) {
        *static_cast<std::uint64_t*>(out) = found.index;
    } else {
        acc::store_as(out, plan.output(), [&](auto t) { return fp::round_to<decltype(t)>(map.element(found.key)); });
    }
}

template <class T>
spec::ListFound find_by_order(const Plan& plan, const Arrays<T>& in, const spec::ListView& list) noexcept {
    const auto map = map_of<T>(plan);
    const auto found = best_of_all(plan, map, plan.launch(), in);
    return {in.n, {list.key(0, map.element(found.key))}, found.index};
}

template void reduce_by_order(const Plan&, const Launch&, const Arrays<float16>&, void*) noexcept;
template void reduce_by_order(const Plan&, const Launch&, const Arrays<bfloat16>&, void*) noexcept;
template void reduce_by_order(const Plan&, const Launch&, const Arrays<float>&, void*) noexcept;
template void reduce_by_order(const Plan&, const Launch&, const Arrays<double>&, void*) noexcept;
template spec::ListFound find_by_order(const Plan&, const Arrays<float16>&, const spec::ListView&) noexcept;
template spec::ListFound find_by_order(const Plan&, const Arrays<bfloat16>&, const spec::ListView&) noexcept;
template spec::ListFound find_by_order(const Plan&, const Arrays<float>&, const spec::ListView&) noexcept;
template spec::ListFound find_by_order(const Plan&, const Arrays<double>&, const spec::ListView&) noexcept;

} // namespace detreduce::host
