// What an instruction set gives to the CPU backend: the first level of the methods with a fixed
// order, one tile at a time, the terms of the ops, the limbs of `exact`, the keys of what is
// compared, what is counted, losses, and gradients of row ops.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <detreduce/acc/exact.hpp>
#include <detreduce/acc/moments.hpp>
#include <detreduce/acc/product.hpp>
#include <detreduce/fp/convert.hpp>
#include <detreduce/fp/format.hpp>
#include <detreduce/loss_words.hpp>
#include <detreduce/spec/exact_window.hpp>
#include <detreduce/spec/exp_term.hpp>
#include <detreduce/spec/loss_terms.hpp>
#include <detreduce/spec/order_key.hpp>
#include <detreduce/spec/row_grads.hpp>
#include <detreduce/spec/tree_order.hpp>
#include <detreduce/types.hpp>

#include "accumulators.hpp"

namespace detreduce::host {

/// Which function of an element and its target.
template <class V>
struct LossMap {
    Loss loss;
    V parameter;
    loss_terms::Value value;
};

/// Which function of an element, for the gradient of a row op (spec/row_grads.hpp): one of the
/// terms that are summed over the row, what is written once the sums are known, or what is summed
/// over the rows.
enum class RowGradPart : std::uint8_t { first_term, second_term, slope, scale_term };
template <class V>
struct RowGradMap {
    RowOp op;
    RowGradPart part;
    row_grads::RowOf<V> row;
    V sum[2];
};

/// What a row op writes of an element x, once the sums of the row are known.
enum class RowValue : std::uint8_t {
    term,        ///< e^(x − origin) relative to a reference
    softmax,     ///< term · factor
    slope,       ///< by · softmax · upstream
    log_softmax, ///< (x − origin) − factor
    normalized,  ///< (x − origin) · factor, times scale, plus shift
};
template <class V>
struct RowValues {
    RowValue what;
    V origin, factor;
    spec::ExpReference<V> reference{};
    V by{1}, upstream{1};
};

/// How a tile is reduced by the accumulator Acc, in the order of SPEC.md: m items, 1 ≤ m ≤
/// TreeOrder<sizeof(T)>::tile.
template <class T, class Acc>
struct TileFunctions {
    using V = fp::Arithmetic<T>;
    Acc (*elements)(const T* x, std::uint32_t m);
    /// Terms that were computed and, where the accumulator keeps errors, their errors. Both arrays
    /// have room for, and are filled up to, a multiple of TreeOrder<sizeof(T)>::lanes. Null for
    /// products and moments, as the others below.
    Acc (*terms)(V* values, V* errors, std::uint32_t m) = nullptr;
    /// `count` rows of m elements, which begin `pitch` apart.
    void (*rows)(const T* x, std::uint64_t pitch, std::uint32_t m, std::uint32_t count, Acc* out) = nullptr;
    /// At most ColumnStrip::columns neighbouring columns of m elements, which lie `stride` apart.
    /// What is read after them begins at `next`. room: ColumnStrip::room bytes, aligned to 64.
    void (*columns)(const T* x, std::uint64_t stride, std::uint32_t m, std::uint32_t columns, const T* next, void* room,
                    Acc* out) = nullptr;
};

/// Columns whose lanes are kept in the first cache together.
template <class T, class Acc>
struct ColumnStrip {
    using Order = spec::TreeOrder<sizeof(T)>;
    /// As many as fit 32 KiB, and a multiple of the values in a register of any instruction set.
    static constexpr std::size_t at_once = 64 / sizeof(typename Acc::Value), minimum_bytes = std::size_t{32} << 10;
    static constexpr std::uint32_t columns =
        at_once * std::max<std::size_t>(minimum_bytes / (Order::lanes * sizeof(Acc) * at_once), 1);
    /// of all lanes of all columns
    static constexpr std::size_t bytes = std::max<std::size_t>(minimum_bytes, columns* Order::lanes * sizeof(Acc));
    static constexpr int levels = 4; ///< chunks, and trees of 1, 2 and 4 chunks, that wait at once
    /// Room for those, and for a copy of rows that do not fill a register.
    static constexpr std::size_t room = (levels + 1) * bytes;
};

template <class T, class... Accs>
struct TilesOf : TileFunctions<T, Accs>... {
    template <class Acc>
    [[nodiscard]] const TileFunctions<T, Acc>& of() const {
        return *this;
    }
};

/// The bins of sums that need no state.
inline constexpr int group_bins = 2, group_log_adds = 6;
using GroupWindow = spec::ExactWindow<double, group_bins, group_log_adds>;

/// Sums of groups: what is in their bins, in units of GroupWindow's. That is not the sum where
/// `unknown` is not 0: it takes more, or may be −0.
struct GroupSums {
    static constexpr std::uint32_t groups = 256; ///< at most
    static constexpr std::uint32_t row = 1024;   ///< elements; longer rows do as well block by block
    static constexpr std::uint32_t most = 65536; ///< elements that surely fit an integer
    std::int64_t bin[GroupWindow::bins][groups];
    std::uint64_t unknown[groups];
};

/// Sums of rows or columns by additions of doubles alone, where these round nothing.
struct RowSums {
    static constexpr std::uint32_t groups = 256; ///< at most
    static constexpr std::uint32_t columns = 16; ///< at least, of columns: they fill a register
    static constexpr std::uint32_t row = 4096;   ///< elements; longer rows are seldom such
    double sum[groups];
    std::int32_t is_sum[groups]; ///< 0: another way has to be taken
};

/// How the last block of a sum by `exact` was added. The next one is tried in the same way first.
struct ExactPlace {
    bool is_not_plain = false; ///< these are hardly a plain sum (RowSums), which is then not tried first
    int top = 4, tier = 0;
    int wait = 0, pause = 1; ///< blocks until the first way is tried, and after it will have failed
    static constexpr int longest_pause = 64;
};

/// For elements of type T.
template <class T>
struct IsaFunctions {
    using V = fp::Arithmetic<T>;
    using KeyMap = spec::KeyMap<T>;
#define DETREDUCE_TYPE(method, Acc) Acc<V>,
    using Tiles = TilesOf<T, DETREDUCE_ACCUMULATORS(DETREDUCE_TYPE) acc::Product<V, false>, acc::Product<V, true>,
                          acc::CountedMoments<V>>;
#undef DETREDUCE_TYPE
    Tiles tiles;

    /// The terms of m elements; `errors` may be null, then they are rounded, else they are split.
    void (*terms)(Transform transform, const T* x, const T* y, std::uint32_t m, V* values, V* errors);

    /// What a row op writes of m elements, in the place of which it may be written; scale and shift
    /// may be null.
    void (*row_values)(const RowValues<V>& of, const T* x, const T* scale, const T* shift, std::uint32_t m, V* values);

    /// out[i] = values[i], rounded.
    void (*rounded)(const V* values, std::uint32_t m, T* out);
    /// out[i] = sums[i], rounded once. Of a sum that is not finite anything may be written.
    void (*rounded_sums)(const double* sums, std::uint32_t m, T* out);
    template <class Out>
    void store(const V* values, std::uint32_t m, Out* out) const {
        if constexpr (std::is_same_v<Out, T>) {
            rounded(values, m, out);
        } else {
            for (std::uint32_t i = 0; i < m; ++i)
                out[i] = fp::round_to<Out>(values[i]);
        }
    }

    /// The state of a tile of m ≥ 1 elements less `origin` (spec/exp_term.hpp). One that is NaN
    /// makes the sum NaN, unless the maximum is infinite. Unless null, `terms` gets every term,
    /// relative to the maximum of its chunk, and `maxima` those.
    spec::ExpState<T> (*exp_tile)(const T* x, std::uint32_t m, V origin, V* terms, V* maxima);
    /// What a row op writes of m elements whose terms `values` has, in their place.
    void (*values_of_terms)(const RowValues<V>& of, std::uint32_t m, V* values);

    /// `map` of m elements at x with their targets, each times its weight unless w is null.
    void (*losses)(const LossMap<V>& map, const T* x, const T* t, const T* w, std::uint32_t m, V* values);

    /// `map` of m elements at x with what comes from upstream, and scale, 1 where that is null.
    void (*row_grads)(const RowGradMap<V>& map, const T* x, const T* upstream, const T* scale, std::uint32_t m,
                      V* values);

    /// Adds n elements to the words of a state. What comes out is normalized if what went in was.
    void (*exact)(const T* x, std::uint64_t n, acc::exact::Word* words, ExactPlace& place);

    /// Sums of `count` rows of m elements, which begin `pitch` apart; of RowSums::columns
    /// neighbouring columns or more, whose elements lie `stride` apart, and what is read next
    /// begins at `next`. Of f64 there are none.
    void (*plain_sums_of_rows)(const T* x, std::uint64_t pitch, std::uint32_t m, std::uint32_t count, RowSums& out);
    void (*plain_sums_of_columns)(const T* x, std::uint64_t stride, std::uint32_t m, std::uint32_t columns,
                                  const T* next, RowSums& out);

    /// Sums of `count` rows of m elements, which begin `pitch` apart, in bins at `top`; of
    /// neighbouring columns, whose elements lie `stride` apart, and what is read next begins at
    /// `next`.
    void (*sums_of_rows)(const T* x, std::uint64_t pitch, std::uint32_t m, std::uint32_t count, int top,
                         GroupSums& out);
    void (*sums_of_columns)(const T* x, std::uint64_t stride, std::uint32_t m, std::uint32_t columns, int top,
                            const T* next, GroupSums& out);
    /// A top that is above all finite magnitudes among them.
    int (*top_of_columns)(const T* x, std::uint64_t stride, std::uint32_t m, std::uint32_t columns);

    /// Adds the terms of n elements to acc::exact::product_states states.
    void (*exact_terms)(Transform transform, const T* x, const T* y, std::uint64_t n, acc::exact::Word* states,
                        ExactPlace& place);

    /// The largest of the keys of n ≥ 1 elements, not settled: by one map, or by two at once.
    void (*largest_key)(const KeyMap* map, const T* x, std::uint64_t n, typename KeyMap::Key* largest);
    void (*largest_keys)(const KeyMap* maps, const T* x, std::uint64_t n, typename KeyMap::Key* largest);

    /// How many of n elements are not zero.
    std::uint64_t (*nonzeros)(const T* x, std::uint64_t n);
};

struct IsaTable {
#define DETREDUCE_FIELD(name, c_name, type) IsaFunctions<type> name;
    DETREDUCE_FORMATS(DETREDUCE_FIELD)
#undef DETREDUCE_FIELD
    template <class T>
    [[nodiscard]] const IsaFunctions<T>& of() const {
#define DETREDUCE_OF(name, c_name, type)                                                                               \
    if constexpr (std::is_same_v<T, type>) return name;
        DETREDUCE_FORMATS(DETREDUCE_OF)
#undef DETREDUCE_OF
    }
};

namespace baseline {
extern const IsaTable isa_table;
}
namespace avx2 {
extern const IsaTable isa_table;
}
namespace avx512 {
extern const IsaTable isa_table;
}
namespace neon {
extern const IsaTable isa_table;
}

/// The table of `isa`, which must be one of available_isas() or automatic (the best of them).
[[nodiscard]] const IsaTable& isa_table(Isa isa) noexcept;

} // namespace detreduce::host
