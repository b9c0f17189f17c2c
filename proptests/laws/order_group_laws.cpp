// Laws of ops that compare or count, of groups and of lists of tensors, on every backend: each
// result is that of the elements alone, whatever lies around them.
#include <algorithm>
#include <cstring>

#include <group_reference.hpp>

#include "laws/tensor_lists.hpp"
#include "laws/ties.hpp"

namespace detreduce::proptests {

/// Results as bits.
template <class Out>
std::vector<std::uint64_t> bits_of(const std::vector<Out>& results) {
    std::vector<std::uint64_t> bits;
    for (const Out& result : results) {
        if constexpr (Element<Out>) {
            bits.push_back(fp::to_bits(result));
        } else {
            bits.push_back(result);
        }
    }
    return bits;
}

/// f(Out{}) for the type of the results: some element, or an integer.
template <class F>
void with_some_output(Op op, std::uint64_t word, const F& f) {
    if (info(op).gives_integer) return f(std::uint64_t{});
    with_dtype(dtypes()[accuracy::hash(word, 53) % dtypes().size()], f);
}

/// Is each group's result, of all or of some groups, what SPEC.md says of its elements?
template <class T>
bool groups_hold(const Cut<T>& cut, std::uint64_t word, bool all) {
    const Request& r = cut.request;
    bool hold = true;
    with_some_output(r.op, word, [&]<class Out>(Out) {
        const auto results = bits_of(
            TestBackend::reduce_groups<Out>(r, cut.pair.first(), {}, cut.offsets, group_draw(Method::tree, word)));
        const auto width = static_cast<std::size_t>(info(r.op).results);
        hold = results.size() == r.groups * width;
        std::vector<std::size_t> groups = some_groups(cut);
        for (std::size_t g = 0; all && g < r.groups; ++g)
            groups.push_back(g);
        for (const std::size_t g : groups) {
            const auto expected = reference::group<Out>(r.op, std::span<const T>(cut.group(g).x), r.nan);
            for (std::size_t k = 0; hold && k < width; ++k)
                hold = results[g * width + k] == expected[k];
        }
    });
    return hold;
}

inline Op some_op_of_groups(std::uint64_t word) {
    constexpr Op ops[] = {Op::minmax, Op::count_nonzero, Op::count_unique};
    return ops[word % 3];
}

TEMPLATE_TEST_CASE("groups: minmax and counts of each are those of its elements", "[groups][order][count][sanitizer]",
                   DETREDUCE_ALL_TYPES) {
    property("groups", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        auto cut = cut_from<TestType>(word, any_bits<TestType>);
        auto& x = cut.pair.x;
        if (word % 3 == 0) x = full_of_ties<TestType>(x.size(), word);
        for (std::size_t i = 0; word % 3 == 1 && i < x.size(); ++i)
            x[i] = x[accuracy::hash(word, i) % 50 % x.size()];
        Request& r = cut.request;
        const auto methods = offered(true);
        r.op = some_op_of_groups(accuracy::hash(word, 51));
        r.method = methods[accuracy::hash(word, 54) % methods.size()];
        if (r.op == Op::minmax && accuracy::hash(word, 52) % 2 == 0) r.nan = NanPolicy::ignore;
        RC_PRE(r.op != Op::minmax || r.n > 0 || r.shape == Shape::segments);
        RC_LOG(text_of(cut));
        RC_ASSERT(groups_hold(cut, word, r.op != Op::count_unique && r.n * r.groups < 100'000));
    });
}

/// Segments of 0 to 60 elements, and one that is cut into many parts; or rows of them. What lies in
/// front of the first, and behind the last, is in none.
TEMPLATE_TEST_CASE("groups: one giant among many small ones", "[groups][order][count]", DETREDUCE_ALL_TYPES) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        INFO("seed " << seed);
        constexpr Op ops[] = {Op::minmax, Op::count_nonzero, Op::count_unique, Op::argmin, Op::max, Op::nrminf};
        Cut<TestType> cut{{.op = ops[seed % 6], .shape = Shape::segments, .groups = 700}, {seed % 4}, {}};
        for (std::uint64_t g = 0; g < cut.request.groups; ++g) {
            const std::uint64_t length = g == 200 + seed ? 300'007 : accuracy::hash(seed, g) % 61;
            cut.offsets.push_back(cut.offsets.back() + length);
        }
        cut.request.n = cut.offsets.back() + 5;
        cut.pair.x = seed % 2 == 0 ? full_of_ties<TestType>(cut.request.n, seed)
                                   : vector_from<TestType>(Style::stratified, cut.request.n, seed, any_bits<TestType>);
        cut.pair.y = cut.pair.x;
        if (info(cut.request.op).kind == Kind::order && seed >= 6) cut.request.nan = NanPolicy::ignore;
        REQUIRE(groups_hold(cut, seed, true));
    }
}

/// The shapes of groups that a backend takes apart in its own ways: long and short, few and many,
/// with and without room between them.
TEMPLATE_TEST_CASE("groups: minmax and counts of every shape of a matrix", "[groups][order][count]",
                   DETREDUCE_ALL_TYPES) {
    struct Sizes {
        std::uint64_t n, groups, room;
    };
    constexpr Sizes sizes[] = {{1, 1, 0},      {1, 5000, 3}, {7, 5000, 0},  {100'003, 1, 0}, {100'003, 2, 1},
                               {33'000, 3, 5}, {600, 37, 2}, {2000, 33, 0}, {31, 4100, 2},   {0, 9, 4},
                               {12, 70, 1},    {20, 70, 1},  {40, 70, 3},   {100, 37, 1},    {200, 33, 1}};
    std::uint64_t seed = 0;
    for (const Sizes& s : sizes) {
        for (const Shape shape : {Shape::rows, Shape::columns}) {
            for (const Op op : {Op::minmax, Op::argmin, Op::max, Op::count_nonzero, Op::count_unique}) {
                if (s.n == 0 && info(op).kind == Kind::order) continue;
                INFO(name(op) << ' ' << name(shape) << " n " << s.n << " groups " << s.groups);
                const bool by_rows = shape == Shape::rows;
                const std::uint64_t wide = (by_rows ? s.n : s.groups) + s.room, rows = by_rows ? s.groups : s.n;
                Cut<TestType> cut{{.op = op, .shape = shape, .n = s.n, .groups = s.groups, .stride = wide}, {}, {}};
                cut.pair.x = cut.pair.y = full_of_ties<TestType>(rows * wide, ++seed);
                REQUIRE(groups_hold(cut, seed, s.groups < 1000));
            }
        }
    }
}

inline const std::vector<Op>& tensor_ops() {
    static const std::vector<Op> all{Op::min,    Op::max,    Op::minmax,       Op::nrminf,
                                     Op::argmin, Op::argmax, Op::count_nonzero};
    return all;
}

/// A list of the laws of groups; most of its tensors with only a few different elements.
inline std::vector<AnyVector> tied_tensors_from(std::uint64_t word) {
    auto list = tensors_from(word).x;
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (accuracy::hash(word, 400 + i) % 4 == 0) continue;
        with_dtype_from_16_bits(list[i].dtype, [&]<class T>(T) {
            const auto x = full_of_ties<T>(list[i].n(), accuracy::hash(word, word % 2 == 0 ? 1 : 500 + i));
            if (!x.empty()) std::memcpy(list[i].bytes.data(), x.data(), list[i].bytes.size());
        });
    }
    return list;
}

/// As doubles, which all elements are.
inline std::vector<double> doubles_of(const AnyVector& tensor) {
    std::vector<double> x;
    with_dtype_from_16_bits(tensor.dtype, [&]<class T>(T) {
        for (const T v : tensor.as<T>())
            x.push_back(reference::value_of(v));
    });
    return x;
}

/// Are the results those of one array of doubles, and before that, if wanted, those of each
/// tensor's?
template <class Out>
bool list_holds(Request r, const std::vector<AnyVector>& list, std::uint64_t word) {
    std::vector<double> all;
    std::vector<std::uint64_t> expected;
    const auto expect_of = [&](const std::vector<double>& x) {
        const auto bits = reference::group<Out>(r.op, std::span<const double>(x), r.nan);
        expected.insert(expected.end(), bits.begin(), bits.end());
    };
    for (const AnyVector& tensor : list) {
        const auto x = doubles_of(tensor);
        all.insert(all.end(), x.begin(), x.end());
        if (r.each) expect_of(x);
    }
    expect_of(all);
    r.n = all.size();
    r.groups = list.size();
    const auto draw = group_draw(Method::tree, word);
    return bits_of(TestBackend::reduce_tensors<Out>(r, list, draw)) == expected;
}

TEST_CASE("tensors: what compares or counts takes a list for one array", "[groups][order][count][sanitizer]") {
    property("tensors", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        auto list = tied_tensors_from(word);
        const auto methods = offered(true);
        Request r{.op = tensor_ops()[accuracy::hash(word, 62) % tensor_ops().size()], .shape = Shape::tensors};
        r.method = methods[accuracy::hash(word, 54) % methods.size()];
        r.each = accuracy::hash(word, 63) % 2 == 0;
        if (info(r.op).kind == Kind::order && accuracy::hash(word, 64) % 2 == 0) r.nan = NanPolicy::ignore;
        std::size_t elements = 0;
        for (const AnyVector& tensor : list)
            elements += tensor.n();
        RC_PRE(elements > 0 || info(r.op).kind != Kind::order || r.op == Op::nrminf);
        RC_LOG(std::string(name(r.op)) + ' ' + std::string(name(r.nan)) + '\n');
        with_some_output(r.op, word, [&]<class Out>(Out) {
            RC_ASSERT(list_holds<Out>(r, list, word));
            if (info(r.op).gives_integer && info(r.op).kind == Kind::order) return;
            // Without an index, the order of the list means nothing.
            r.n = elements;
            r.groups = list.size();
            const auto draw = group_draw(Method::tree, word);
            const auto before = bits_of(TestBackend::reduce_tensors<Out>(r, list, draw));
            std::reverse(list.begin(), list.end());
            std::rotate(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(list.size() / 3), list.end());
            const auto after = bits_of(TestBackend::reduce_tensors<Out>(r, list, draw));
            const auto width = static_cast<std::ptrdiff_t>(info(r.op).results);
            RC_ASSERT(std::equal(before.end() - width, before.end(), after.end() - width));
        });
    });
}

/// More than fit into one kernel's parameters, of which a few are large; of one dtype or all.
TEST_CASE("tensors: very many, and large ones among them", "[groups][order][count]") {
    for (std::uint64_t seed = 0; seed < 2 * tensor_ops().size(); ++seed) {
        std::vector<AnyVector> list(3001);
        for (std::size_t i = 0; i < list.size(); ++i) {
            list[i].dtype = seed % 2 == 0 ? DType::f32 : dtypes()[accuracy::hash(seed, i) % 4];
            with_dtype_from_16_bits(list[i].dtype, [&]<class T>(T) {
                const std::size_t n = i % 1000 == 7 ? 400'003 : accuracy::hash(seed, i + 5000) % 9;
                const auto x = full_of_ties<T>(n, i % 1000 == 7 ? seed : i);
                list[i].bytes.resize(n * sizeof(T));
                if (n > 0) std::memcpy(list[i].bytes.data(), x.data(), n * sizeof(T));
            });
        }
        Request r{.op = tensor_ops()[seed / 2], .shape = Shape::tensors};
        r.each = seed % 3 != 0;
        if (info(r.op).kind == Kind::order && seed % 4 < 2) r.nan = NanPolicy::ignore;
        INFO(name(r.op) << " seed " << seed);
        with_some_output(r.op, seed, [&]<class Out>(Out) { REQUIRE(list_holds<Out>(r, list, seed)); });
    }
}

/// A minimum, a maximum and a zero in each of three groups of ones, in parts that a backend takes
/// on its own.
TEMPLATE_TEST_CASE("groups: what is alone is found wherever it lies", "[groups][order][count]", DETREDUCE_ALL_TYPES) {
    constexpr std::uint64_t n = 70'001, groups = 3;
    std::vector<TestType> x(n * groups, number<TestType>(1));
    for (std::uint64_t k = 0; k < 60; ++k) {
        constexpr Shape shapes[] = {Shape::rows, Shape::columns, Shape::segments};
        Request r{.shape = shapes[k % 3], .n = n, .groups = groups};
        std::vector<std::uint64_t> offsets, places;
        if (r.shape == Shape::segments) {
            offsets = {0, n, 2 * n, 3 * n};
            r.n = 3 * n;
        }
        for (std::uint64_t g = 0; g < groups; ++g) {
            const std::uint64_t low = accuracy::hash(k, g) % n,
                                high = (low + 1 + accuracy::hash(k, g + 3) % (n - 3)) % n;
            for (const std::uint64_t at : {low, high, (low + n - 1) % n}) // three different ones
                places.push_back(r.shape == Shape::columns ? at * groups + g : g * n + at);
        }
        constexpr double numbers[] = {-3, 2, 0};
        for (std::size_t i = 0; i < places.size(); ++i)
            x[places[i]] = number<TestType>(numbers[i % 3]);
        const auto of = [&]<class Out>(Op op, Out) {
            r.op = op;
            return TestBackend::reduce_groups<Out>(r, std::span<const TestType>(x), {}, offsets,
                                                   group_draw(Method::tree, k));
        };
        const auto ends = of(Op::minmax, TestType{});
        const auto nonzeros = of(Op::count_nonzero, std::uint64_t{}), unique = of(Op::count_unique, std::uint64_t{});
        INFO(name(r.shape) << " k " << k);
        for (std::uint64_t g = 0; g < groups; ++g) {
            REQUIRE(same_bits(ends[2 * g], number<TestType>(-3)));
            REQUIRE(same_bits(ends[2 * g + 1], number<TestType>(2)));
            REQUIRE(nonzeros[g] == n - 1);
            REQUIRE(unique[g] == 4);
        }
        for (const std::uint64_t at : places)
            x[at] = number<TestType>(1);
    }
}

/// Groups that are counted at once do not share a workspace.
TEMPLATE_TEST_CASE("groups: many that are counted at once", "[groups][count]", float, double) {
    constexpr std::uint64_t n = 30'000, groups = 40;
    std::vector<TestType> x(n * groups);
    for (std::size_t i = 0; i < x.size(); ++i) // row g has n - 100·g different ones
        x[i] = static_cast<TestType>(1 + i % n % (n - 100 * (i / n)));
    Draw draw;
    if (TestBackend::kind == Backend::cpu) draw.launch.threads = 8;
    for (int round = 0; round < 3; ++round) {
        const auto found = TestBackend::reduce_groups<std::uint64_t>(
            Request{.op = Op::count_unique, .shape = Shape::rows, .n = n, .groups = groups},
            std::span<const TestType>(x), {}, {}, draw);
        for (std::uint64_t g = 0; g < groups; ++g)
            REQUIRE(found[g] == n - 100 * g);
    }
}

TEST_CASE("tensors: what is alone is found wherever it lies", "[groups][order][count]") {
    std::vector<AnyVector> list(40);
    for (std::size_t i = 0; i < list.size(); ++i) {
        list[i].dtype = dtypes()[i % 4];
        list[i].bytes.resize((i % 5 == 0 ? 20'000 : 300 * i) * size_of(list[i].dtype)); // zeros
    }
    Request r{.shape = Shape::tensors, .groups = list.size()};
    for (const AnyVector& tensor : list)
        r.n += tensor.n();
    for (std::uint64_t k = 0; k < 60; ++k) {
        std::size_t at = accuracy::hash(k, 1) % r.n, index = at, i = 0;
        while (at >= list[i].n())
            at -= list[i++].n();
        const std::size_t element = size_of(list[i].dtype);
        std::byte& top = list[i].bytes[at * element + element - 1]; // of the exponent, and the sign
        for (const Op op : {Op::argmax, Op::argmin, Op::count_nonzero}) {
            top = static_cast<std::byte>(op == Op::argmin ? 0xc0 : 0x40);
            r.op = op;
            const auto found = TestBackend::reduce_tensors<std::uint64_t>(r, list, group_draw(Method::tree, k)).at(0);
            REQUIRE(found == (op == Op::count_nonzero ? 1 : index));
        }
        top = std::byte{0};
    }
}

} // namespace detreduce::proptests
