// Laws of rows, columns and segments, on every backend: a group's bits are those of the flat reduction of its elements, whatever lies around
// it. And of lists of tensors. Included once a backend, after `TestBackend` has been defined.
#pragma once

#include <order_reference.hpp>

#include "laws/group_cuts.hpp"

namespace detreduce::proptests {

/// What SPEC.md says of a group; of one without elements, which only segments can have where flat arrays cannot.
template <class Out, class T>
Out expected_of_group(const Request& r, const Pair<T>& group) {
    if (!group.x.empty()) return expected<Out>(r.op, group, r.method);
    return info(r.op).ending == Ending::mean ? fp::from_bits<Out>(fp::Format<Out>::canonical_nan) : Out{};
}

TEMPLATE_TEST_CASE("groups: each is the flat reduction of its elements", "[groups][sanitizer]", DETREDUCE_ALL_TYPES) {
    property("groups", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        auto cut = cut_from<TestType>(word, any_bits<TestType>);
        Request& r = cut.request;
        const auto all = offered(true);
        r.op = some_op(word);
        r.method = all[accuracy::hash(word, 51) % all.size()];
        if (r.n == 0 && info(r.op).ending == Ending::mean) return;
        with_dtype(some_output(r.method, dtype_of<TestType>, word), [&](auto out) {
            using Out = decltype(out);
            RC_LOG(text_of(cut));
            const std::vector<Out> results = TestBackend::template reduce_groups<Out>(
                r, cut.pair.first(), cut.pair.second(r.op), cut.offsets, group_draw(r.method, word));
            RC_ASSERT(results.size() == r.groups);
            for (const std::size_t g : some_groups(r.groups)) {
                const Pair<TestType> group = cut.group(g);
                const Out alone = expected_of_group<Out>(r, group);
                RC_ASSERT(same_bits(results[g], alone));
                if (g == 0 && !group.x.empty())
                    RC_ASSERT(same_bits(reduce_pair<Out>(r.op, group, r.method, word), alone));
            }
        });
    });
}

/// What SPEC.md says of a group without elements, too.
template <class T>
std::uint64_t found_in(const Request& r, const std::vector<T>& x) {
    if (info(r.op).gives_integer) return x.empty() ? no_index : reference::found_by<T>(r.op, x, r.nan);
    if (x.empty() && r.op != Op::nrminf) return fp::Format<T>::canonical_nan;
    return fp::to_bits(reference::order<T, T>(r.op, x, r.nan));
}

TEMPLATE_TEST_CASE("groups: each is searched alone", "[groups][order][sanitizer]", DETREDUCE_ALL_TYPES) {
    property("groups of order", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        auto cut = cut_from<TestType>(word, any_bits<TestType>);
        for (std::size_t i = 0; word % 3 != 0 && i < cut.pair.x.size(); ++i) // ties
            cut.pair.x[i] = cut.pair.x[accuracy::hash(word, i) % 4 % cut.pair.x.size()];
        Request& r = cut.request;
        const auto ops = order_ops();
        r.op = ops[accuracy::hash(word, 51) % ops.size()].op;
        r.nan = accuracy::hash(word, 52) % 2 == 0 ? NanPolicy::propagate : NanPolicy::ignore;
        if (r.n == 0 && r.op != Op::nrminf && r.shape != Shape::segments) return;
        RC_LOG(text_of(cut));
        const auto check = [&]<class Out>(Out) {
            const std::vector<Out> results = TestBackend::template reduce_groups<Out>(
                r, cut.pair.first(), {}, cut.offsets, group_draw(Method::tree, word));
            for (const std::size_t g : some_groups(r.groups)) {
                std::uint64_t bits = 0;
                if constexpr (Element<Out>) {
                    bits = fp::to_bits(results[g]);
                } else {
                    bits = results[g];
                }
                RC_ASSERT(bits == found_in(r, cut.group(g).x));
            }
        };
        if (info(r.op).gives_integer) {
            check(std::uint64_t{});
        } else {
            check(TestType{});
        }
    });
}

/// An array of any dtype.
struct AnyVector {
    DType dtype;
    std::vector<std::byte> bytes;
    [[nodiscard]] std::size_t n() const { return bytes.size() / size_of(dtype); }
    template <class T>
    [[nodiscard]] std::vector<T> as() const {
        std::vector<T> x(n());
        if (!x.empty()) std::memcpy(x.data(), bytes.data(), bytes.size());
        return x;
    }
};

inline std::vector<AnyVector> tensors_from(std::uint64_t word) {
    std::vector<AnyVector> list(accuracy::hash(word, 61) % 40);
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::uint64_t draw = accuracy::hash(word, 200 + i);
        list[i].dtype = word % 3 == 0 ? DType::f32 : dtypes()[draw % 4];
        with_dtype(list[i].dtype, [&]<class T>(T) {
            const std::size_t n = draw % 16 == 0 ? group_length<T>(draw) : accuracy::hash(draw, 1) % 700;
            const auto x = vector_from<T>(static_cast<Style>(accuracy::hash(word, 44) % styles), n, draw, any_bits<T>);
            list[i].bytes.resize(n * sizeof(T));
            if (n > 0) std::memcpy(list[i].bytes.data(), x.data(), n * sizeof(T));
        });
    }
    return list;
}

TEST_CASE("tensors: a list is one array, in any order", "[groups][sanitizer]") {
    property("tensors", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        auto list = tensors_from(word);
        constexpr Op ops[] = {Op::sum, Op::mean, Op::asum, Op::sumsq, Op::nrm2};
        Request r{.op = ops[accuracy::hash(word, 62) % 5], .shape = Shape::tensors, .groups = list.size()};
        r.each = accuracy::hash(word, 63) % 2 == 0;
        accuracy::TermOracle all(info(r.op).term);
        std::vector<double> expected;
        for (const AnyVector& tensor : list) {
            accuracy::TermOracle one(info(r.op).term);
            r.n += tensor.n();
            with_dtype(tensor.dtype, [&]<class T>(T) {
                const auto x = tensor.as<T>();
                all.add(std::span<const T>(x), std::span<const T>());
                one.add(std::span<const T>(x), std::span<const T>());
            });
            const bool no_mean = tensor.n() == 0 && info(r.op).ending == Ending::mean;
            if (r.each)
                expected.push_back(no_mean ? fp::from_bits<double>(fp::Format<double>::canonical_nan)
                                           : one.round<double>(info(r.op).ending));
        }
        if (r.n == 0 && info(r.op).ending == Ending::mean) return;
        expected.push_back(all.round<double>(info(r.op).ending));
        const auto results = TestBackend::template reduce_tensors<double>(r, list, group_draw(Method::exact, word));
        RC_ASSERT(results.size() == expected.size());
        for (std::size_t i = 0; i < results.size(); ++i)
            RC_ASSERT(same_bits(results[i], expected[i]));
        std::reverse(list.begin(), list.end());
        const auto reversed = TestBackend::template reduce_tensors<double>(r, list, group_draw(Method::exact, word));
        RC_ASSERT(same_bits(reversed.back(), results.back()));
    });
}

} // namespace detreduce::proptests
