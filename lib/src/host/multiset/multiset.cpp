// The multiset engine: sums by `exact`, ops that compare and count_nonzero, of all shapes.
#include "host/multiset/multiset.hpp"

#include <algorithm>

#include <detreduce/acc/exact_variance.hpp>
#include <detreduce/acc/finish.hpp>
#include <detreduce/acc/moments.hpp>
#include <detreduce/spec/order_key.hpp>
#include <detreduce/transform_reduce.hpp>

#include "host/backend.hpp"
#include "host/fp_environment.hpp"
#include "host/multiset/limbs.hpp"

namespace detreduce::host {
namespace exact = acc::exact;

void SumOfTerms::store(const Found& sums, std::uint64_t, void* out) const {
    exact::Word joined[exact::product_limbs]; // not initialized
    Limbs::of_products(sums.words, joined).store(out, plan.output(), op.finalize);
}

void MomentsOp::store(const Found& sums, std::uint64_t n, void* out) const {
    const Request& r = plan.request();
    const acc::MomentsResult result{out, plan.output(), static_cast<std::uint32_t>(plan.result_bytes()), r.op,
                                    n,   r.ddof};
    exact::Word joined[exact::product_limbs]; // not initialized
    const Limbs sum = Limbs::of_state(sums.words), squares = Limbs::of_products(sums.words + exact::words, joined);
    exact::VarianceRoom<> room;
    const exact::WantedMoments wanted{n, r.ddof, r.op == Op::moments, r.op == Op::stddev,
                                      acc::format_of(plan.output())};
    const exact::MeanAndVariance m =
        exact::mean_and_variance(sum.number, sum.range, squares.number, squares.range, wanted, room);
    result.store([&](auto t) { return exact::rounded<decltype(t)>(m.mean); },
                 [&](auto t) { return exact::rounded<decltype(t)>(m.variance); });
}

namespace {

/// Elements as keys, the largest of which is looked for.
template <class T>
struct Keys {
    using Map = spec::KeyMap<T>;
    using Key = typename Map::Key;
    /// What stays in the first cache while it is read a second time, to find an index; and what of
    /// it is looked at one by one.
    static constexpr std::uint64_t block = 16384 / sizeof(T), part = 512 / sizeof(T);

    const IsaFunctions<T>& isa;
    Map map;
    const T* x;

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
    [[nodiscard]] spec::Found<Key> first_largest(std::uint64_t n) const {
        spec::Found<Key> found{Map::lowest, 0}; // the answer also if no key is larger than that
        for (std::uint64_t begin = 0; begin < n; begin += block) {
            const std::uint64_t end = std::min(begin + block, n);
            const Key key = largest(begin, end);
            if (key > found.key) found = {key, find(key, begin, end)};
        }
        return found;
    }
};

} // namespace

template <class T>
Search::Found Search::in(const T* x, std::uint64_t n) const {
    using Map = spec::KeyMap<T>;
    const Request& r = request_;
    const IsaFunctions<T>& isa = isa_.of<T>();
    if (list_.counts) return {n, {}, isa.nonzeros(x, n)};
    if (list_.both) {
        const Map maps[] = {Map::of(spec::View::minimum, r.nan), Map::of(spec::View::maximum, r.nan)};
        typename Map::Key keys[2];
        isa.largest_keys(maps, x, n, keys);
        Found found{n, {}, 0};
        for (int k = 0; k < 2; ++k)
            found.keys[k] = list_.key(k, maps[k].element(maps[k].settled(keys[k])));
        return found;
    }
    const Keys<T> keys{isa, Map::of(spec::view_of(r.op), r.nan), x};
    const auto found = wants_index_ ? keys.first_largest(n) : spec::Found<typename Map::Key>{keys.largest(0, n), 0};
    return {n, {list_.key(0, keys.map.element(found.key))}, found.index};
}

void Search::save(const Found& found, std::int64_t* to) const {
    if (list_.counts) {
        *to = static_cast<std::int64_t>(found.integer);
        return;
    }
    for (int k = 0; k < (list_.both ? 2 : 1); ++k) {
        to[k] = found.elements == 0 ? spec::StateKey::nothing
                                    : detail::state_key(request_, k).of(list_.maps[k].element(found.keys[k]));
    }
    if (wants_index_) {
        to[1] = found.elements == 0 ? spec::StateKey::nothing
                                    : ~static_cast<std::int64_t>(found.integer + request_.first_index);
    }
}

#define DETREDUCE_INSTANTIATE(name, c_name, type) template Search::Found Search::in(const type*, std::uint64_t) const;
DETREDUCE_FORMATS(DETREDUCE_INSTANTIATE)
#undef DETREDUCE_INSTANTIATE

namespace {

/// One tensor after the other, each by all threads: each(what is in it, how many elements it has),
/// and `all` of them as if they were one array.
template <class Op, class Each>
void gather_list(const Op& op, const Plan& plan, const Inputs& in, typename Op::Found& all, const Each& each) {
    const auto *const list = static_cast<const Tensor*>(in.x), *const with = static_cast<const Tensor*>(in.y);
    std::uint64_t first = 0;
    for (std::uint64_t i = 0; i < plan.request().groups; ++i) {
        typename Op::Found one{};
        with_dtype(list[i].dtype, [&]<class T>(T) {
            const T* const y = with ? static_cast<const T*>(with[i].data) : nullptr;
            gather(op, one, Arrays<T>{static_cast<const T*>(list[i].data), y, list[i].n}, plan.launch().threads);
        });
        op.merge(all, one, first);
        each(one, list[i].n);
        first += list[i].n;
    }
}

} // namespace

TermSums sum_of_list(const Plan& plan, const Inputs& in) {
    TermSums all;
    gather_list(SumOfTerms{{plan}}, plan, in, all, [](const TermSums&, std::uint64_t) {});
    return all;
}

DETREDUCE_OPAQUE void reduce_multisets(const Plan& plan, const Inputs& in, void* out) noexcept {
    const Request& r = plan.request();
    with_multiset_op(plan, [&]<class Op>(const Op& op) {
        using Found = typename Op::Found;
        const auto store = [&](const Found& found, std::uint64_t n, void* to) {
            r.state ? op.save(found, static_cast<std::int64_t*>(to)) : op.store(found, n, to);
        };
        if (r.shape == Shape::tensors) {
            Found all{};
            auto* to = static_cast<char*>(out);
            gather_list(op, plan, in, all, [&](const Found& one, std::uint64_t n) {
                if (!r.each) return;
                store(one, n, to);
                to += detail::group_bytes(plan);
            });
            return store(all, r.n, to);
        }
        with_dtype(r.dtype, [&]<class T>(T) {
            if constexpr (std::is_same_v<Op, SumOfElements>) {
                if (!r.state && op.template store_neighbours<T>(in, out)) return;
            }
            if (detail::is_across(r.shape) && plan.groups() > 1 && r.n > spec::TreeOrder<sizeof(T)>::tile) {
                return gather_all_columns<T>(op, plan, in, [&](std::uint64_t i, const Found& found) {
                    store(found, r.n, static_cast<char*>(out) + i * detail::group_bytes(plan));
                });
            }
            for_each_group<T>(plan, in, out, [&](std::uint32_t threads, const Arrays<T>& group, void* result) {
                if constexpr (std::is_same_v<Op, SumOfElements>) {
                    if (!r.state && op.store_short(group, result)) return;
                }
                Found found{};
                gather(op, found, group, threads);
                store(found, group.n, result);
            });
        });
    });
}

/// Terms of V are elements of V to the state, block by block.
DETREDUCE_OPAQUE void reduce_computed_multiset(const Plan& plan, const detail::TermSource& source, void* out) noexcept {
    with_dtype(plan.request().dtype, [&]<class T>(T) {
        using V = fp::Arithmetic<T>;
        constexpr std::uint64_t block = 65536 / sizeof(V); // so many that normalizing after each costs little
        const SumOfElements op{{plan}};
        const std::uint64_t n = plan.request().n;
        ElementSums all;
        gather_runs(op, all, n, plan.launch().threads, [&](ElementSums& sums, std::uint64_t begin, std::uint64_t end) {
            const Buffer<V> terms(block);
            for (; begin < end; begin += block) {
                const std::uint64_t m = std::min(block, end - begin);
                source.write(source, begin, static_cast<std::uint32_t>(m), terms.data());
                op.add(sums, Arrays<V>{terms.data(), nullptr, m}, begin);
            }
        });
        plan.request().state ? op.save(all, static_cast<std::int64_t*>(out)) : op.store(all, n, out);
    });
}

void add_exact(const Plan& plan, const void* x, acc::exact::Word* words) noexcept {
    const StandardFpEnvironment environment;
    ElementSums sums;
    std::copy_n(words, ElementSums::count, sums.words);
    with_dtype(plan.request().dtype, [&]<class T>(T) {
        gather(SumOfElements{{plan}}, sums, Arrays<T>{static_cast<const T*>(x), nullptr, plan.request().n},
               plan.launch().threads);
    });
    std::copy_n(sums.words, ElementSums::count, words);
}

} // namespace detreduce::host
