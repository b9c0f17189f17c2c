// Laws of transform_reduce, on every backend. Included once a backend, after `TransformBackend` and
// DETREDUCE_TRANSFORM_TYPES have been defined:
//     static Status reduce<Out>(TermFunction<V>, span x, span y (empty: a function of one), Out&, TransformOptions, unsigned offset)
// and, as the GPU's code is slow to compile, `inputs<T>`: how many inputs the function may have for
// elements of T, as a list.
#pragma once

#include <vector>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/spec/tree_order.hpp>
#include <detreduce/transform_reduce.hpp>

#include <op_reference.hpp>

#include <support/catch.hpp>

#include "laws/draw.hpp"
#include "laws/expect_status.hpp"
#include "laws/term_function.hpp"

namespace detreduce::proptests {

/// Lengths around those at which tiles, chunks, rows and levels of T end, and the GPU's tiles of
/// `exact`.
template <class T>
std::vector<std::size_t> transform_lengths() {
    using Order = spec::TreeOrder<sizeof(T)>;
    std::vector<std::size_t> list{1, 2, 31, 33};
    for (const std::size_t n : {std::size_t{Order::lanes}, std::size_t{Order::chunk}, std::size_t{Order::tile}})
        list.insert(list.end(), {n - 1, n, n + 1});
    list.insert(list.end(), {3 * Order::chunk + 77, 5 * std::size_t{Order::tile} + 4097, 300007});
    return list;
}

/// Elements of ordinary size, with signs, zeros of both signs, and, where asked for, infinities and
/// NaN.
template <class T>
std::vector<T> transform_elements(std::size_t n, std::uint64_t seed, bool special = false) {
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t word = accuracy::hash(seed, i);
        const double unit = static_cast<double>(word >> 11) * 0x1p-53, sign = word & 1 ? -1 : 1;
        const double scale = static_cast<double>(1u << (word >> 4 & 3u));
        x[i] = fp::round_to<T>((word >> 1) % 16 == 0 ? sign * 0.0 : sign * unit * scale);
    }
    if (special && n > 0) x[accuracy::hash(seed, n) % n] = fp::from_bits<T>(fp::infinity_bits<T>);
    if (special && n > 3) x[n / 2] = fp::from_bits<T>(static_cast<fp::Bits<T>>(fp::infinity_bits<T> | 5u));
    return x;
}

template <class T>
std::vector<TermOf<T>> terms_of_function(const TermFunction<TermOf<T>>& f, std::span<const T> x, std::span<const T> y) {
    std::vector<TermOf<T>> terms(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
        terms[i] = y.empty() ? f(fp::widen(x[i])) : f(fp::widen(x[i]), fp::widen(y[i]));
    return terms;
}

/// What SPEC.md gives for an array of terms of elements of T.
template <class T, class Out>
Out of_terms(const std::vector<TermOf<T>>& terms, const TransformOptions& options) {
    using V = TermOf<T>;
    if (options.method == Method::exact) {
        return reduce_as<Out>(options.finalize == Finalize::mean ? Op::mean : Op::sum, terms);
    }
    return reference::with_item<V>(options.method, [&]<class Item>(Item, reference::Rows rows) {
        std::vector<Item> items(terms.size());
        for (std::size_t i = 0; i < terms.size(); ++i)
            items[i].sum = terms[i];
        return reference::ended<Out>(reference::tree_of(std::span<const Item>(items), reference::lanes_of(sizeof(T)),
                                                        reference::lanes_of(sizeof(V)), rows),
                                     options.finalize, terms.size());
    });
}

inline constexpr Method transform_methods[] = {Method::exact, Method::compensated, Method::kahan, Method::tree};

/// All that there is to choose, some of it at each call.
template <class T, class Check>
void for_transforms(std::uint64_t seed, const Check& check) {
    for (const std::size_t n : transform_lengths<T>()) {
        for (const Method method : transform_methods) {
            const std::uint64_t word = accuracy::hash(seed, n * 8 + static_cast<std::size_t>(method));
            if (n > 200000 && word % 4 != 0) continue; // the reference is slow
            TransformOptions options{.method = method, .finalize = word % 3 == 0 ? Finalize::mean : Finalize::sum};
            const auto launches = TransformBackend::launches(method);
            options.launch = launches[(word >> 8) % launches.size()];
            const auto gives = outputs(method, dtype_of<T>);
            with_dtype_from_16_bits(gives[(word >> 16) % gives.size()], [&](auto out) {
                INFO("n " << n << ' ' << name(method) << (options.finalize == Finalize::mean ? " mean to " : " sum to ")
                          << name(dtype_of<decltype(out)>) << " threads " << options.launch.threads << " grid "
                          << options.launch.grid);
                check(out, n, options, word);
            });
        }
    }
}

template <class Out, class T>
Out transformed(const TermFunction<TermOf<T>>& f, const std::vector<T>& x, const std::vector<T>& y,
                const TransformOptions& options, std::uint64_t word) {
    Out out = fp::from_bits<Out>(static_cast<fp::Bits<Out>>(0x7777));
    throw_if_error(TransformBackend::reduce<Out>(f, std::span<const T>(x), std::span<const T>(y), out, options,
                                                 static_cast<unsigned>(word >> 24) % 9));
    return out;
}

TEMPLATE_TEST_CASE("transform_reduce: the bits of an array of the terms", "[transform][sanitizer]",
                   DETREDUCE_TRANSFORM_TYPES) {
    using V = TermOf<TestType>;
    for (int kind = 0; kind < term_kinds; ++kind) {
        for_transforms<TestType>(
            static_cast<std::uint64_t>(kind), [&](auto out, std::size_t n, const auto& options, std::uint64_t word) {
                using Out = decltype(out);
                const TermFunction<V> f{static_cast<TermKind>(kind), V(1.7), V(-0.3)};
                const auto x = transform_elements<TestType>(n, word, word % 5 == 0);
                for (const int inputs : TransformBackend::inputs<TestType>()) {
                    const auto y = inputs == 2 ? transform_elements<TestType>(n, word + 1) : std::vector<TestType>();
                    const auto terms = terms_of_function<TestType>(f, x, y);
                    INFO("kind " << kind << " inputs " << inputs);
                    REQUIRE(fp::to_bits(transformed<Out>(f, x, y, options, word)) ==
                            fp::to_bits(of_terms<TestType, Out>(terms, options)));
                }
            });
    }
}

TEMPLATE_TEST_CASE("transform_reduce: the bits of the library's own ops", "[transform]", DETREDUCE_TRANSFORM_TYPES) {
    using V = TermOf<TestType>;
    for_transforms<TestType>(99, [&](auto out, std::size_t n, const auto& options, std::uint64_t word) {
        using Out = decltype(out);
        const auto x = transform_elements<TestType>(n, word, word % 7 == 0);
        const auto check = [&](TermKind kind, Op op, const std::vector<TestType>& y) {
            const TermFunction<V> f{kind, 0, 0};
            const Out expected =
                y.empty() ? reduce_as<Out>(op, x, options.method) : reduce_as<Out>(op, x, y, options.method);
            INFO(name(op));
            REQUIRE(fp::to_bits(transformed<Out>(f, x, y, options, word)) == fp::to_bits(expected));
        };
        for (const int inputs : TransformBackend::inputs<TestType>()) {
            const auto y = inputs == 2 ? transform_elements<TestType>(n, word + 1) : std::vector<TestType>();
            const bool mean = options.finalize == Finalize::mean;
            if (inputs == 1) check(TermKind::first, mean ? Op::mean : Op::sum, y);
            if (options.method != Method::tree || mean) continue; // others keep what the product loses
            if (inputs == 1) check(TermKind::square, Op::sumsq, y);
            if (inputs == 2) check(TermKind::product, Op::dot, y);
        }
    });
}

TEMPLATE_TEST_CASE("transform_reduce: zeros keep their signs, and terms of nothing take no part", "[transform]",
                   DETREDUCE_TRANSFORM_TYPES) {
    using V = TermOf<TestType>;
    for (const std::size_t n : transform_lengths<TestType>()) {
        for (const Method method : transform_methods) {
            for (const int inputs : TransformBackend::inputs<TestType>()) {
                const std::vector<TestType> x(n, fp::round_to<TestType>(1.0)),
                    y(inputs == 2 ? n : 0, fp::round_to<TestType>(1.0));
                INFO("n " << n << ' ' << name(method) << " inputs " << inputs);
                const TransformOptions options{.method = method};
                const auto of = [&](V value) {
                    return transformed<double>(TermFunction<V>{TermKind::constant, value, 0}, x, y, options, n << 24);
                };
                REQUIRE(fp::to_bits(of(V(-0.0))) == fp::to_bits(-0.0));
                REQUIRE(fp::to_bits(of(V(0.0))) == fp::to_bits(0.0));
                REQUIRE(of(V(0.5)) == 0.5 * static_cast<double>(n));
            }
        }
    }
}

TEMPLATE_TEST_CASE("transform_reduce: nothing", "[transform]", float16, double) {
    using V = TermOf<TestType>;
    for (const Method method : transform_methods) {
        for (const int inputs : TransformBackend::inputs<TestType>()) {
            if (inputs == 2) continue;
            const TermFunction<V> f{TermKind::constant, V(-3), 0};
            const std::vector<TestType> none;
            REQUIRE(fp::to_bits(transformed<double>(f, none, none, {.method = method}, 0)) == 0);
        }
    }
}

} // namespace detreduce::proptests
