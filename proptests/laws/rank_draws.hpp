// Reductions that are dealt out to ranks, for tests: what each rank has, and what all of it is.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <detreduce/detreduce.hpp>

#include <support/vectors.hpp>

namespace detreduce::proptests {

using Words = std::vector<std::int64_t>;
using Bytes = std::vector<std::byte>;

/// The ops that have states.
inline std::vector<Op> ops_with_states() {
    std::vector<Op> list;
    for (const OpInfo& op : ops()) {
        if (op.op != Op::prod && op.op != Op::count_unique) list.push_back(op.op);
    }
    return list;
}

inline bool gives_index(Op op) {
    return op == Op::argmin || op == Op::argmax;
}

/// What is asked for: any op, shape and the rest, but for what a share knows.
inline Request request_from(std::uint64_t word) {
    const auto draw = [&](std::uint64_t i) { return accuracy::hash(word, 500 + i); };
    const auto all_ops = ops_with_states();
    constexpr Shape shapes[] = {Shape::flat, Shape::rows, Shape::columns, Shape::segments, Shape::tensors};
    Request r{.op = all_ops[draw(0) % all_ops.size()], .shape = shapes[draw(1) % 5]};
    const OpInfo& op = info(r.op);
    if (op.kind == Kind::order && draw(2) % 2) r.nan = NanPolicy::ignore;
    if (op.kind == Kind::moments) r.ddof = draw(3) % 3;
    if (!op.gives_integer && draw(4) % 2) r.output = dtypes()[draw(5) % dtypes().size()];
    if (r.shape == Shape::tensors && !gives_index(r.op)) r.each = draw(6) % 2;
    const auto isas = available_isas();
    r.launch = {.threads = static_cast<std::uint32_t>(1 + draw(7) % 3), .isa = isas[draw(8) % isas.size()]};
    return r;
}

/// What a rank, or everyone together, has of a reduction.
template <class T>
struct Share {
    std::vector<T> x, y;
    std::vector<std::uint64_t> offsets;
    std::vector<Tensor> x_list, y_list; ///< into x and y
    std::uint64_t n = 0, stride = 0, first_index = 0, groups = 1;

    [[nodiscard]] Request request(Request r) const {
        r.n = n;
        r.stride = stride;
        r.groups = groups;
        r.device = cpu;
        return r;
    }
    [[nodiscard]] Inputs inputs(const Request& r) const {
        const bool two = info(r.op).inputs == 2;
        if (r.shape == Shape::tensors) return {x_list.data(), two ? y_list.data() : nullptr};
        return {x.data(), two ? y.data() : nullptr, r.shape == Shape::segments ? offsets.data() : nullptr};
    }
    void list_of(const std::vector<std::uint64_t>& lengths) {
        std::uint64_t at = 0;
        for (const std::uint64_t length : lengths) {
            x_list.push_back({x.data() + at, length, dtype_of<T>});
            y_list.push_back({y.data() + at, length, dtype_of<T>});
            at += length;
        }
        n = at;
        groups = lengths.size();
    }
};

/// Numbers of a style; of 8 bits any, or few different ones.
template <class T>
std::vector<T> elements_from(std::size_t n, std::uint64_t seed, std::uint64_t draw) {
    if constexpr (sizeof(T) > 1) {
        return vector_from<T>(static_cast<Style>(draw % styles), n, seed, any_bits<T>);
    } else {
        std::vector<T> x(n);
        for (std::size_t i = 0; i < n; ++i)
            x[i] = fp::from_bits<T>(static_cast<std::uint8_t>(accuracy::hash(seed, i) & (draw % 3 == 0 ? 0x84 : 0xff)));
        return x;
    }
}

/// One reduction of `groups` groups, whose elements lie one group after the other.
template <class T>
struct Dealt {
    Request request; ///< op, shape, nan, ddof, output, each; the rest is a share's
    Share<T> all;
    std::vector<Share<T>> ranks;
};

/// The elements of each group that are dealt to rank i are those from cut(i) to cut(i + 1), or as
/// far as there are any; of sums and the like of flat inputs they are dealt one by one.
template <class T>
Dealt<T> deal(Request r, std::size_t ranks, std::uint64_t word) {
    Dealt<T> d{r, {}, std::vector<Share<T>>(ranks)};
    d.request.dtype = dtype_of<T>;
    const auto draw = [&](std::uint64_t i) { return accuracy::hash(word, i); };
    const std::size_t groups = r.shape == Shape::flat ? 1 : draw(1) % 6;
    const std::size_t length = draw(2) % 8 == 0 ? draw(3) % 5000 : draw(3) % 200;
    std::vector<std::uint64_t> lengths(groups, length);
    if (r.shape == Shape::segments || r.shape == Shape::tensors) {
        for (std::size_t g = 0; g < groups; ++g)
            lengths[g] = draw(10 + g) % 4 == 0 ? 0 : draw(20 + g) % (length + 1);
    }
    std::size_t total = 0;
    for (const std::uint64_t l : lengths)
        total += l;
    const auto x = elements_from<T>(total, word, draw(4));
    const auto y = draw(6) % 2 ? x : elements_from<T>(total, draw(7), draw(5));
    const auto append = [&](Share<T>& to, std::size_t i) {
        to.x.push_back(x[i]);
        to.y.push_back(y[i]);
    };
    std::vector<std::uint64_t> cuts{0};
    for (std::size_t i = 1; i < ranks; ++i)
        cuts.push_back(draw(100 + i) % (length + 2));
    std::sort(cuts.begin(), cuts.end());
    cuts.push_back(~std::uint64_t{0});
    const auto cut = [&](std::size_t i, std::uint64_t l) { return std::min(cuts[i], l); };
    const bool one_by_one = r.shape == Shape::flat && !gives_index(r.op), columns = r.shape == Shape::columns;
    // A list is dealt out by arrays where an index is that in the list.
    const bool whole_tensors = r.shape == Shape::tensors && gives_index(r.op);
    std::vector<std::uint64_t> all_lengths(lengths);
    for (std::size_t rank = 0; rank <= ranks; ++rank) { // the last is all
        const bool is_all = rank == ranks;
        Share<T>& to = is_all ? d.all : d.ranks[rank];
        std::vector<std::uint64_t> own;
        std::size_t at = 0;
        to.offsets.push_back(0);
        const auto deals = [&](std::size_t i) { return draw(1000 + i) % ranks == rank; };
        for (std::size_t g = 0; g < groups; at += lengths[g], ++g) {
            std::uint64_t begin = is_all ? 0 : cut(rank, lengths[g]),
                          end = is_all ? lengths[g] : cut(rank + 1, lengths[g]);
            if (one_by_one) begin = 0, end = lengths[g];
            if (whole_tensors && !is_all) {
                const std::size_t owner = g * ranks / groups;
                begin = 0, end = owner == rank ? lengths[g] : 0;
                if (owner < rank) to.first_index += lengths[g];
                if (owner != rank) continue;
            }
            for (std::size_t i = at + begin; i < at + end; ++i) {
                if (!one_by_one || is_all || deals(i)) append(to, i);
            }
            to.offsets.push_back(to.x.size());
            own.push_back(to.x.size() - to.offsets[to.offsets.size() - 2]);
        }
        if (!whole_tensors && gives_index(r.op)) to.first_index = is_all ? 0 : cuts[rank];
        if (r.shape == Shape::tensors) {
            to.list_of(own);
            continue;
        }
        to.groups = groups;
        to.n = r.shape == Shape::segments || r.shape == Shape::flat ? to.x.size() : groups == 0 ? 0 : own[0];
        if (!columns) continue;
        const auto turned = [&](const std::vector<T>& v) {
            std::vector<T> t(v.size());
            for (std::size_t i = 0; i < v.size(); ++i)
                t[i % to.n * groups + i / to.n] = v[i];
            return t;
        };
        to.x = turned(to.x);
        to.y = turned(to.y);
    }
    return d;
}

/// Every op, dtype and shape that is `offered`, `times` times over: check(what is dealt out to
/// `ranks`, its name, 64 random bits).
template <class Offered, class Check>
void for_all_ops(std::size_t ranks, int times, const Offered& offered, const Check& check) {
    std::uint64_t word = 0;
    for (const Op op : ops_with_states()) {
        for (const Shape shape : {Shape::flat, Shape::rows, Shape::columns, Shape::segments, Shape::tensors}) {
            for (const DType dtype : dtypes()) {
                for (int i = 0; i < times && offered(dtype, shape); ++i) {
                    Request r = request_from(accuracy::hash(++word, 77));
                    r.ddof = info(op).kind == Kind::moments ? word % 3 : 0;
                    r.nan = info(op).kind == Kind::order && word % 2 ? NanPolicy::ignore : NanPolicy::propagate;
                    r.each = shape == Shape::tensors && !gives_index(op) && word % 2;
                    if (info(op).gives_integer) r.output = std::nullopt;
                    r.op = op;
                    r.shape = shape;
                    const std::string what = std::string(name(op)) + ' ' + std::string(name(shape)) + ' ' +
                                             std::string(name(dtype)) + ", draw " + std::to_string(word);
                    const std::uint64_t draw = accuracy::hash(word, 78);
                    with_dtype(dtype, [&]<class T>(T) { check(deal<T>(r, ranks, draw), what, draw); });
                }
            }
        }
    }
}

/// The plan of the states of a share.
template <class T>
Plan plan_of_states(const Request& asked, const Share<T>& share) {
    Request r = share.request(asked);
    r.state = true;
    r.first_index = gives_index(r.op) ? share.first_index : 0;
    return make_plan(r);
}
template <class T>
Words states_of(const Request& asked, const Share<T>& share) {
    const Plan plan = plan_of_states(asked, share);
    throw_if_error(plan.status());
    Words words(plan.groups() * plan.state_words(), -12345);
    throw_if_error(run(plan, share.inputs(plan.request()), words.data()));
    return words;
}
inline Bytes finished(const Plan& plan, const Words& states) {
    Bytes results(plan.results() * plan.result_bytes() + 8); // a few bytes that nothing may touch
    throw_if_error(finish(plan, states.data(), results.data()));
    return results;
}
/// What a plan without states gives; of what it refuses nothing.
template <class T>
Bytes results_of(const Request& asked, const Share<T>& share) {
    const Plan plan = make_plan(share.request(asked));
    if (!plan.status().ok()) return {};
    Bytes results(plan.results() * plan.result_bytes() + 8);
    throw_if_error(run(plan, share.inputs(plan.request()), results.data()));
    return results;
}

} // namespace detreduce::proptests
