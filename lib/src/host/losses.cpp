// Losses on the CPU. Terms are computed into buffers that stay in the cache; sums and means of them are those of a caller's own terms.
#include <algorithm>

#include <detreduce/losses.hpp>
#include <detreduce/transform_reduce.hpp>

#include "host/arena.hpp"
#include "host/backend.hpp"
#include "host/for_each.hpp"
#include "host/fp_environment.hpp"
#include "host/isa/isa_table.hpp"

namespace detreduce::host {
namespace {

using detail::TermSource;

/// Terms, or derivatives, each times its weight.
template <class T>
struct LossValues {
    using V = fp::Arithmetic<T>;
    LossMap<V> map;
    const IsaFunctions<T>* isa;
    const T *x, *t, *w;

    LossValues(const LossPlan& plan, const LossInputs& in, bool slopes)
        : map{plan.request().loss, fp::round_to<V>(plan.request().parameter), slopes},
          isa(&isa_table(plan.plan().launch().isa).of<T>()), x(static_cast<const T*>(in.x)),
          t(static_cast<const T*>(in.target)), w(static_cast<const T*>(in.weight)) {}

    void write(std::uint64_t first, std::uint32_t count, V* values) const {
        isa->losses(map, x + first, t + first, w ? w + first : nullptr, count, values);
    }
};

template <class T>
void write_loss_terms(const TermSource& source, std::uint64_t first, std::uint32_t count, void* terms) {
    static_cast<const LossValues<T>*>(source.f)->write(first, count, static_cast<fp::Arithmetic<T>*>(terms));
}

inline constexpr std::uint32_t block = 1024;

/// f(first, count) for all elements, a block at a time, by all threads: each takes a run of neighbouring blocks.
template <class F>
void for_each_block(std::uint64_t n, std::uint32_t threads, const F& f) {
    for_each((n + block - 1) / block, threads, [&](std::uint64_t b) {
        f(b * block, static_cast<std::uint32_t>(std::min<std::uint64_t>(block, n - b * block)));
    });
}

template <class Out, class T>
DETREDUCE_OPAQUE void store_terms(const LossPlan& plan, const LossValues<T>& terms, Out* out) {
    using V = fp::Arithmetic<T>;
    for_each_block(plan.request().n, plan.plan().launch().threads, [&](std::uint64_t first, std::uint32_t count) {
        const Buffer<V> values(block);
        terms.write(first, count, values.data());
        for (std::uint32_t i = 0; i < count; ++i)
            out[first + i] = fp::round_to<Out>(values[i]);
    });
}

/// What every derivative is multiplied by: one upstream value, over n for a mean.
template <class V>
V common_factor(const LossRequest& r, V upstream) {
    return r.reduction == Reduction::mean ? upstream / static_cast<V>(r.n) : upstream;
}

template <class T>
DETREDUCE_OPAQUE void store_gradient(const LossPlan& plan, const LossValues<T>& slopes, const T* upstream, T* dx) {
    using V = fp::Arithmetic<T>;
    const LossRequest& r = plan.request();
    const bool one_each = upstream != nullptr && r.reduction == Reduction::none;
    const V factor = common_factor(r, upstream && !one_each ? fp::widen(*upstream) : V(1));
    for_each_block(r.n, plan.plan().launch().threads, [&](std::uint64_t first, std::uint32_t count) {
        const Buffer<V> values(block);
        slopes.write(first, count, values.data());
        const auto store = [&](const auto& factor_of) { // a loop for each, which vectorizes
            for (std::uint32_t i = 0; i < count; ++i)
                dx[first + i] = fp::round_to<T>(values[i] * factor_of(first + i));
        };
        if (one_each) return store([&](std::uint64_t i) { return V(fp::widen(upstream[i])); });
        store([&](std::uint64_t) { return factor; });
    });
}

} // namespace

void compute_loss(const LossPlan& plan, const LossInputs& in, void* out) noexcept {
    with_dtype(plan.request().dtype, [&]<class T>(T) {
        const LossValues<T> terms(plan, in, false);
        if (plan.request().reduction != Reduction::none) {
            return reduce_computed(plan.plan(), {in.x, in.target, &terms, 2, &write_loss_terms<T>}, out);
        }
        const StandardFpEnvironment environment;
        with_dtype(plan.output(), [&]<class Out>(Out) { store_terms(plan, terms, static_cast<Out*>(out)); });
    });
}

void compute_loss_gradient(const LossPlan& plan, const LossInputs& in, const void* upstream, void* dx) noexcept {
    const StandardFpEnvironment environment;
    with_dtype(plan.request().dtype, [&]<class T>(T) {
        const LossValues<T> slopes(plan, in, true);
        store_gradient(plan, slopes, static_cast<const T*>(upstream), static_cast<T*>(dx));
    });
}

} // namespace detreduce::host
