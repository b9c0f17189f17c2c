// The multiset engine: what does not depend on the order of elements. Any part of them can be
// looked at by any thread, and what was found be merged in any order. An op here is a class of five
// functions: add() looks at a part of the elements, 1 or more side by side, which begins at element
// `first` of all; merge() adds what was found in such a part to what was found elsewhere; store()
// makes the results of n elements of it; save() makes the words of a state (lib/SPEC.md,
// section 18), and load() is save() backwards.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

#include <detreduce/plan.hpp>
#include <detreduce/spec/list_found.hpp>

#include "host/groups.hpp"
#include "host/isa/isa_table.hpp"
#include "host/multiset/exact_sums.hpp"
#include "state_form.hpp"

namespace detreduce::host {

/// Ops of sums by `exact`.
template <class Sums>
struct ExactOp {
    using Found = Sums;
    const Plan& plan;
    const OpInfo& op = info(plan.request().op);
    const IsaTable& isa = isa_table(plan.launch().isa);

    static void merge(Found& all, const Found& part, std::uint64_t) { all.merge(part); }

  protected:
    static void save_sum(const acc::exact::Word* state, acc::exact::Word* to) {
        std::copy_n(state, acc::exact::words, to);
        detail::settle_zeros(to);
    }
    /// Of three states of products: as one, or, where nothing goes into the outer two, the middle
    /// one.
    void save_products(const acc::exact::Word* states, acc::exact::Word* to) const {
        if (!detail::has_joined_products(plan.request())) return save_sum(states + acc::exact::words, to);
        acc::exact::join(states, to);
        detail::settle_zeros(to + acc::exact::product_limbs - acc::exact::limbs);
    }
    void load_products(acc::exact::Word* states, const acc::exact::Word* from) const {
        if (detail::has_joined_products(plan.request())) return acc::exact::part(from, states);
        std::copy_n(from, acc::exact::words, states + acc::exact::words);
    }
};

/// Sums and means of elements.
struct SumOfElements : ExactOp<ElementSums> {
    template <class T>
    void add(Found& sums, const Arrays<T>& part, std::uint64_t) const {
        ExactPlace place;
        isa.of<T>().exact(part.x, part.n, sums.words, place);
    }
    void store(const Found& sums, std::uint64_t n, void* out) const;
    /// The results of groups that need no state, or few of which do; false if they are not such.
    template <class T>
    [[nodiscard]] bool store_neighbours(const Inputs& in, void* out) const;
    /// Of one of them.
    template <class T>
    [[nodiscard]] bool store_short(const Arrays<T>& group, void* out) const;
    void save(const Found& sums, acc::exact::Word* to) const { save_sum(sums.words, to); }
    void load(Found& sums, const acc::exact::Word* from) const { std::copy_n(from, acc::exact::words, sums.words); }

  private:
    struct Bins;
    struct Strip;
    void store_finished(const acc::Finished& finished, void* out) const;
    [[nodiscard]] bool store_doubles(std::int64_t upper, std::int64_t lower, int top, void* out) const;
    [[nodiscard]] bool store_bins(const Bins& bins, int top, std::uint64_t n, void* out) const;
    [[nodiscard]] bool store_sum(const GroupSums& sums, std::uint64_t i, int top, std::uint64_t n, void* out) const;
    void store_plain(const RowSums& found, std::uint64_t n, std::uint32_t count, char* out) const;
    static constexpr std::uint32_t rows_at_once = 64;
    /// What is known of the groups before.
    struct Before {
        static constexpr int pause = 15; ///< batches, after one of which many groups were no plain sums
        int top;                         ///< where the bins are tried first
        int others = 0;                  ///< for how many batches plain sums are not tried

        [[nodiscard]] bool tries_plain() const { return others == 0; }
        void saw(bool tried_plain, bool many_others) {
            if (tried_plain) {
                others = many_others ? pause : 0;
            } else if (others > 0) {
                --others;
            }
        }
    };
    template <class T>
    static constexpr std::uint64_t longest_row = fp::is_f64<T> ? GroupSums::row : RowSums::row;
    template <class T>
    void store_rows(const T* x, std::uint64_t pitch, std::uint64_t n, std::uint64_t count, Before& before,
                    char* out) const;
    template <class T>
    void store_columns(const T* x, std::uint64_t stride, std::uint64_t n, std::uint64_t columns, std::uint32_t threads,
                       Before& before, char* out) const;
};

/// Sums, means and norms of terms.
struct SumOfTerms : ExactOp<TermSums> {
    template <class T>
    void add(Found& sums, const Arrays<T>& part, std::uint64_t) const {
        ExactPlace place;
        isa.of<T>().exact_terms(op.transform, part.x, part.y, part.n, sums.words, place);
    }
    void store(const Found& sums, std::uint64_t n, void* out) const;
    void save(const Found& sums, acc::exact::Word* to) const { save_products(sums.words, to); }
    void load(Found& sums, const acc::exact::Word* from) const { load_products(sums.words, from); }
};

/// Mean and variance.
struct MomentsOp : ExactOp<PowerSums> {
    /// Both sums of what is in the cache: memory is read once.
    template <class T>
    void add(Found& sums, const Arrays<T>& part, std::uint64_t) const {
        constexpr std::uint64_t block = (std::uint64_t{1} << 17) / sizeof(T);
        ExactPlace place, of_squares;
        for (std::uint64_t i = 0; i < part.n; i += block) {
            const Arrays<T> cached = part.part(i, block);
            isa.of<T>().exact(cached.x, cached.n, sums.words, place);
            isa.of<T>().exact_terms(Transform::square, cached.x, nullptr, cached.n, sums.words + acc::exact::words,
                                    of_squares);
        }
    }
    void store(const Found& sums, std::uint64_t n, void* out) const;
    void save(const Found& sums, acc::exact::Word* to) const {
        save_sum(sums.words, to);
        save_products(sums.words + acc::exact::words, to + acc::exact::words);
    }
    void load(Found& sums, const acc::exact::Word* from) const {
        std::copy_n(from, acc::exact::words, sums.words);
        load_products(sums.words + acc::exact::words, from + acc::exact::words);
    }
};

/// Ops that compare elements, and count_nonzero.
class Search {
  public:
    using Found = spec::ListFound;

    explicit Search(const Plan& plan)
        : request_(plan.request()), isa_(isa_table(plan.launch().isa)),
          list_(spec::ListView::of(request_.op, request_.nan)), output_(plan.output()),
          result_bytes_(plan.result_bytes()), wants_index_(list_.integer && !list_.counts),
          form_(detail::StateForm::of(plan)) {}

    template <class T>
    void add(Found& found, const Arrays<T>& part, std::uint64_t first) const {
        merge(found, in<T>(part.x, part.n), first);
    }
    void merge(Found& all, Found part, std::uint64_t first) const {
        if (wants_index_) part.integer += first;
        all.merge(part, list_.counts);
    }
    void store(const Found& found, std::uint64_t, void* out) const { list_.store(found, out, output_, result_bytes_); }
    void save(const Found& found, std::int64_t* to) const;
    void load(Found& found, const std::int64_t* from) const { found = form_.found(from, list_); }

  private:
    template <class T>
    [[nodiscard]] Found in(const T* x, std::uint64_t n) const; ///< indices are those in x

    const Request& request_;
    const IsaTable& isa_;
    spec::ListView list_;
    DType output_;
    std::size_t result_bytes_;
    bool wants_index_;
    detail::StateForm form_;
};

/// f(op) for the op of a plan.
template <class F>
void with_multiset_op(const Plan& plan, const F& f) {
    const OpInfo& op = info(plan.request().op);
    if (op.kind == Kind::moments) return f(MomentsOp{{plan}});
    if (op.kind != Kind::sum) return f(Search(plan));
    if (op.transform == Transform::element) return f(SumOfElements{{plan}});
    f(SumOfTerms{{plan}});
}

/// What there is in n elements: each thread takes a run of them, and add(found, begin, end) looks
/// at those. Merged with `all`.
template <class Op, class Add>
void gather_runs(const Op& op, typename Op::Found& all, std::uint64_t n, std::uint32_t threads, const Add& add) {
    if (n == 0) return;
    if (threads == 1) return add(all, 0, n);
    std::mutex merging;
    for_runs(n, threads, threads, [&](std::uint64_t, std::uint64_t begin, std::uint64_t end) {
        typename Op::Found own{};
        add(own, begin, end);
        const std::lock_guard lock(merging);
        op.merge(all, own, 0);
    });
}

/// The same of elements. What is not side by side is copied a block at a time.
template <class Op, class T>
void gather(const Op& op, typename Op::Found& all, const Arrays<T>& in, std::uint32_t threads) {
    gather_runs(op, all, in.n, threads, [&](typename Op::Found& found, std::uint64_t begin, std::uint64_t end) {
        if (in.step == 1) return op.add(found, in.part(begin, end - begin), begin);
        constexpr std::uint64_t block = 4096;
        for (; begin < end; begin += block) {
            const Neighbours<T> part(in.part(begin, std::min(block, end - begin)));
            op.add(found, part.in, begin);
        }
    });
}

/// Columns that gather_columns() takes at once, at most.
template <class T>
inline constexpr std::uint64_t gathered_columns = std::min<std::uint64_t>(line_bytes / sizeof(T), 16);

/// The same of `columns` neighbours of one length, from a copy of some rows of them at a time.
template <class Op, class T>
void gather_columns(const Op& op, typename Op::Found* all, const Arrays<T>& first, std::uint64_t columns,
                    std::uint32_t threads) {
    using Found = typename Op::Found;
    constexpr std::uint64_t most = gathered_columns<T>, rows = 2048; ///< of one array; of two half as many
    static_assert(most * (2 * column_pitch<T>(rows / 2) * sizeof(T) + 2 * sizeof(Found)) <= strip_bytes<T>);
    const std::uint64_t block = first.y ? rows / 2 : rows, n = first.n;
    const auto add = [&](Found* found, std::uint64_t begin, std::uint64_t end) {
        for (; begin < end; begin += block) {
            for_each_column(first.part(begin, std::min(block, end - begin)), columns,
                            [&](std::uint64_t c, const Arrays<T>& part) { op.add(found[c], part, begin); });
        }
    };
    if (threads == 1) return add(all, 0, n);
    std::mutex merging;
    for_runs(n, threads, threads, [&](std::uint64_t, std::uint64_t begin, std::uint64_t end) {
        const Buffer<Found> own(columns);
        std::fill_n(own.data(), columns, Found{});
        add(own.data(), begin, end);
        const std::lock_guard lock(merging);
        for (std::uint64_t c = 0; c < columns; ++c)
            op.merge(all[c], own[c], 0);
    });
}

/// f(column, what there is in it) for columns, of which there are 2 or more of more than a tile.
template <class T, class Op, class F>
void gather_all_columns(const Op& op, const Plan& plan, const Inputs& in, const F& f) {
    using Found = typename Op::Found;
    constexpr std::uint64_t width = gathered_columns<T>, part = 4096; ///< rows that are worth a thread
    const std::uint64_t groups = plan.groups(), n = plan.request().n;
    for_each_or_together(spec::tiles(groups, width), n / part + 1, plan.launch().threads,
                         [&](std::uint64_t strip, std::uint32_t together) {
                             const std::uint64_t first = strip * width, columns = std::min(width, groups - first);
                             const Buffer<Found> found(columns);
                             std::fill_n(found.data(), columns, Found{});
                             gather_columns(op, found.data(), group_of<T>(plan, in, first), columns, together);
                             for (std::uint64_t c = 0; c < columns; ++c)
                                 f(first + c, found[c]);
                         });
}

/// The sums of a list of tensors, as if they were one array.
[[nodiscard]] TermSums sum_of_list(const Plan& plan, const Inputs& in);

} // namespace detreduce::host
