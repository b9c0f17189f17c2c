// Losses on the CPU. Terms are computed into buffers that stay in the cache; sums and means of them
// are those of a caller's own terms.
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

    LossValues(const LossPlan& plan, const LossInputs& in, loss_terms::Value value)
        : map{plan.request().loss, fp::round_to<V>(plan.request().parameter), value},
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

/// out[i] = f(i, value i), rounded, for all n elements, a block at a time, by all threads: each
/// takes a run of neighbouring blocks.
template <class Out, class T, class F>
void store_values(const LossPlan& plan, const LossValues<T>& values, Out* out, const F& f) {
    constexpr std::uint64_t block = 1024;
    const std::uint64_t n = plan.request().n;
    for_each((n + block - 1) / block, plan.plan().launch().threads, [&](std::uint64_t b) {
        const std::uint64_t first = b * block, count = std::min(block, n - first);
        const Buffer<fp::Arithmetic<T>> of_block(block);
        values.write(first, static_cast<std::uint32_t>(count), of_block.data());
        for (std::uint64_t i = 0; i < count; ++i)
            of_block[i] = f(first + i, of_block[i]);
        values.isa->store(of_block.data(), static_cast<std::uint32_t>(count), out + first);
    });
}

template <class Out, class T>
DETREDUCE_OPAQUE void store_terms(const LossPlan& plan, const LossValues<T>& terms, Out* out) {
    store_values(plan, terms, out, [](std::uint64_t, auto value) { return value; });
}

template <class T>
DETREDUCE_OPAQUE void store_gradient(const LossPlan& plan, const LossValues<T>& slopes, const T* upstream,
                                     const double* sums, T* dx) {
    using V = fp::Arithmetic<T>;
    const LossRequest& r = plan.request();
    if (upstream != nullptr && r.reduction == Reduction::none)
        return store_values(plan, slopes, dx, [=](std::uint64_t i, V slope) { return slope * fp::widen(upstream[i]); });
    const loss_terms::Factor<V> f{upstream == nullptr ? V(1) : fp::widen(*upstream), detail::divisor_of(r), sums};
    const V factor = f.factor(), center = r.with_respect_to == LossArgument::weight ? f.center() : V(0);
    store_values(plan, slopes, dx, [=](std::uint64_t, V slope) { return (slope - center) * factor; });
}

} // namespace

void compute_loss(const LossPlan& plan, const LossInputs& in, void* out) noexcept {
    with_dtype_from_16_bits(plan.request().dtype, [&]<class T>(T) {
        const LossValues<T> terms(plan, in, loss_terms::Value::term);
        if (plan.request().reduction != Reduction::none) {
            return reduce_computed(plan.plan(), {in.x, in.target, &terms, 2, &write_loss_terms<T>}, out);
        }
        const StandardFpEnvironment environment;
        with_dtype_from_16_bits(plan.output(),
                                [&]<class Out>(Out) { store_terms(plan, terms, static_cast<Out*>(out)); });
    });
}

void compute_loss_gradient(const LossPlan& plan, const LossInputs& in, const void* upstream, const double* sums,
                           void* dx) noexcept {
    const StandardFpEnvironment environment;
    with_dtype_from_16_bits(plan.request().dtype, [&]<class T>(T) {
        LossInputs own = in;
        if (plan.request().with_respect_to == LossArgument::weight) own.weight = nullptr;
        const LossValues<T> slopes(plan, own, loss_terms::gradient_value(plan.request().with_respect_to));
        store_gradient(plan, slopes, static_cast<const T*>(upstream), sums, static_cast<T*>(dx));
    });
}

} // namespace detreduce::host
