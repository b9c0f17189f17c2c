// One row of a row op on the CPU: sums over it, by the engines for all arrays, and what is written
// of its elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <detreduce/spec/row_math.hpp>

#include "host/arena.hpp"
#include "host/for_each.hpp"
#include "host/multiset/multiset.hpp"
#include "host/sequence/sequence.hpp"

namespace detreduce::host {

/// A row of elements of T, and the threads that work on it.
template <class T>
struct Row {
    using V = fp::Arithmetic<T>;
    using Order = spec::TreeOrder<sizeof(T)>;
    const IsaFunctions<T>& isa;
    const Search& maximum;
    const T* x;
    std::uint64_t n;
    std::uint32_t threads;

    [[nodiscard]] V rounded(const acc::Rounded<V>& sum) const { return acc::finish<V>(sum.total(), Finalize::sum, n); }

    /// What the elements, or terms of them, are by `tree`.
    template <class Acc>
    [[nodiscard]] Acc reduced(Transform transform) const {
        const Arrays<T> in{x, nullptr, n};
        return tree<Acc>(Elements<T>{isa, transform, in}, threads);
    }
    /// Σ of what write(first, count, terms) computes, by `tree`.
    template <class Write>
    [[nodiscard]] V sum(const Write& write) const {
        const auto call = [](const detail::TermSource& s, std::uint64_t first, std::uint32_t count, void* terms) {
            (*static_cast<const Write*>(s.f))(first, count, static_cast<V*>(terms));
        };
        const detail::TermSource source{x, nullptr, &write, 1, call};
        return rounded(tree<acc::Rounded<V>>(ComputedTerms<T>{isa, source, n}, threads));
    }
    [[nodiscard]] V maximum_element() const {
        Search::Found found{};
        gather(maximum, found, Arrays<T>{x, nullptr, n}, threads);
        V value;
        maximum.store(found, n, &value);
        return value;
    }

    /// Of elements less `origin`; terms and maxima as IsaFunctions::exp_tile() has them, or null.
    [[nodiscard]] spec::ExpState<T> exp_state(V origin, V* terms, V* maxima) const {
        return reduce_tiles<spec::ExpState<T>, T>(n, threads, [&](std::uint64_t first, std::uint32_t m) {
            return isa.exp_tile(x + first, m, origin, terms ? terms + first : nullptr,
                                maxima ? maxima + first / Order::chunk : nullptr);
        });
    }
    [[nodiscard]] spec::ExpSum<T> exp_sum(V* terms = nullptr, V* maxima = nullptr) const {
        using Sum = spec::ExpSum<T>;
        if (n == 0) return Sum::special(-spec::infinite<V>);
        if (const auto plain = exp_state(V{0}, terms, maxima); Sum::is_plain(plain)) return Sum::plain(plain);
        const V most = maximum_element();
        return fp::is_finite(most) ? Sum::of(exp_state(most, terms, maxima), most) : Sum::special(most);
    }

    /// f(first, count) for all elements, a part of them at a time.
    template <class F>
    void for_each_part(const F& f) const {
        constexpr std::uint64_t part = 4096;
        for_each((n + part - 1) / part, threads,
                 [&](std::uint64_t i) { f(i * part, static_cast<std::uint32_t>(std::min(part, n - i * part))); });
    }
    /// out[i] = f(i), rounded.
    template <class Out, class F>
    void write(Out* out, const F& f) const {
        for_each_part([&](std::uint64_t first, std::uint32_t count) {
            for (std::uint64_t i = first; i < first + count; ++i)
                out[i] = fp::round_to<Out>(f(i));
        });
    }
    /// out[i] = what `of` says, rounded.
    template <class Out>
    void write(Out* out, const RowValues<V>& of, const T* scale = nullptr, const T* shift = nullptr) const {
        for_each_part([&](std::uint64_t first, std::uint32_t count) {
            const T *const scales = scale ? scale + first : nullptr, *const shifts = shift ? shift + first : nullptr;
            if constexpr (std::is_same_v<Out, V>) {
                isa.row_values(of, x + first, scales, shifts, count, out + first);
            } else {
                const Buffer<V> values(count);
                isa.row_values(of, x + first, scales, shifts, count, values.data());
                isa.store(values.data(), count, out + first);
            }
        });
    }
    /// Writes what of(the row's sum) makes of softmax. Each term is computed once where `out` has
    /// room for terms and is not the row.
    template <class Out, class F>
    spec::ExpSum<T> write_softmax(Out* out, const F& of) const {
        if constexpr (std::is_same_v<Out, V>) {
            if (n <= longest_with_terms && static_cast<const void*>(out) != x) return write_kept(out, of);
        }
        const auto sum = exp_sum();
        write(out, of(sum));
        return sum;
    }
    /// Terms of longer rows are not kept: the maxima of their chunks would not fit the arena.
    static constexpr std::uint64_t longest_with_terms = std::uint64_t{1} << 18;
    template <class F>
    spec::ExpSum<T> write_kept(V* out, const F& of) const {
        constexpr std::uint32_t chunk = Order::chunk;
        const Buffer<V> maxima((n + chunk - 1) / chunk);
        const auto sum = exp_sum(out, maxima.data());
        const RowValues<V> values = of(sum);
        if (sum.is_special()) {
            write(out, values);
            return sum;
        }
        const V most = spec::exp_exponent(sum.maximum - sum.origin);
        for_each_part([&](std::uint64_t first, std::uint32_t count) {
            for (const std::uint64_t end = first + count; first < end; first += chunk) {
                const auto m = static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk, end - first));
                const auto scale = spec::ExpScale<V>::of(most - spec::exp_exponent(maxima[first / chunk]));
                RowValues<V> here = values;
                here.factor = scale.of_sum(values.factor);
                // A term that is inexact relative to the row's maximum has a softmax of 0, as it
                // has in the text.
                if (!(here.factor >= std::numeric_limits<V>::min())) {
                    here.factor = values.factor;
                    for (std::uint32_t i = 0; i < m; ++i)
                        out[first + i] = scale.of_sum(out[first + i]);
                }
                isa.values_of_terms(here, m, out + first);
            }
        });
        return sum;
    }
    /// out[i] = f(i, term of x[i]), rounded.
    template <class Out, class F>
    void write_of_terms(Out* out, const spec::ExpSum<T>& sum, const F& f) const {
        for_each_part([&](std::uint64_t first, std::uint32_t count) {
            const Buffer<V> term(count);
            isa.row_values({RowValue::term, sum.origin, V{1}, sum.reference}, x + first, nullptr, nullptr, count,
                           term.data());
            for (std::uint32_t i = 0; i < count; ++i)
                term[i] = f(first + i, term[i]);
            isa.store(term.data(), count, out + first);
        });
    }
};

} // namespace detreduce::host
