// Laws of the shape `rows`, on every backend: a row's bits are those of the flat reduction of its elements, whatever lies around it. Included
// once a backend, after `TestBackend` has been defined.
#pragma once

#include "laws/op_pairs.hpp"

namespace detreduce::proptests {

/// Lengths of rows where a backend changes its way: threads a row, a warp a row, a team a row, several tiles a row.
template <class T>
std::size_t row_length(std::uint64_t word) {
    using Order = spec::TreeOrder<sizeof(T)>;
    constexpr std::size_t lanes = Order::lanes, chunk = Order::chunk, tile = Order::tile;
    const std::size_t boundaries[] = {0, 1, 2, 3, 8, 31, lanes / 2, lanes, chunk - 1, chunk, 2 * chunk, tile, 3 * tile};
    const std::size_t near = boundaries[word % std::size(boundaries)] + accuracy::hash(word, 31) % 3;
    return accuracy::hash(word, 32) % 4 == 0 ? accuracy::hash(word, 33) % (2 * lanes) : near;
}

template <class T>
struct Table {
    std::size_t rows, n, stride; ///< stride 0: n
    Pair<T> pair;
    [[nodiscard]] std::size_t step() const { return stride == 0 ? n : stride; }
    [[nodiscard]] Pair<T> row(std::size_t r) const {
        const auto part = [&](const std::vector<T>& v) {
            const auto begin = v.begin() + static_cast<std::ptrdiff_t>(r * step());
            return std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(n));
        };
        return {part(pair.x), part(pair.y)};
    }
};

template <class T>
Table<T> table_from(std::uint64_t word, const Scope& scope) {
    const std::size_t n = row_length<T>(word);
    const std::size_t most = std::min<std::size_t>(300, 60000 / (n + 1) + 1);
    Table<T> table{1 + accuracy::hash(word, 41) % most, n, 0, {}};
    if (accuracy::hash(word, 42) % 2 == 0) table.stride = n + accuracy::hash(word, 43) % 9;
    const std::size_t all = (table.rows - 1) * table.step() + n;
    const auto x = vector_from<T>(static_cast<Style>(accuracy::hash(word, 44) % styles), all, word, scope);
    table.pair = pair_of<T>(std::span<const T>(x), word, scope);
    return table;
}

TEMPLATE_TEST_CASE("rows: each is the flat reduction of its elements", "[rows][sanitizer]", DETREDUCE_ALL_TYPES) {
    property("rows", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const auto table = table_from<TestType>(word, any_bits<TestType>);
        const Op op = some_op(word);
        const auto all = offered(true);
        const Method method = all[accuracy::hash(word, 51) % all.size()];
        if (table.n == 0 && info(op).ending == Ending::mean) return;
        with_dtype(some_output(method, dtype_of<TestType>, word), [&](auto out) {
            using Out = decltype(out);
            Draw draw = draw_from(method, word);
            draw.launch.schedule = Schedule::automatic;
            draw.launch.block = 0;
            RC_LOG(std::string(name(op)) + ' ' + std::string(name(method)) + " rows " + std::to_string(table.rows) +
                   " n " + std::to_string(table.n) + " stride " + std::to_string(table.stride) + '\n');
            const std::vector<Out> results = TestBackend::template reduce_rows<Out>(
                op, table.pair.first(), table.pair.second(op), table.rows, table.n, table.stride, method, draw);
            RC_ASSERT(results.size() == table.rows);
            // A few rows, alone: by SPEC.md, and the first one on the backend itself.
            for (std::size_t r = 0; r < table.rows; r += 1 + table.rows / 5) {
                const Pair<TestType> row = table.row(r);
                const Out alone = row.x.empty() ? Out{} : expected<Out>(op, row, method);
                RC_ASSERT(same_bits(results[r], alone));
                if (r == 0) RC_ASSERT(same_bits(reduce_pair<Out>(op, row, method, word), alone));
            }
        });
    });
}

} // namespace detreduce::proptests
