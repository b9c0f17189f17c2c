// The gradients of a norm with respect to scale and shift by `exact`: both sums from one read of x
// and upstream. The terms are made where they are added up, so that no array holds them.
#pragma once

#include <detreduce/spec/row_grads.hpp>

#include "multiset/exact/launch_groups.cuh"
#include "row_ops/rows.hpp"

namespace detreduce::cuda {
namespace exact {

/// An element of a matrix that no array holds. Column 2j has the terms of scale of column j of the
/// rows, column 2j + 1 its elements of upstream.
template <class T>
struct ScaleTermsAt {
    using V = fp::Arithmetic<T>;
    const T *x, *upstream;
    const V *mean, *rstd;
    std::uint64_t n, stride, upstream_stride;
    void* shift_gradient; ///< or null: only that of scale is wanted
    bool centred;         ///< else the mean is 0
    bool of_upstream = false;

    [[nodiscard]] __host__ __device__ ScaleTermsAt operator+(std::uint64_t elements) const {
        const std::uint64_t row = elements / (2 * n), column = elements - row * (2 * n);
        ScaleTermsAt at = moved(*this, row, n);
        at.x += column / 2;
        at.upstream += column / 2;
        at.of_upstream = column % 2 != 0;
        return at;
    }
    [[nodiscard]] friend __host__ __device__ ScaleTermsAt moved(ScaleTermsAt p, std::uint64_t rows, std::uint64_t) {
        p.x += rows * p.stride;
        p.upstream += rows * p.upstream_stride;
        p.mean += rows;
        p.rstd += rows;
        return p;
    }
    [[nodiscard]] __device__ __forceinline__ row_grads::RowOf<V> row() const {
        return {centred ? load_read_only(mean) : V{0}, load_read_only(rstd), V{0}};
    }
    [[nodiscard]] static __device__ __forceinline__ V term(const row_grads::RowOf<V>& row, T x, T upstream) {
        return row_grads::Norm::scale_term(row, row_grads::At<V>{widen(x), widen(upstream), V{1}});
    }
    [[nodiscard]] friend __device__ __forceinline__ V load_number(const ScaleTermsAt& p) {
        const T d = load_number(p.upstream);
        return p.of_upstream ? widen(d) : term(p.row(), load_number(p.x), d);
    }
};
template <class T>
struct ScaleTerms : transforms::Element {};
template <class V, class T>
struct ElementsOf<V, ScaleTerms<T>> {
    using Pointer = ScaleTermsAt<T>;
};

/// Both sums of a column of the rows, or, of 16 bits, of two of them.
template <class V, class T>
struct ThreadSum<V, ScaleTerms<T>> {
    using Input = Terms<V, ScaleTerms<T>>;
    using Plain = ThreadSum<V, transforms::Element>; ///< of such terms in memory: with the same windows
    using BinsOf = typename Plain::BinsOf;
    template <int Columns>
    using BinsOfColumns = BinsOf;
    static constexpr bool next_is_apart = true; ///< the rows; RowGradLaunch::beside_sums() says when they do not wait
    static constexpr int blocks = policy::scale_gradient_blocks, maximum_columns = fp::has_16_bits<T> ? 4 : 2,
                         minimum_columns = 2;
    static constexpr int rows = fp::is_f64<T> ? 8 : 16,
                         per_vector = 16 / static_cast<int>(sizeof(V)); ///< at once; of 16 bytes

    [[nodiscard]] static bool takes_most(const Input& input, std::uint64_t, std::uint64_t) {
        const auto words = [](const T* p, std::uint64_t stride) {
            return reinterpret_cast<std::uintptr_t>(p) % 4 == 0 && stride % 2 == 0;
        };
        const ScaleTermsAt<T>& a = input.x;
        return a.n % 2 == 0 && words(a.x, a.stride) && words(a.upstream, a.upstream_stride);
    }
    [[nodiscard]] static __device__ __forceinline__ bool wants(const Input& input, int c) {
        return c % 2 == 0 || input.x.shift_gradient != nullptr;
    }
    [[nodiscard]] static __device__ __forceinline__ Finish finish_of(const Input& input, Finish all,
                                                                     std::uint64_t group) {
        if (group % 2 != 0) all.out = input.x.shift_gradient;
        return all.moved(group / 2);
    }

    /// Rows of a thread, as they are loaded.
    template <int Columns>
    struct Loaded {
        static constexpr int count = Columns / 2; ///< of columns of the rows
        using Word = std::conditional_t<count == 2, std::uint32_t, fp::Bits<T>>;
        Word x[rows] = {}, upstream[rows] = {};
        row_grads::RowOf<V> row[rows] = {};

        /// So many of them; of others the terms are +0.
        __device__ __forceinline__ Loaded(const ScaleTermsAt<T>& from, std::uint64_t there) {
            if (there >= rows) {
#pragma unroll
                for (int j = 0; j < rows; ++j)
                    load(j, from);
            } else {
#pragma unroll
                for (int j = 0; j < rows; ++j)
                    if (j < there) load(j, from);
            }
        }
        __device__ __forceinline__ void load(int j, const ScaleTermsAt<T>& from) {
            const ScaleTermsAt<T> p = moved(from, j, 0);
            x[j] = load_read_only(reinterpret_cast<const Word*>(p.x));
            upstream[j] = load_read_only(reinterpret_cast<const Word*>(p.upstream));
            row[j] = p.row();
        }
        [[nodiscard]] static __device__ __forceinline__ T element(Word word, int c) {
            return fp::from_bits<T>(static_cast<fp::Bits<T>>(count == 2 ? word >> 16 * c : word));
        }
        /// What is to be added to the sums of rows j … j + per_vector − 1.
        __device__ __forceinline__ void values(int j, V (&to)[Columns][per_vector]) const {
#pragma unroll
            for (int c = 0; c < count; ++c) {
#pragma unroll
                for (int i = 0; i < per_vector; ++i) {
                    const T d = element(upstream[j + i], c);
                    to[2 * c][i] = ScaleTermsAt<T>::term(row[j + i], element(x[j + i], c), d);
                    to[2 * c + 1][i] = widen(d);
                }
            }
        }
    };

    static __device__ __forceinline__ void look(Range& range, const V (&values)[per_vector]) {
        uint4 v;
        __builtin_memcpy(&v, values, sizeof v);
        Element<V>::look(range, v);
    }
    /// Adds the rows of a part: to all bins, or, where only scale is wanted, to every other one.
    template <int Step, int Columns>
    static __device__ __forceinline__ void add_rows(ScaleTermsAt<T> p, const Parts::Place& at, Range (&range)[2],
                                                    BinsOf (&bins)[Columns]) {
        p = moved(p, at.begin, 0);
#pragma unroll 1
        for (std::uint64_t row = at.begin; row < at.end; row += rows, p = moved(p, rows, 0)) {
            const Loaded<Columns> loaded(p, at.end - row);
#pragma unroll
            for (int c = 0; c < Columns; c += Step)
                bins[c].reserve_own(rows);
#pragma unroll
            for (int j = 0; j < rows; j += per_vector) {
                V v[Columns][per_vector];
                loaded.values(j, v);
#pragma unroll
                for (int c = 0; c < Columns; c += Step)
                    look(range[c % 2], v[c]);
#pragma unroll
                for (int i = 0; i < per_vector; ++i) { // one to each: additions to the same bins wait for each other
#pragma unroll
                    for (int c = 0; c < Columns; c += Step)
                        bins[c].values.add(static_cast<double>(v[c][i]));
                }
            }
        }
#pragma unroll
        for (int c = 0; c < Columns; c += Step)
            bins[c].drain_own();
    }
    template <int Columns>
    static __device__ __forceinline__ bool add_up_columns(const Input& input, const Parts::Place& at,
                                                          BinsOf (&bins)[Columns]) {
        if (!at.there) return false;
        const bool both = wants(input, 1);
        Range range[2]; // of the terms of scale and of shift
        bool may_be_minus_zero = false;
        const Loaded<Columns> first(input.x, input.n);
#pragma unroll
        for (int j = 0; j < rows; j += per_vector) {
            V v[Columns][per_vector];
            first.values(j, v);
#pragma unroll
            for (int c = 0; c < Columns; ++c) {
                look(range[c % 2], v[c]);
                if (j == 0 && (c % 2 == 0 || both)) may_be_minus_zero |= fp::is_negative(v[c][0]) && v[c][0] == 0;
            }
        }
        if (may_be_minus_zero) return false;
#pragma unroll
        for (int s = 0; s < 2; ++s) {
            const Exponents e = exponents_between<V>(range[s].largest, range[s].smallest_less_one);
            if ((s == 0 || both) && (!e.finite() || !bins[s].move_to(e, e, Plain::room_above))) return false;
#pragma unroll
            for (int c = s + 2; c < Columns; c += 2)
                bins[c].set_window(bins[s].window());
        }
        if (both)
            add_rows<1>(input.x, at, range, bins);
        else
            add_rows<2>(input.x, at, range, bins);
        return bins[0].holds(range[0], range[0]) && (!both || bins[1].holds(range[1], range[1]));
    }
};

} // namespace exact

template <class T>
Status launch_scale_gradient(const RowPlan& plan, const RowArrays& arrays, void* workspace, Stream stream) {
    using V = fp::Arithmetic<T>;
    using Input = exact::Terms<V, exact::ScaleTerms<T>>;
    const RowRequest& r = plan.request();
    const bool centred = r.op == RowOp::layernorm_gradient;
    const exact::ScaleTermsAt<T> terms{static_cast<const T*>(arrays.x),
                                       static_cast<const T*>(arrays.upstream),
                                       static_cast<const V*>(centred ? arrays.mean : arrays.rstd),
                                       static_cast<const V*>(arrays.rstd),
                                       r.n,
                                       plan.stride(),
                                       r.upstream_stride != 0 ? r.upstream_stride : r.n,
                                       arrays.shift_gradient,
                                       centred};
    const std::uint64_t columns = 2 * r.n;
    const exact::Finish finish{arrays.scale_gradient, plan.output(), Finalize::sum,
                               static_cast<std::uint32_t>(size_of(plan.output()))};
    return ExactGroupLaunch<Input>{Input(terms, terms, r.rows, columns), stream,
                                   detail::route_of(detail::sums_of(plan)).device}
        .reduce_by_threads({columns, r.rows, 1, columns, nullptr}, exact_scale_layout(r), finish, 0, workspace);
}

} // namespace detreduce::cuda
