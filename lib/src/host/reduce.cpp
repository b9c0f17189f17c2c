// The ways to add on the CPU.
#include <algorithm>
#include <atomic>

#include <detreduce/acc/finish.hpp>
#include <detreduce/exact_state.hpp>

#include "host/backend.hpp"
#include "host/groups.hpp"
#include "host/fp_environment.hpp"
#include "host/levels.hpp"
#include "host/isa_table.hpp"
#include "host/pool.hpp"

namespace detreduce::host {
namespace {

/// A tile of at most TreeOrder<sizeof(T)>::tile terms.
template <class Acc, class T>
Acc reduce_tile(const IsaFunctions<T>& isa, Transform term, const Arrays<T>& part) {
    const Neighbours<T> neighbours(part);
    const Arrays<T>& in = neighbours.in;
    const auto m = static_cast<std::uint32_t>(in.n);
    if (term == Transform::element) return isa.tiles.template of<Acc>().elements(in.x, m);
    using V = typename Acc::Value;
    constexpr std::uint32_t room = spec::TreeOrder<sizeof(T)>::tile;
    const Buffer<V> values(room), errors(Acc::keeps_errors ? room : 0);
    isa.terms(term, in.x, in.y, m, values.data(), Acc::keeps_errors ? errors.data() : nullptr);
    return isa.tiles.template of<Acc>().terms(values.data(), errors.data(), m);
}

template <class Acc, class T>
Acc tree(Transform term, const Arrays<T>& in, const Launch& launch) {
    using Order = spec::TreeOrder<sizeof(T)>;
    using Above = spec::TreeOrder<sizeof(typename Acc::Value)>;
    const IsaFunctions<T>& isa = isa_table(launch.isa).of<T>();
    if (in.n <= Order::tile) return reduce_tile<Acc>(isa, term, in);

    Levels<Acc, Above, spec::tiles(max_n, Order::tile) * Above::tile> levels;
    const std::uint64_t all = spec::tiles(in.n, Order::tile);
    for (std::uint64_t first = 0; first < all; first += Above::tile) {
        const std::uint64_t count = std::min<std::uint64_t>(Above::tile, all - first);
        Acc* const out = levels.next();
        for_each(count, launch.threads, [&](std::uint64_t i) {
            out[i] = reduce_tile<Acc>(isa, term, in.part((first + i) * Order::tile, Order::tile));
        });
        levels.take(count);
    }
    return levels.finish();
}

template <class T>
auto serial(const IsaFunctions<T>& isa, Transform term, const Arrays<T>& in) {
    using V = fp::Arithmetic<T>;
    constexpr std::uint64_t at_once = 1024;
    auto a = acc::Rounded<V>::identity();
    const Buffer<V> values(at_once);
    for (std::uint64_t i = 0; i < in.n; i += at_once) {
        const Neighbours<T> neighbours(in.part(i, at_once));
        const Arrays<T>& part = neighbours.in;
        isa.terms(term, part.x, part.y, static_cast<std::uint32_t>(part.n), values.data(), nullptr);
        for (std::uint64_t k = 0; k < part.n; ++k)
            a.add(values[k]);
    }
    return a;
}

/// Blocks are handed to whichever thread comes first, and meet in one atomic.
template <class T>
auto atomic(Transform term, const Arrays<T>& in, const Launch& launch) {
    using Order = spec::TreeOrder<sizeof(T)>;
    using V = fp::Arithmetic<T>;
    const IsaFunctions<T>& isa = isa_table(launch.isa).of<T>();
    V total = 0;
    const std::uint64_t all = spec::tiles(in.n, Order::tile);
    std::atomic<std::uint64_t> next{0};
    const std::uint64_t workers = std::min<std::uint64_t>(launch.threads, all);
    for_each(workers, launch.threads, [&](std::uint64_t) {
        for (std::uint64_t i = next++; i < all; i = next++) {
            const auto tile = reduce_tile<acc::Rounded<V>>(isa, term, in.part(i * Order::tile, Order::tile));
            std::atomic_ref<V>(total).fetch_add(tile.sum, std::memory_order_relaxed);
        }
    });
    return acc::Rounded<V>{total};
}

/// Each thread takes a run of elements into words of its own, and adds them to the caller's: add(part of the input, words), `States` states.
template <int States, class T, class Add>
void exact(const Arrays<T>& in, acc::exact::Word* words, const Launch& launch, const Add& add_neighbours) {
    const auto add = [&](const Arrays<T>& part, acc::exact::Word* to) {
        if (part.step == 1) return add_neighbours(part, to);
        constexpr std::uint64_t at_once = 4096;
        for (std::uint64_t i = 0; i < part.n; i += at_once)
            add_neighbours(Neighbours<T>(part.part(i, at_once)).in, to);
    };
    if (launch.threads == 1) return add(in, words);
    constexpr int count = States * acc::exact::words;
    const auto normalize = [words] {
        for (int s = 0; s < States; ++s)
            acc::exact::normalize(words + s * acc::exact::words);
    };
    normalize();
    const std::uint64_t run = std::max<std::uint64_t>(1, (in.n + launch.threads - 1) / launch.threads);
    for_each((in.n + run - 1) / run, launch.threads, [&](std::uint64_t i) {
        acc::exact::Word own[count] = {};
        add(in.part(i * run, run), own);
        for (int w = 0; w < count; ++w) {
            if (own[w] != 0) std::atomic_ref(words[w]).fetch_add(own[w], std::memory_order_relaxed);
        }
    });
    normalize();
}

template <class T>
DETREDUCE_OPAQUE void add(const Arrays<T>& in, acc::exact::Word* words, const Launch& launch) {
    const auto add = isa_table(launch.isa).of<T>().exact;
    exact<1>(in, words, launch, [add](const Arrays<T>& part, acc::exact::Word* to) { add(part.x, part.n, to); });
}

/// Adds the terms to acc::exact::product_states states.
template <class T>
void add_exact_terms(const OpInfo& op, const Arrays<T>& in, acc::exact::Word* states, const Launch& launch) {
    const auto add = isa_table(launch.isa).of<T>().exact_terms;
    exact<acc::exact::product_states>(in, states, launch,
                                      [add, term = op.transform](const Arrays<T>& part, acc::exact::Word* to) {
                                          add(term, part.x, part.y, part.n, to);
                                      });
}

/// The sum of the terms without error, and finalized.
template <class T>
void exact_into(void* out, DType output, const OpInfo& op, const Arrays<T>& in, const Launch& launch) {
    if (op.transform == Transform::element) {
        ExactState state;
        add(in, state.words().data(), launch);
        acc::store_as(out, output,
                      [&](auto t) { return acc::exact::round<decltype(t)>(state.words().data(), op.finalize); });
    } else {
        acc::exact::Word states[acc::exact::product_states * acc::exact::words] = {};
        add_exact_terms(op, in, states, launch);
        acc::store_as(out, output,
                      [&](auto t) { return acc::exact::round_products<decltype(t)>(states, op.finalize); });
    }
}

template <class T>
DETREDUCE_OPAQUE void compute(const Plan& plan, const Launch& launch, const Arrays<T>& in, void* out) {
    using V = fp::Arithmetic<T>;
    const OpInfo& op = info(plan.request().op);
    if (in.n == 0)
        return acc::finish_into(out, plan.output(), {0.0, 0.0}, op.finalize, 0); // the mean of no elements is 0/0
    const auto finish = [&](const auto& acc) { acc::finish_into(out, plan.output(), acc.total(), op.finalize, in.n); };
    switch (plan.request().method) {
    case Method::tree:
        return finish(tree<acc::Rounded<V>>(op.transform, in, launch));
    case Method::kahan:
        return finish(tree<acc::Kahan<V>>(op.transform, in, launch));
    case Method::compensated:
        return finish(tree<acc::Compensated<V>>(op.transform, in, launch));
    case Method::serial:
        return finish(serial(isa_table(launch.isa).of<T>(), op.transform, in));
    case Method::atomic:
        return finish(atomic(op.transform, in, launch));
    case Method::automatic: // not of a plan, which says what it is
    case Method::exact:
        return exact_into(out, plan.output(), op, in, launch);
    }
}

} // namespace

std::uint32_t default_threads(std::uint64_t n, std::size_t element_bytes) noexcept {
    constexpr std::uint64_t worth_a_thread = std::uint64_t{512} << 10; // bytes; less does not pay for its start-up
    const std::uint64_t useful = std::max<std::uint64_t>(1, n * element_bytes / worth_a_thread);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(usual_threads(), useful));
}

namespace {

/// Adds the terms of all tensors to `total`, as if they were one array: without rounding, the order means nothing. each(states, i): those of tensor i.
template <class Each>
void add_each_tensor(const Plan& plan, const Inputs& in, acc::exact::Word* total, const Each& each) {
    using namespace acc::exact;
    const Request& r = plan.request();
    const OpInfo& op = info(r.op);
    const auto *const list = static_cast<const Tensor*>(in.x), *const with = static_cast<const Tensor*>(in.y);
    for (std::uint64_t i = 0; i < r.groups; ++i) {
        Word states[product_states * words] = {};
        with_dtype(list[i].dtype, [&]<class T>(T) {
            const T* const y = with ? static_cast<const T*>(with[i].data) : nullptr;
            add_exact_terms(op, Arrays<T>{static_cast<const T*>(list[i].data), y, list[i].n}, states, plan.launch());
        });
        for (int s = 0; s < product_states; ++s)
            normalize(states + s * words);
        each(states, i);
        for (int w = 0; w < product_states * words; ++w)
            total[w] += states[w];
        for (int s = 0; s < product_states; ++s)
            normalize(total + s * words);
    }
}

/// The value of all and, before that, if wanted, of each.
void exact_tensors(const Plan& plan, const Inputs& in, void* out) {
    using namespace acc::exact;
    const Request& r = plan.request();
    Word total[product_states * words] = {};
    const auto store = [&](const Word* states, std::uint64_t i) {
        acc::store_as(static_cast<char*>(out) + i * plan.result_bytes(), plan.output(),
                      [&](auto t) { return round_products<decltype(t)>(states, info(r.op).finalize); });
    };
    add_each_tensor(plan, in, total, [&](const Word* states, std::uint64_t i) {
        if (r.each) store(states, i);
    });
    store(total, r.each ? r.groups : 0);
}

} // namespace

void add_tensors(const Plan& plan, const Inputs& in, acc::exact::Word* states) noexcept {
    add_each_tensor(plan, in, states, [](const acc::exact::Word*, std::uint64_t) {});
}

void reduce(const Plan& plan, const Inputs& in, void* out, void* workspace) noexcept {
    const StandardFpEnvironment environment;
    const Request& r = plan.request();
    if (r.shape == Shape::tensors && info(r.op).kind == Kind::sum) return exact_tensors(plan, in, out);
    if (r.shape == Shape::tensors && info(r.op).kind == Kind::moments)
        return reduce_moments_of_tensors(plan, static_cast<const Tensor*>(in.x), out);
    if (r.shape == Shape::tensors) return reduce_tensors(plan, in, out);
    if (info(r.op).kind == Kind::moments) return reduce_moments(plan, in, out);
    if (info(r.op).kind == Kind::product) return multiply(plan, in, out);
    if (info(r.op).kind == Kind::count) return count(plan, in, out, workspace);
    with_dtype(r.dtype, [&]<class T>(T) {
        for_each_group<T>(plan, in, out, [&](const Launch& launch, const Arrays<T>& group, void* result) {
            if (r.op == Op::minmax) {
                reduce_to_both_ends(plan, launch, group, result);
            } else if (info(r.op).kind == Kind::order) {
                reduce_by_order(plan, launch, group, result);
            } else {
                compute(plan, launch, group, result);
            }
        });
    });
}

void add_exact(DType dtype, const void* x, std::uint64_t n, acc::exact::Word* words, const Launch& launch) noexcept {
    const StandardFpEnvironment environment;
    with_dtype(dtype, [&]<class T>(T) { add(Arrays<T>{static_cast<const T*>(x), nullptr, n}, words, launch); });
}

} // namespace detreduce::host
