// Laws of rows, columns and segments, on every backend: a group's bits are those of the flat
// reduction of its elements, whatever lies around it.
#include <order_reference.hpp>

#include "laws/group_cuts.hpp"
#include "laws/window_edges.hpp"

namespace detreduce::proptests {

/// What SPEC.md says of a group; of one without elements, which only segments can have where flat
/// arrays cannot.
template <class Out, class T>
Out expected_of_group(const Request& r, const Pair<T>& group) {
    if (!group.x.empty()) return expected<Out>(r.op, group, r.method);
    return info(r.op).finalize == Finalize::mean ? fp::from_bits<Out>(fp::Format<Out>::canonical_nan) : Out{};
}

TEMPLATE_TEST_CASE("groups: each is the flat reduction of its elements", "[groups][sanitizer]", DETREDUCE_ALL_TYPES) {
    property("groups", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        auto cut = cut_from<TestType>(word, any_bits<TestType>);
        Request& r = cut.request;
        const auto all = offered(true);
        r.op = some_op(word);
        r.method = all[accuracy::hash(word, 51) % all.size()];
        RC_PRE(r.n > 0 || info(r.op).finalize != Finalize::mean);
        with_dtype_from_16_bits(some_output(r.method, dtype_of<TestType>, word), [&](auto out) {
            using Out = decltype(out);
            RC_LOG(text_of(cut));
            const std::vector<Out> results = TestBackend::reduce_groups<Out>(r, cut.pair.first(), cut.pair.second(r.op),
                                                                             cut.offsets, group_draw(r.method, word));
            RC_ASSERT(results.size() == r.groups);
            for (const std::size_t g : some_groups(cut)) {
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
        RC_PRE(r.n > 0 || r.op == Op::nrminf || r.shape == Shape::segments);
        RC_LOG(text_of(cut));
        const auto check = [&]<class Out>(Out) {
            const std::vector<Out> results =
                TestBackend::reduce_groups<Out>(r, cut.pair.first(), {}, cut.offsets, group_draw(Method::tree, word));
            for (const std::size_t g : some_groups(cut)) {
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

/// Elements that are not side by side are copied, up to 8192 of them at a time: the first and the
/// last of such a block, and one behind it.
TEMPLATE_TEST_CASE("groups: columns longer than what is copied at a time", "[groups][order]", DETREDUCE_ALL_TYPES) {
    for (const std::size_t n : {std::size_t{2049}, std::size_t{4096}, std::size_t{4097}, std::size_t{8193}}) {
        for (const std::size_t at : {std::size_t{0}, std::size_t{2048}, std::size_t{4096}, std::size_t{8192}, n - 1}) {
            if (at >= n) continue;
            std::vector<TestType> x(2 * n, number<TestType>(1));
            x[2 * at] = number<TestType>(3); // of the first column
            const auto column = [&](Op op, auto out) {
                const Request r{.op = op, .shape = Shape::columns, .n = n, .groups = 2};
                return TestBackend::reduce_groups<decltype(out)>(r, std::span<const TestType>(x), {}, {})[0];
            };
            INFO("n " << n << " at " << at);
            REQUIRE(column(Op::argmax, std::uint64_t{}) == at);
            REQUIRE(column(Op::sum, double{}) == static_cast<double>(n) + 2);
            REQUIRE(column(Op::sumsq, double{}) == static_cast<double>(n) + 8);
            REQUIRE(column(Op::max, double{}) == 3);
        }
    }
}

/// Where everything is -0, so is the sum, of however many elements and by whatever way: no backend
/// may begin with +0, or stop looking. One +0 among them shows, and a group without elements is +0.
/// Of products each factor may be the zero.
TEMPLATE_TEST_CASE("groups: sums of -0 alone are -0", "[groups]", DETREDUCE_ALL_TYPES) {
    const auto plus = number<TestType>(0.0), minus = number<TestType>(-0.0), one = number<TestType>(1),
               minus_one = number<TestType>(-1);
    const std::pair<TestType, TestType> factors[] = {{minus, one}, {one, minus}, {plus, minus_one}, {minus_one, plus}};
    struct Sizes {
        std::size_t n, groups;
    };
    std::uint64_t seed = 0;
    for (const Sizes& s :
         {Sizes{1, 9}, Sizes{5, 4200}, Sizes{31, 300}, Sizes{77, 60}, Sizes{700, 40}, Sizes{9001, 3}}) {
        for (const Shape shape : {Shape::rows, Shape::columns, Shape::segments}) {
            for (const Op op : {Op::sum, Op::dot}) {
                for (const Method method : offered(true)) {
                    const auto& [x, y] = factors[++seed % std::size(factors)];
                    const bool dot = op == Op::dot;
                    std::vector<TestType> first(s.n * s.groups, dot ? x : minus), second(s.n * s.groups, y);
                    std::vector<std::uint64_t> offsets;
                    for (std::size_t g = 0; shape == Shape::segments && g <= s.groups;
                         ++g) // every fifth has none, and the one before it two times n
                        offsets.push_back((g % 5 == 4 ? g + 1 : g) * s.n);
                    if (!offsets.empty()) offsets.back() = first.size();
                    const auto begin = [&](std::size_t g) { return offsets.empty() ? g * s.n : offsets[g]; };
                    const auto sign = [&](std::size_t g) { // every third has a +0
                        return g % 3 != 1 && (offsets.empty() || offsets[g] < offsets[g + 1]);
                    };
                    for (std::size_t g = 1; g < s.groups; g += 3) {
                        const std::size_t i = accuracy::hash(seed, g) % s.n;
                        if (!offsets.empty() && offsets[g] == offsets[g + 1]) continue;
                        first[shape == Shape::columns ? i * s.groups + g : begin(g) + i] = dot ? fp::negated(x) : plus;
                    }
                    const Request r{.op = op,
                                    .method = method,
                                    .shape = shape,
                                    .n = shape == Shape::segments ? first.size() : s.n,
                                    .groups = s.groups};
                    const auto results = TestBackend::reduce_groups<TestType>(
                        r, std::span<const TestType>(first),
                        dot ? std::span<const TestType>(second) : std::span<const TestType>(), offsets);
                    for (std::size_t g = 0; g < s.groups; ++g) {
                        if (same_bits(results[g], sign(g) ? minus : plus)) continue;
                        FAIL(name(op) << ' ' << name(method) << ' ' << name(shape) << " n " << s.n << " groups "
                                      << s.groups << " group " << g);
                    }
                    SUCCEED();
                }
            }
        }
    }
}

/// Of some ranges a double holds every sum of elements of a row, of the next it just does not; and
/// next to such rows lie others, infinite ones among them.
TEMPLATE_TEST_CASE("groups: rows with numbers at both edges of what is added without rounding", "[groups]",
                   DETREDUCE_ALL_TYPES) {
    constexpr std::size_t groups = 70, kinds = 7;
    for (const std::size_t n : {2, 64, 65, 512, 4096}) {
        const int last = std::min(widest_range<TestType>, n > 1000 ? 40 : 60);
        for (int range = n > 1000 ? std::min(8, last) : 0; range <= last; ++range) {
            std::vector<TestType> row[kinds], x;
            double wide[kinds];
            float narrow[kinds];
            for (std::size_t kind = 0; kind < kinds; ++kind) {
                row[kind] = at_both_edges<TestType>(n, middle_of<TestType>(range), range, n - n * kind / 8);
                if (kind == 3) row[kind][n / 2] = from_fields<TestType>({true, middle_of<TestType>(range), 1});
                if (kind == 4) std::fill(row[kind].begin(), row[kind].end(), number<TestType>(-0.0));
                for (std::size_t i = 0; kind > 4 && i < n; ++i)
                    row[kind][i] = kind == 6 ? fp::negated(fp::from_bits<TestType>(fp::Format<TestType>::canonical_nan))
                                   : i % 2 == 0 ? number<TestType>(infinity<double>)
                                                : number<TestType>(-infinity<double>);
                const accuracy::ExactSum sum = accuracy::exact_sum(std::span<const TestType>(row[kind]));
                wide[kind] = sum.template round<double>();
                narrow[kind] = sum.template round<float>();
            }
            const auto kind_of = [&](std::size_t g) { return range % 2 == 0 ? g % 3 : g % kinds; };
            for (std::size_t g = 0; g < groups; ++g)
                x.insert(x.end(), row[kind_of(g)].begin(), row[kind_of(g)].end());
            const Request r{.method = Method::exact, .shape = Shape::rows, .n = n, .groups = groups};
            const std::span<const TestType> all(x);
            const auto in_wide = TestBackend::reduce_groups<double>(r, all, {}, {});
            const auto in_narrow = TestBackend::reduce_groups<float>(r, all, {}, {});
            for (std::size_t g = 0; g < groups; ++g) {
                if (!same_bits(in_wide[g], wide[kind_of(g)]) || !same_bits(in_narrow[g], narrow[kind_of(g)]))
                    FAIL("n " << n << " range " << range << " row " << g);
            }
            SUCCEED();
        }
    }
}

/// First rows whose elements are close together, then rows whose elements are not: what was found
/// out of the former must not matter to the latter, nor the other way round.
TEMPLATE_TEST_CASE("groups: many short rows, the second half of them of other magnitudes", "[groups]",
                   DETREDUCE_ALL_TYPES) {
    constexpr std::size_t n = 24, stride = 25, groups = 2300;
    std::vector<TestType> x(groups * stride);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::uint64_t word = accuracy::hash(7, i);
        const bool wide = i / stride >= groups / 2 && i / stride < groups - 70, small = i / stride % 97 == 5;
        const int most = largest_exponent<TestType>, range = wide ? most : 2;
        const int exponent = static_cast<int>(word / 2 % static_cast<unsigned>(2 * range + 1)) - range;
        x[i] = small ? fp::from_bits<TestType>(static_cast<fp::Bits<TestType>>(1 + word % 3)) // subnormal
                     : from_fields<TestType>({word % 2 != 0, exponent, word >> 20});
    }
    for (const Op op : {Op::sum, Op::mean}) {
        const Request r{
            .op = op, .method = Method::exact, .shape = Shape::rows, .n = n, .groups = groups, .stride = stride};
        for (const DType output : dtypes()) {
            with_dtype(output, [&](auto out) {
                using Out = decltype(out);
                const auto results = TestBackend::reduce_groups<Out>(r, std::span<const TestType>(x), {}, {});
                for (std::size_t g = 0; g < groups; ++g) {
                    const std::vector<TestType> row(x.begin() + g * stride, x.begin() + g * stride + n);
                    if (!same_bits(results[g], expected<Out>(op, Pair<TestType>{row, {}}, Method::exact)))
                        FAIL(name(op) << " in " << name(output) << " row " << g);
                }
                SUCCEED();
            });
        }
    }
}

/// Alone, so that nothing else leaves room for it.
TEMPLATE_TEST_CASE("groups: one segment just longer than what is taken at once", "[groups]", DETREDUCE_ALL_TYPES) {
    constexpr std::size_t tile = spec::TreeOrder<sizeof(TestType)>::tile;
    for (const std::size_t n :
         {tile, tile + 1, 2 * tile - 1, 2 * tile, std::size_t{32768}, std::size_t{32769}, std::size_t{65535}}) {
        const auto x = vector_from<TestType>(Style::stratified, n, n, finite_bits<TestType>);
        const Pair<TestType> pair{x, {}};
        for (const Method method : offered(true)) {
            const Request r{.method = method, .shape = Shape::segments, .n = n, .groups = 1};
            INFO(name(method) << " n " << n);
            REQUIRE(same_bits(TestBackend::reduce_groups<double>(r, pair.first(), {}, {0, n})[0],
                              expected<double>(Op::sum, pair, method)));
        }
        for (const Op op : {Op::argmin, Op::argmax}) {
            const Request r{.op = op, .shape = Shape::segments, .n = n, .groups = 1};
            REQUIRE(TestBackend::reduce_groups<std::uint64_t>(r, pair.first(), {}, {0, n})[0] ==
                    reference::found_by<TestType>(op, x, r.nan));
        }
    }
}

/// Finite, and of so many exponents that nearly every addition is rounded: an element that is added
/// in another place shows. Groups begin anywhere, and end in the midst of a row of lanes.
TEMPLATE_TEST_CASE("groups: long ones, whose sums are rounded at every step", "[groups][sanitizer]",
                   DETREDUCE_ALL_TYPES) {
    constexpr int most = fp::is_f64<TestType> ? 40 : 12;
    constexpr std::size_t groups = 4, lanes = spec::TreeOrder<sizeof(TestType)>::lanes;
    std::uint64_t seed = 0;
    for (const std::size_t n : {lanes + 1, lanes + lanes / 2 + 1, 2 * lanes + 67, 3 * lanes - 5, 9 * lanes + 3}) {
        for (const Shape shape : {Shape::rows, Shape::columns, Shape::segments}) {
            Cut<TestType> cut{{.shape = shape, .n = n, .groups = groups}, {}, {}};
            cut.request.stride = shape == Shape::rows ? n + seed % 2 : shape == Shape::columns ? groups + seed % 2 : 0;
            if (shape == Shape::segments) {
                cut.request.n = groups * n + 3;
                for (std::size_t g = 0; g <= groups; ++g)
                    cut.offsets.push_back(1 + g * n + (g + seed) % 2);
            }
            const std::size_t all = (groups + 1) * (n + 1) + 3;
            for (std::size_t i = 0; i < all; ++i) {
                const std::uint64_t word = accuracy::hash(++seed, i), other = accuracy::hash(seed, i + all);
                const auto exponent = [](std::uint64_t w) { return static_cast<int>(w / 2 % (2 * most + 1)) - most; };
                cut.pair.x.push_back(from_fields<TestType>({word % 2 != 0, exponent(word), word >> 9}));
                cut.pair.y.push_back(from_fields<TestType>({other % 2 != 0, exponent(other) / 8, other >> 9}));
            }
            for (const Op op : {Op::sum, Op::asum, Op::sumsq, Op::dot, Op::mae}) {
                for (const Method method : offered(true)) {
                    cut.request.op = op;
                    cut.request.method = method;
                    const auto results = TestBackend::reduce_groups<double>(cut.request, cut.pair.first(),
                                                                            cut.pair.second(op), cut.offsets);
                    for (std::size_t g = 0; g < groups; ++g) {
                        INFO(text_of(cut) << "group " << g);
                        REQUIRE(same_bits(results[g], expected<double>(op, cut.group(g), method)));
                    }
                }
            }
        }
    }
}

} // namespace detreduce::proptests
