// minmax on the CPU: both ends of the order in one pass over memory.
#include <algorithm>

#include <detreduce/acc/finish.hpp>
#include <detreduce/spec/order_key.hpp>

#include "host/backend.hpp"
#include "host/for_each.hpp"
#include "host/isa_table.hpp"

namespace detreduce::host {
namespace {

template <class T>
struct BothEnds {
    using Map = spec::KeyMap<T>;
    using Key = typename Map::Key;
    struct Keys {
        Key of[2]; ///< of the least element, of the greatest
    };

    const IsaFunctions<T>& isa;
    Map maps[2];
    Arrays<T> in;

    BothEnds(const Plan& plan, const Arrays<T>& elements)
        : isa(isa_table(plan.launch().isa).of<T>()), maps{Map::of(spec::View::least, plan.request().nan),
                                                          Map::of(spec::View::greatest, plan.request().nan)},
          in(elements) {}

    /// Of 1 or more elements side by side.
    [[nodiscard]] Keys largest_of_neighbours(const Arrays<T>& part) const {
        Keys keys;
        isa.largest_keys(maps, part.x, part.n, keys.of);
        return {{maps[0].settled(keys.of[0]), maps[1].settled(keys.of[1])}};
    }
    static void take(Keys& best, const Keys& other) {
        for (int k = 0; k < 2; ++k)
            best.of[k] = std::max(best.of[k], other.of[k]);
    }
    /// What is not side by side is copied a block at a time.
    [[nodiscard]] Keys largest(std::uint64_t begin, std::uint64_t end) const {
        if (in.step == 1) return largest_of_neighbours(in.part(begin, end - begin));
        constexpr std::uint64_t block = 16384 / sizeof(T);
        Keys best{{Map::lowest, Map::lowest}};
        for (; begin < end; begin += block) {
            const Neighbours<T> part(in.part(begin, std::min(block, end - begin)));
            take(best, largest_of_neighbours(part.in));
        }
        return best;
    }
    /// Each thread takes a run of elements.
    [[nodiscard]] Keys largest_of_runs(std::uint32_t threads) const {
        if (threads == 1) return largest(0, in.n);
        const Buffer<Keys> found(threads);
        const std::uint64_t run = (in.n + threads - 1) / threads, runs = (in.n + run - 1) / run;
        for_each(runs, threads, [&](std::uint64_t i) { found[i] = largest(i * run, std::min((i + 1) * run, in.n)); });
        for (std::uint64_t i = 1; i < runs; ++i)
            take(found[0], found[i]);
        return found[0];
    }
};

} // namespace

/// An empty segment has neither end.
template <class T>
void reduce_to_both_ends(const Plan& plan, const Launch& launch, const Arrays<T>& in, void* out) noexcept {
    const BothEnds<T> ends(plan, in);
    typename BothEnds<T>::Keys keys{{ends.maps[0].nan, ends.maps[1].nan}};
    if (in.n > 0) keys = ends.largest_of_runs(launch.threads);
    for (int k = 0; k < 2; ++k) {
        void* const to = static_cast<char*>(out) + static_cast<std::size_t>(k) * plan.result_bytes();
        acc::store_as(to, plan.output(),
                      [&](auto t) { return fp::round_to<decltype(t)>(ends.maps[k].element(keys.of[k])); });
    }
}

template <class T>
spec::ListFound find_both_ends(const Plan& plan, const Arrays<T>& in, const spec::ListView& list) noexcept {
    const BothEnds<T> ends(plan, in);
    const auto keys = ends.largest_of_runs(plan.launch().threads);
    return {in.n, {list.key(0, ends.maps[0].element(keys.of[0])), list.key(1, ends.maps[1].element(keys.of[1]))}, 0};
}

template void reduce_to_both_ends(const Plan&, const Launch&, const Arrays<float16>&, void*) noexcept;
template void reduce_to_both_ends(const Plan&, const Launch&, const Arrays<bfloat16>&, void*) noexcept;
template void reduce_to_both_ends(const Plan&, const Launch&, const Arrays<float>&, void*) noexcept;
template void reduce_to_both_ends(const Plan&, const Launch&, const Arrays<double>&, void*) noexcept;
template spec::ListFound find_both_ends(const Plan&, const Arrays<float16>&, const spec::ListView&) noexcept;
template spec::ListFound find_both_ends(const Plan&, const Arrays<bfloat16>&, const spec::ListView&) noexcept;
template spec::ListFound find_both_ends(const Plan&, const Arrays<float>&, const spec::ListView&) noexcept;
template spec::ListFound find_both_ends(const Plan&, const Arrays<double>&, const spec::ListView&) noexcept;

} // namespace detreduce::host
