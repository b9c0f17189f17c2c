// minmax on the CPU: both ends of the order in one pass over memory.
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
struct BothEnds {
    using Map = spec::KeyMap<T>;
    using Key = typename Map::Key;
    struct Keys {
        Key of[2]; ///< of the least element, of the greatest
    };

    const IsaFunctions<T>& isa;
    Map maps[2];
    const T* x;

    [[nodiscard]] Keys largest(std::uint64_t begin, std::uint64_t end) const {
        Keys keys;
        isa.largest_keys(maps[0], maps[1], x + begin, end - begin, keys.of);
        return {{maps[0].settled(keys.of[0]), maps[1].settled(keys.of[1])}};
    }
    /// Each thread takes a run of elements.
    [[nodiscard]] Keys largest_of_runs(std::uint64_t n, std::uint32_t threads) const {
        if (threads == 1) return largest(0, n);
        std::array<Keys, max_threads> found;
        const std::uint64_t run = (n + threads - 1) / threads, runs = (n + run - 1) / run;
        for_each(runs, threads, [&](std::uint64_t i) { found[i] = largest(i * run, std::min((i + 1) * run, n)); });
        for (std::uint64_t i = 1; i < runs; ++i) {
            for (int k = 0; k < 2; ++k)
                found[0].of[k] = std::max(found[0].of[k], found[i].of[k]);
        }
        return found[0];
    }
};

} // namespace

void reduce_to_both_ends(const Plan& plan, const void* x, void* out) noexcept {
    const Request& r = plan.request();
    with_dtype(r.dtype, [&]<class T>(T) {
        const BothEnds<T> ends{
            isa_table(plan.launch().isa).of<T>(),
            {spec::KeyMap<T>::of(spec::View::least, r.nan), spec::KeyMap<T>::of(spec::View::greatest, r.nan)},
            static_cast<const T*>(x)};
        const auto keys = ends.largest_of_runs(r.n, plan.launch().threads);
        for (int k = 0; k < 2; ++k) {
            void* const to = static_cast<char*>(out) + static_cast<std::size_t>(k) * plan.result_bytes();
            acc::store_as(to, plan.output(),
                          [&](auto t) { return fp::round_to<decltype(t)>(ends.maps[k].element(keys.of[k])); });
        }
    });
}

} // namespace detreduce::host
