// Sums and means of elements by `exact`: of neighbouring groups many at once, without a state.
#include <algorithm>

#include <detreduce/acc/finish.hpp>

#include "host/multiset/limbs.hpp"
#include "host/multiset/multiset.hpp"

namespace detreduce::host {
namespace exact = acc::exact;

void SumOfElements::store(const Found& sums, std::uint64_t, void* out) const {
    Limbs::of_state(sums.words).store(out, plan.output(), op.finalize);
}

/// What is in the bins of a group, of any length below 2^30.
struct SumOfElements::Bins {
    __int128 bin[GroupWindow::bins];
    bool whole;

    [[nodiscard]] static Bins of(const GroupSums& sums, std::uint64_t i) {
        return {{sums.bin[0][i], sums.bin[1][i]}, sums.unknown[i] == 0};
    }
    void merge(const Bins& other) {
        for (int k = 0; k < GroupWindow::bins; ++k)
            bin[k] += other.bin[k];
        whole = whole && other.whole;
    }

    static constexpr std::uint64_t most_elements = std::uint64_t{1} << 30;
    static constexpr int first_top = 6;    ///< holds what lies around 1
    static constexpr int no_top = 1 << 20; ///< none is known
    static int clamped(int top) { return std::clamp(top, GroupWindow::lowest_top, GroupWindow::highest_top); }
};

/// Rounds a sum that is no NaN, and stores it.
__attribute__((always_inline)) inline void SumOfElements::store_finished(const acc::Finished& finished,
                                                                         void* out) const {
    if (plan.output() == DType::f32) {
        *static_cast<float*>(out) = static_cast<float>(finished.odd);
    } else {
        acc::store_as(out, plan.output(), [&](auto t) { return finished.as<decltype(t)>(); });
    }
}

/// A sum that is two doubles: |upper| and |lower| are at most 2^53. False where another way has to
/// be taken.
inline bool SumOfElements::store_doubles(std::int64_t upper, std::int64_t lower, int top, void* out) const {
    const int unit = GroupWindow::unit(top, 0), lower_unit = GroupWindow::unit(top, 1);
    if (op.finalize != Finalize::sum || lower_unit <= -fp::Format<double>::max_exponent) return false;
    const auto power = [](int exponent) { return fp::from_bits<double>(std::uint64_t(exponent + 1023) << 52); };
    const double high = static_cast<double>(upper) * power(unit);
    double odd = high, nearest = high;
    if (lower != 0) {
        const double low = static_cast<double>(lower) * power(lower_unit);
        nearest = high + low;
        odd = fp::sum_rounded_to_odd(high, low);
    }
    store_finished({nearest, odd}, out);
    return true;
}

bool SumOfElements::store_bins(const Bins& bins, int top, std::uint64_t n, void* out) const {
    static_assert(GroupWindow::bins == 2);
    if (!bins.whole) return false;
    constexpr __int128 most = std::int64_t{1} << 53;
    const auto is_double = [](__int128 i) { return i <= most && i >= -most; };
    if (is_double(bins.bin[0]) && is_double(bins.bin[1]) &&
        store_doubles(static_cast<std::int64_t>(bins.bin[0]), static_cast<std::int64_t>(bins.bin[1]), top, out))
        return true;
    const int upper = GroupWindow::unit(top, 0), lower = GroupWindow::unit(top, 1);
    const __int128 sum = bins.bin[0] * (__int128{1} << (upper - lower)) + bins.bin[1];
    const auto outcome = exact::Outcome::of(exact::leading(sum, lower)).finalized(op.finalize, n);
    acc::store_as(out, plan.output(), [&](auto t) { return exact::rounded<decltype(t)>(outcome); });
    return true;
}

/// Group i of some.
inline bool SumOfElements::store_sum(const GroupSums& sums, std::uint64_t i, int top, std::uint64_t n,
                                     void* out) const {
    constexpr std::int64_t most = std::int64_t{1} << 53;
    const std::int64_t upper = sums.bin[0][i], lower = sums.bin[1][i];
    const bool are_doubles = upper <= most && upper >= -most && lower <= most && lower >= -most;
    if (are_doubles && sums.unknown[i] == 0 && store_doubles(upper, lower, top, out)) return true;
    return store_bins(Bins::of(sums, i), top, n, out);
}

/// Those of `count` groups of n that were rounded nowhere; the others may be overwritten.
inline void SumOfElements::store_plain(const RowSums& found, std::uint64_t n, std::uint32_t count, char* out) const {
    if (op.finalize == Finalize::sum) {
        return with_dtype(plan.output(), [&]<class Out>(Out) {
            isa.of<Out>().rounded_sums(found.sum, count, reinterpret_cast<Out*>(out));
        });
    }
    const std::size_t bytes = detail::group_bytes(plan);
    for (std::uint32_t i = 0; i < count; ++i) {
        if (found.is_sum[i] != 0)
            store_finished(acc::finished(fp::Eft<double>{found.sum[i], 0}, op.finalize, n), out + i * bytes);
    }
}

/// Rows of at most longest_row<T> elements.
template <class T>
void SumOfElements::store_rows(const T* x, std::uint64_t pitch, std::uint64_t n, std::uint64_t count, Before& before,
                               char* out) const {
    constexpr std::uint64_t at_once = rows_at_once;
    const std::size_t bytes = detail::group_bytes(plan);
    const IsaFunctions<T>& own = isa.of<T>();
    const auto m = static_cast<std::uint32_t>(n);
    for (std::uint64_t first = 0; first < count; first += at_once) {
        const auto here = static_cast<std::uint32_t>(std::min(at_once, count - first));
        const T* const rows = x + first * pitch;
        RowSums plain;
        std::uint32_t others = here; // rows that are no plain sums
        const bool tries_plain = !fp::is_f64<T> && before.tries_plain();
        if (tries_plain) {
            own.plain_sums_of_rows(rows, pitch, m, here, plain);
            store_plain(plain, n, here, out + first * bytes);
            others = static_cast<std::uint32_t>(std::count(plain.is_sum, plain.is_sum + here, 0));
        }
        const bool fits_bins = n <= GroupSums::row;
        const bool all_in_bins = others > here / 4; // rather than one by one
        before.saw(tries_plain, all_in_bins);
        if (others == 0) continue;
        const int tried = before.top;
        GroupSums sums;
        if (fits_bins && all_in_bins) own.sums_of_rows(rows, pitch, m, here, tried, sums);
        for (std::uint64_t r = 0; r < here; ++r) {
            if (tries_plain && plain.is_sum[r] != 0) continue;
            void* const to = out + (first + r) * bytes;
            const T* const row = rows + r * pitch;
            if (fits_bins) {
                if (all_in_bins && store_sum(sums, r, tried, n, to)) continue;
                const int needed = Bins::clamped(own.top_of_columns(row, 0, 1, m));
                before.top = Bins::clamped(needed + 1);
                GroupSums again;
                own.sums_of_rows(row, pitch, m, 1, needed, again);
                if (store_sum(again, 0, needed, n, to)) continue;
            }
            Found found{};
            ExactPlace place{.is_not_plain = true};
            own.exact(row, n, found.words, place);
            store(found, n, to);
        }
    }
}

/// Columns of which several threads look at parts.
struct SumOfElements::Strip {
    struct Found {
        Bins of[GroupSums::groups];
        Found() { std::fill_n(of, GroupSums::groups, Bins{{}, true}); }
    };
    static void merge(Found& all, const Found& part, std::uint64_t) {
        for (std::uint32_t c = 0; c < GroupSums::groups; ++c)
            all.of[c].merge(part.of[c]);
    }
};

/// At most GroupSums::groups neighbours. `before.top` as of rows, or no_top.
template <class T>
void SumOfElements::store_columns(const T* x, std::uint64_t stride, std::uint64_t n, std::uint64_t columns,
                                  std::uint32_t threads, Before& before, char* out) const {
    constexpr std::uint64_t most = GroupSums::most, few = 64; ///< rows; columns with a top of their own
    // With so many rows hardly any column of normal numbers is no plain sum.
    constexpr std::uint64_t plain_rows = std::min(RowSums::row, 1u << (53 - fp::Format<T>::precision) / 3);
    const std::size_t bytes = detail::group_bytes(plan);
    const IsaFunctions<T>& own = isa.of<T>();
    const auto top_of = [&](std::uint64_t first, std::uint64_t width, std::uint64_t from, std::uint64_t count) {
        return Bins::clamped(own.top_of_columns(x + first + from * stride, stride, static_cast<std::uint32_t>(count),
                                                static_cast<std::uint32_t>(width)));
    };
    bool done[GroupSums::groups] = {};
    // Those at `first` that are not done.
    const auto attempt = [&](std::uint64_t first, std::uint64_t width, int tried) {
        const auto sum = [&](std::uint64_t from, std::uint64_t count, GroupSums& sums) {
            const T* const at = x + first + from * stride;
            own.sums_of_columns(at, stride, static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(width), tried,
                                from + count < n ? at + count * stride : x + columns, sums);
        };
        const auto store_all = [&](const auto& store_one) {
            for (std::uint64_t c = 0; c < width; ++c)
                done[first + c] = done[first + c] || store_one(c, out + (first + c) * bytes);
        };
        if (n <= most) {
            GroupSums sums;
            sum(0, n, sums);
            return store_all([&](std::uint64_t c, void* to) { return store_sum(sums, c, tried, n, to); });
        }
        Strip::Found found;
        gather_runs(Strip{}, found, n, threads, [&](Strip::Found& part, std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t i = begin; i < end; i += most) {
                GroupSums sums;
                sum(i, std::min(end - i, most), sums);
                for (std::uint64_t c = 0; c < width; ++c)
                    part.of[c].merge(Bins::of(sums, c));
            }
        });
        store_all([&](std::uint64_t c, void* to) { return store_bins(found.of[c], tried, n, to); });
    };
    // From the first to the last that is not done, of `count` columns.
    struct Run {
        std::uint64_t at, width;
    };
    const auto remaining = [&](std::uint64_t first, std::uint64_t count) {
        std::uint64_t begin = first, end = std::min(columns, first + count);
        while (begin < end && done[begin])
            ++begin;
        while (end > begin && done[end - 1])
            --end;
        return Run{begin, end - begin};
    };
    const bool tries_plain = !fp::is_f64<T> && n <= plain_rows && columns >= RowSums::columns && before.tries_plain();
    if (tries_plain) {
        const auto width = static_cast<std::uint32_t>(columns);
        RowSums plain;
        own.plain_sums_of_columns(x, stride, static_cast<std::uint32_t>(n), width, x + columns, plain);
        store_plain(plain, n, width, out);
        for (std::uint32_t c = 0; c < width; ++c)
            done[c] = plain.is_sum[c] != 0;
    }
    const bool all_in_bins = static_cast<std::uint64_t>(std::count(done, done + columns, false)) > columns / 64;
    before.saw(tries_plain, all_in_bins);
    if (all_in_bins) {
        if (before.top == Bins::no_top) // that of the first, with room for the others
            before.top = Bins::clamped(top_of(0, std::min(columns, few), 0, std::min<std::uint64_t>(n, 64)) + 2);
        attempt(0, columns, before.top);
    }
    for (std::uint64_t first = 0; first < columns; first += few) {
        const auto [at, width] = remaining(first, few);
        if (width == 0) continue;
        int top = GroupWindow::lowest_top;
        for (std::uint64_t i = 0; i < n; i += most)
            top = std::max(top, top_of(at, width, i, std::min(n - i, most)));
        before.top = Bins::clamped(top + 1); // and for the columns to come
        attempt(at, width, before.top);
    }
    for (std::uint64_t first = 0; first < columns; first += gathered_columns<T>) {
        const auto [at, width] = remaining(first, gathered_columns<T>);
        if (width == 0) continue;
        const Buffer<Found> found(width);
        std::fill_n(found.data(), width, Found{});
        gather_columns(*this, found.data(), Arrays<T>{x + at, nullptr, n, stride}, width, threads);
        for (std::uint64_t c = 0; c < width; ++c) {
            if (!done[at + c]) store(found[c], n, out + (at + c) * bytes);
        }
    }
}

template <class T>
bool SumOfElements::store_short(const Arrays<T>& group, void* out) const {
    if (group.n == 0 || group.n > longest_row<T> || group.step != 1) return false;
    const bool is_short = group.n < 64; // then bins of one row are faster
    Before before{Bins::first_top, is_short ? 1 : 0};
    store_rows(group.x, 0, group.n, 1, before, static_cast<char*>(out));
    return true;
}

template <class T>
bool SumOfElements::store_neighbours(const Inputs& in, void* out) const {
    const Request& r = plan.request();
    const std::uint64_t groups = plan.groups();
    const bool is_across = detail::is_across(r.shape);
    if (groups < 2 || r.n == 0 || r.n > (is_across ? Bins::most_elements : longest_row<T>)) return false;
    if (!is_across && r.shape != Shape::rows) return false;
    const std::uint32_t threads = plan.launch().threads;
    const detail::Strides strides = detail::strides_of(r);
    const T* const x = static_cast<const T*>(in.x);
    // So many that what is found out of some serves many: of rows a thread's, of columns a line of
    // memory or more.
    constexpr std::uint64_t line = 64 / sizeof(T), strips = 16;
    const std::uint64_t together = is_across ? GroupSums::groups : rows_at_once;
    constexpr std::uint64_t fewest_rows = 8, most_rows = std::uint64_t{1} << 24;
    std::uint64_t at_once = strips * together;
    if (!is_across) at_once = std::clamp(groups / threads + (groups % threads != 0), fewest_rows, most_rows);
    const auto parts_are_below = [&](std::uint64_t count) {
        return is_across && spec::tiles(groups, static_cast<std::uint32_t>(at_once)) < count;
    };
    while (at_once > together && threads > 1 && parts_are_below(std::uint64_t{4} * threads))
        at_once /= 2;
    while (at_once > line && parts_are_below(threads))
        at_once /= 2;
    const auto run = [&](std::uint64_t i, std::uint32_t of_one) {
        const std::size_t bytes = detail::group_bytes(plan);
        const std::uint64_t end = std::min((i + 1) * at_once, groups);
        Before before{is_across ? Bins::no_top : Bins::first_top};
        for (std::uint64_t g = i * at_once; g < end; g += together) {
            const std::uint64_t count = std::min(together, end - g);
            char* const to = static_cast<char*>(out) + g * bytes;
            if (is_across) {
                store_columns(x + g, strides.element, r.n, count, of_one, before, to);
            } else {
                store_rows(x + g * strides.group, strides.group, r.n, count, before, to);
            }
        }
    };
    const std::uint64_t parts = r.n / GroupSums::most + 1; // of a column
    for_each_or_together(spec::tiles(groups, static_cast<std::uint32_t>(at_once)), parts, threads, run);
    return true;
}

#define DETREDUCE_INSTANTIATE(name, c_name, type)                                                                      \
    template bool SumOfElements::store_short(const Arrays<type>&, void*) const;                                        \
    template bool SumOfElements::store_neighbours<type>(const Inputs&, void*) const;
DETREDUCE_FORMATS(DETREDUCE_INSTANTIATE)
#undef DETREDUCE_INSTANTIATE

} // namespace detreduce::host
