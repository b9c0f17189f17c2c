// Arrays that are cut into rows, columns or segments, for laws of groups.
#pragma once

#include "laws/op_pairs.hpp"

namespace detreduce::proptests {

/// Lengths where a backend changes its way: some threads of a warp a group, a warp, a block,
/// several tiles, work items of large groups.
template <class T>
std::size_t group_length(std::uint64_t word) {
    using Order = spec::TreeOrder<sizeof(T)>;
    constexpr std::size_t lanes = Order::lanes, chunk = Order::chunk, tile = Order::tile;
    const std::size_t boundaries[] = {0,         1,     2,         3,         8,    31,       lanes / 2, lanes,
                                      chunk - 1, chunk, 2 * chunk, 5 * chunk, tile, 3 * tile, 32768 + 5, 65536 - 1};
    const std::size_t near = boundaries[word % std::size(boundaries)] + accuracy::hash(word, 31) % 3;
    return accuracy::hash(word, 32) % 4 == 0 ? accuracy::hash(word, 33) % (2 * lanes) : near;
}

/// Arrays, how they are cut, and where each group is.
template <class T>
struct Cut {
    Request request; ///< shape, n, groups and stride
    std::vector<std::uint64_t> offsets;
    Pair<T> pair;

    [[nodiscard]] std::size_t length(std::size_t g) const {
        return request.shape == Shape::segments ? offsets[g + 1] - offsets[g] : request.n;
    }
    [[nodiscard]] Pair<T> group(std::size_t g) const {
        const bool columns = request.shape == Shape::columns;
        const std::size_t wide = request.stride != 0 ? request.stride : columns ? request.groups : request.n;
        const std::size_t begin = columns ? g : request.shape == Shape::rows ? g * wide : offsets[g];
        const auto part = [&](const std::vector<T>& v) {
            std::vector<T> elements(length(g));
            for (std::size_t i = 0; i < elements.size(); ++i)
                elements[i] = v[begin + i * (columns ? wide : 1)];
            return elements;
        };
        return {part(pair.x), pair.y.empty() ? std::vector<T>{} : part(pair.y)}; // y: where there is one
    }
};

/// A few groups of any length; sometimes very many short ones, which a backend may do in another
/// way.
template <class T>
Cut<T> matrix_from(Shape shape, std::uint64_t word) {
    const bool many = accuracy::hash(word, 45) % 8 == 0;
    const std::size_t n = many ? accuracy::hash(word, 46) % 40 : group_length<T>(word);
    const std::size_t most = many ? 3000 : std::min<std::size_t>(300, 60000 / (n + 1) + 1);
    const std::size_t groups = (many ? 4000 : 1) + accuracy::hash(word, 41) % most;
    const std::size_t length = shape == Shape::rows ? n : groups, rows = shape == Shape::rows ? groups : n;
    Cut<T> cut{{.shape = shape, .n = n, .groups = groups}, {}, {}};
    if (accuracy::hash(word, 42) % 2 == 0) cut.request.stride = length + accuracy::hash(word, 43) % 9;
    const std::size_t wide = cut.request.stride != 0 ? cut.request.stride : length;
    cut.pair.x.resize(rows == 0 ? 0 : (rows - 1) * wide + length);
    return cut;
}

/// Some small, some without elements, and perhaps a large one.
template <class T>
Cut<T> segments_from(std::uint64_t word) {
    const std::size_t groups = accuracy::hash(word, 41) % 200;
    Cut<T> cut{{.shape = Shape::segments, .groups = groups}, {accuracy::hash(word, 42) % 5}, {}};
    for (std::size_t g = 0; g < groups; ++g) {
        const std::uint64_t draw = accuracy::hash(word, 100 + g);
        const std::size_t length = g == word % groups ? group_length<T>(draw) : draw % 5 == 0 ? 0 : draw % 150;
        cut.offsets.push_back(cut.offsets.back() + length);
    }
    cut.request.n = cut.offsets.back() + accuracy::hash(word, 43) % 3;
    cut.pair.x.resize(cut.request.n);
    return cut;
}

template <class T>
Cut<T> cut_from(std::uint64_t word, const Scope& scope) {
    constexpr Shape shapes[] = {Shape::rows, Shape::columns, Shape::segments};
    const Shape shape = shapes[accuracy::hash(word, 40) % 3];
    Cut<T> cut = shape == Shape::segments ? segments_from<T>(word) : matrix_from<T>(shape, word);
    const auto x =
        vector_from<T>(static_cast<Style>(accuracy::hash(word, 44) % styles), cut.pair.x.size(), word, scope);
    cut.pair = pair_of<T>(std::span<const T>(x), word, scope);
    return cut;
}

template <class T>
std::string text_of(const Cut<T>& cut) {
    const Request& r = cut.request;
    return std::string(name(r.op)) + ' ' + std::string(name(r.method)) + ' ' + std::string(name(r.shape)) + ' ' +
           std::to_string(r.groups) + " n " + std::to_string(r.n) + " stride " + std::to_string(r.stride) + '\n';
}

/// A launch that groups have.
inline Draw group_draw(Method method, std::uint64_t word) {
    Draw draw = draw_from(method, word);
    draw.launch.schedule = Schedule::automatic;
    draw.launch.block = 0;
    return draw;
}

/// A few groups, and the first and the last.
inline std::vector<std::size_t> some_groups(std::size_t groups) {
    std::vector<std::size_t> some;
    for (std::size_t g = 0; g < groups; g += 1 + groups / 5)
        some.push_back(g);
    if (groups > 0) some.push_back(groups - 1);
    return some;
}

/// And, of segments, the longest one and the first without elements.
template <class T>
std::vector<std::size_t> some_groups(const Cut<T>& cut) {
    const std::size_t groups = cut.request.groups;
    std::vector<std::size_t> some = some_groups(groups);
    if (cut.request.shape != Shape::segments || groups == 0) return some;
    std::size_t longest = 0, empty = 0;
    for (std::size_t g = 1; g < groups; ++g) {
        if (cut.length(g) > cut.length(longest)) longest = g;
        if (cut.length(empty) != 0) empty = g;
    }
    some.push_back(longest);
    some.push_back(empty);
    return some;
}

/// Segments of a few elements, `tiny` of them, and in their midst one of `giant`.
template <class T>
Cut<T> giant_among_tiny(std::size_t tiny, std::size_t giant) {
    Cut<T> cut{{.shape = Shape::segments, .groups = tiny + 1}, {0}, {}};
    for (std::size_t g = 0; g <= tiny; ++g)
        cut.offsets.push_back(cut.offsets.back() + (g == tiny / 2 ? giant : accuracy::hash(tiny, g) % 6));
    cut.request.n = cut.offsets.back();
    return cut;
}

} // namespace detreduce::proptests
