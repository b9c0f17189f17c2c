// Mean and variance on the CPU.
#include <algorithm>
#include <atomic>

#include <detreduce/acc/exact_variance.hpp>
#include <detreduce/acc/moments.hpp>

#include "host/backend.hpp"
#include "host/for_each.hpp"
#include "host/groups.hpp"
#include "host/isa_table.hpp"
#include "host/levels.hpp"

namespace detreduce::host {
namespace {

namespace exact = acc::exact;

template <class T>
auto tree(const IsaFunctions<T>& isa, const Arrays<T>& in, std::uint32_t threads) {
    using V = fp::Arithmetic<T>;
    using Acc = acc::CountedMoments<V>;
    using Order = spec::TreeOrder<sizeof(T)>;
    using Above = spec::TreeOrder<sizeof(V)>;
    const auto tile = [&](std::uint64_t i) -> Acc {
        const Neighbours<T> neighbours(in.part(i * Order::tile, Order::tile));
        const Arrays<T>& part = neighbours.in;
        return isa.tiles.template of<Acc>().elements(part.x, static_cast<std::uint32_t>(part.n));
    };
    if (in.n <= Order::tile) return tile(0);
    Levels<Acc, Above, spec::tiles(max_n, Order::tile) * Above::tile> levels;
    const std::uint64_t all = spec::tiles(in.n, Order::tile);
    for (std::uint64_t first = 0; first < all; first += Above::tile) {
        const std::uint64_t count = std::min<std::uint64_t>(Above::tile, all - first);
        Acc* const out = levels.next();
        for_each(count, threads, [&](std::uint64_t i) { out[i] = tile(first + i); });
        levels.take(count);
    }
    return levels.finish();
}

template <class T>
auto serial(const Arrays<T>& in) {
    using Acc = acc::CountedMoments<fp::Arithmetic<T>>;
    auto a = Acc::identity();
    for (std::uint64_t i = 0; i < in.n; ++i)
        a.merge(Acc::of(fp::widen(in.x[i * in.step])));
    return a;
}

/// Both sums of what is in the cache: memory is read once.
template <class T>
void add_powers(const IsaFunctions<T>& isa, const Arrays<T>& in, PowerSums& sums) {
    const auto add = [&](const Arrays<T>& part) {
        isa.exact(part.x, part.n, sums.sum());
        isa.exact_terms(Transform::square, part.x, nullptr, part.n, sums.squares());
    };
    constexpr std::uint64_t block = (std::uint64_t{1} << 17) / sizeof(T), copied = 4096;
    for (std::uint64_t i = 0; in.step == 1 && i < in.n; i += block)
        add(in.part(i, block));
    for (std::uint64_t i = 0; in.step != 1 && i < in.n; i += copied)
        add(Neighbours<T>(in.part(i, copied)).in);
}

/// Each thread takes a run of elements into sums of its own.
template <class T>
void add_all_powers(const IsaFunctions<T>& isa, const Arrays<T>& in, std::uint32_t threads, PowerSums& sums) {
    if (threads == 1) return add_powers(isa, in, sums);
    const std::uint64_t run = (in.n + threads - 1) / threads;
    for_each((in.n + run - 1) / run, threads, [&](std::uint64_t i) {
        PowerSums own;
        add_powers(isa, in.part(i * run, run), own);
        for (int w = 0; w < PowerSums::count; ++w) {
            if (own.words[w] != 0) std::atomic_ref(sums.words[w]).fetch_add(own.words[w], std::memory_order_relaxed);
        }
    });
    sums.normalize();
}

template <int Digits>
exact::DigitRange range_of(const exact::Word* digit) {
    exact::DigitRange range{0, Digits};
    while (range.last > 0 && digit[range.last - 1] == 0)
        --range.last;
    while (range.first < range.last && digit[range.first] == 0)
        ++range.first;
    return range;
}

void finish_exact(PowerSums& sums, const acc::MomentsResult& result) {
    exact::Word squares[exact::product_digits];
    for (int k = 0; k < exact::product_digits; ++k)
        squares[k] = exact::joined_digit(sums.squares(), k);
    exact::VarianceRoom<> room;
    const exact::MeanAndVariance m = exact::mean_and_variance(
        {sums.sum(), exact::lowest_exponent, sums.sum()}, range_of<exact::digits>(sums.sum()),
        {squares, exact::lowest_product_exponent, sums.squares()}, range_of<exact::product_digits>(squares), result.n,
        result.ddof, result.op == Op::stddev, room);
    result.store([&](auto t) { return exact::rounded<decltype(t)>(m.mean); },
                 [&](auto t) { return exact::rounded<decltype(t)>(m.variance); });
}

template <class T>
void reduce_group(const Plan& plan, const Launch& launch, const Arrays<T>& in, void* out) {
    const IsaFunctions<T>& isa = isa_table(launch.isa).of<T>();
    const Request& r = plan.request();
    const acc::MomentsResult result{out,  plan.output(), static_cast<std::uint32_t>(plan.result_bytes()),
                                    r.op, in.n,          r.ddof};
    if (in.n == 0) {
        result.store(acc::Moments<fp::Arithmetic<T>>{});
    } else if (r.method == Method::exact) {
        PowerSums sums;
        add_all_powers(isa, in, launch.threads, sums);
        finish_exact(sums, result);
    } else if (r.method == Method::serial) {
        result.store(serial(in).m);
    } else {
        result.store(tree(isa, in, launch.threads).m);
    }
}

} // namespace

void reduce_moments(const Plan& plan, const Inputs& in, void* out) noexcept {
    with_dtype(plan.request().dtype, [&]<class T>(T) {
        for_each_group<T>(plan, in, out, [&](const Launch& launch, const Arrays<T>& group, void* result) {
            reduce_group(plan, launch, group, result);
        });
    });
}

void add_moments(const Plan& plan, const Tensor& tensor, PowerSums& sums) noexcept {
    if (tensor.n == 0) return;
    PowerSums own;
    with_dtype(tensor.dtype, [&]<class T>(T) {
        add_all_powers(isa_table(plan.launch().isa).of<T>(),
                       Arrays<T>{static_cast<const T*>(tensor.data), nullptr, tensor.n}, plan.launch().threads, own);
    });
    own.normalize();
    sums.merge(own);
}

void finish_moments(const Plan& plan, std::uint64_t n, PowerSums& sums, void* out) noexcept {
    const Request& r = plan.request();
    finish_exact(sums, {out, plan.output(), static_cast<std::uint32_t>(plan.result_bytes()), r.op, n, r.ddof});
}

/// The list as if it were one array, by exact, in which the order means nothing. And before that, if wanted, each tensor.
void reduce_moments_of_tensors(const Plan& plan, const Tensor* list, void* out) noexcept {
    const Request& r = plan.request();
    PowerSums total;
    auto* to = static_cast<char*>(out);
    for (std::uint64_t i = 0; i < r.groups; ++i) {
        PowerSums sums;
        add_moments(plan, list[i], sums);
        total.merge(sums);
        if (!r.each) continue;
        finish_moments(plan, list[i].n, sums, to);
        to += plan.result_bytes() * static_cast<std::size_t>(info(r.op).results);
    }
    finish_moments(plan, r.n, total, to);
}

} // namespace detreduce::host
