#include <detreduce/acc/exact_variance.hpp>
#include <detreduce/acc/moments.hpp>
#include <detreduce/accuracy/oracle.hpp>
#include <detreduce/spec/tile_counts.hpp>

#include "laws/expect_status.hpp"
#include "laws/moments_draws.hpp"

namespace detreduce::proptests {

TEST_CASE("exact: long divisions and roots in integers are those of 128 bits", "[moments][exact]") {
    namespace exact = acc::exact;
    for (std::uint64_t i = 0; i < 200000; ++i) {
        const auto draw = [i](std::uint64_t k) { return accuracy::hash(i, k) >> accuracy::hash(i, k + 10) % 64; };
        const std::uint64_t count = std::max<std::uint64_t>(1, draw(0) % (std::uint64_t{1} << 40)), limb = draw(1);
        std::uint64_t rest = draw(2) % count;
        const unsigned __int128 all = static_cast<unsigned __int128>(rest) << 64 | limb;
        REQUIRE(exact::divide_step(rest, limb, count) == static_cast<std::uint64_t>(all / count));
        REQUIRE(rest == static_cast<std::uint64_t>(all % count));

        // 2^126 ≤ x, with squares, and what is next to them, among them
        const std::uint64_t root = accuracy::hash(i, 3) | std::uint64_t{1} << 63;
        const auto square = static_cast<unsigned __int128>(root) * root;
        const unsigned __int128 x = i % 4 == 0   ? square
                                    : i % 4 == 1 ? square - (i % 8 == 1 && root != std::uint64_t{1} << 63)
                                    : i % 4 == 2 ? square + 2 * static_cast<unsigned __int128>(root)
                                                 : square + draw(4);
        const std::uint64_t r = exact::integer_root(x);
        REQUIRE(static_cast<unsigned __int128>(r) * r <= x);
        REQUIRE((r == ~std::uint64_t{0} || static_cast<unsigned __int128>(r + 1) * (r + 1) > x));
    }
}

TEST_CASE("moments: the calls of host.hpp", "[moments]") {
    const std::vector<float> x{1, 2, 3, 4, 7};
    for (const Method method : moment_methods()) {
        const float most = method == Method::exact ? 0 : 1e-6f; // that the others may be off
        REQUIRE(std::fabs(variance(x, method) - 4.24f) <= most);
        REQUIRE(std::fabs(variance(x, method, 1) - 5.3f) <= most);
        REQUIRE(std::fabs(stddev(x, method, 1) - std::sqrt(5.3f)) <= most);
        const auto both = moments(x, method, 1, {.threads = 2});
        REQUIRE(std::fabs(both.mean - 3.4f) <= most);
        REQUIRE(std::fabs(both.variance - 5.3f) <= most);
    }
    double wide[2] = {};
    moments_into(Op::moments, x, wide);
    REQUIRE(wide[0] == 3.4);
    REQUIRE(wide[1] == 4.24);
    REQUIRE(reduce_as<double>(Op::variance, x) == 4.24);
    REQUIRE_THROWS_AS(variance(std::vector<float>{}), Error);
    REQUIRE_THROWS_AS(variance(std::vector<float>{1}, Method::tree, 1), Error);
    REQUIRE_THROWS_AS(moments_into(Op::sum, x, wide), Error);
    REQUIRE_THROWS_AS(reduce_as<float>(Op::moments, x), Error); // there would be no room
    REQUIRE_THROWS_AS(variance(x, Method::kahan), Error);
}

/// Elements by looking at every one of them.
template <std::uint32_t Lanes, class Chosen>
std::uint64_t counted(const spec::TileCounts<Lanes>& counts, const Chosen& chosen) {
    std::uint64_t all = 0;
    for (std::uint32_t i = 0; i < counts.m; ++i) {
        if (chosen(i)) all += i + 1 == counts.m ? counts.unit - counts.missing : counts.unit;
    }
    return all;
}

TEST_CASE("moments: groups of a tile hold the elements that lie there", "[moments]") {
    constexpr std::uint32_t lanes = 64;
    for (const std::uint32_t m : {1u, 2u, 63u, 64u, 65u, 500u, 512u, 513u, 1000u, 4095u, 4096u}) {
        for (const spec::TileCounts<lanes> counts : {spec::TileCounts<lanes>{m},
                                                     {m, std::uint64_t{1} << 24},
                                                     {m, std::uint64_t{1} << 36, (1ull << 36) - 77}}) {
            for (const std::uint32_t j : {0u, 1u, 30u, 35u, 51u, 62u, 63u}) {
                for (const auto& [first, last] :
                     {std::pair{0u, 1u}, {7u, 8u}, {0u, 8u}, {6u, 8u}, {8u, 32u}, {32u, 64u}}) {
                    INFO("m " << m << " lane " << j << " rows " << first << " to " << last);
                    REQUIRE(counts.in_rows(j, first, last) ==
                            counted(counts, [&, first = first, last = last](std::uint32_t i) {
                                return i % lanes == j && i / lanes >= first && i / lanes < last;
                            }));
                }
                for (std::uint32_t step = 64; step > j; step /= 2)
                    REQUIRE(counts.in_lanes(j, step) ==
                            counted(counts, [&](std::uint32_t i) { return i % step == j; }));
            }
        }
    }
}

TEST_CASE("moments: exact sums of more than 2^32 elements", "[moments]") {
    namespace exact = acc::exact;
    using accuracy::cpp_int;
    for (const std::uint64_t n1 : {std::uint64_t{1} << 33, (std::uint64_t{1} << 39) - 3, std::uint64_t{12345678901}}) {
        for (const std::uint64_t n2 : {std::uint64_t{1}, std::uint64_t{7}, (std::uint64_t{1} << 39) - 12345}) {
            const std::uint64_t n = n1 + n2;
            constexpr std::int64_t a = 1001, b = -997; // n1 times a, n2 times b
            exact::Word sum[exact::words] = {}, squares[exact::words] = {};
            const std::int64_t first = a * static_cast<std::int64_t>(n1), second = b * static_cast<std::int64_t>(n2);
            exact::deposit(sum, first + second, 0);
            exact::deposit(squares, a * first + b * second, 0);
            for (const std::uint64_t ddof : {std::uint64_t{0}, std::uint64_t{1}, n - 1}) {
                for (const bool root : {false, true}) {
                    exact::VarianceRoom<> room;
                    const double result = exact::rounded<double>(exact::Outcome::of(exact::variance(
                        exact::magnitude_of({sum, exact::lowest_exponent, sum}, 0, exact::limbs, room.sum),
                        exact::magnitude_of({squares, exact::lowest_exponent, squares}, 0, exact::limbs, room.squares),
                        n, ddof, root, room)));
                    const cpp_int total = cpp_int(first) + second;
                    cpp_int bits, rest;
                    divide_qr(cpp_int(cpp_int(cpp_int(a * first + b * second) * n - total * total) << 400u),
                              cpp_int(cpp_int(n) * (n - ddof)), bits, rest);
                    bool more = rest != 0;
                    if (root) {
                        bits = sqrt(bits, rest);
                        more = more || rest != 0;
                    }
                    INFO(n1 << " and " << n2 << " ddof " << ddof << " root " << root);
                    REQUIRE(same_bits(result, accuracy::round_scaled<double>(cpp_int(2 * bits + (more ? 1 : 0)),
                                                                             root ? -201 : -401)));
                }
            }
        }
    }
}

TEST_CASE("moments: groups of more than 2^32 elements", "[moments]") {
    using Group = acc::CountedMoments<float>;
    const std::uint64_t large = (std::uint64_t{1} << 33) + 5, small = std::uint64_t{1} << 31;
    Group a{large, {1, 8}};
    a.merge({small, {3, 16}});
    REQUIRE(a.count == large + small);
    REQUIRE(a.m.mean == 1.4f);
    REQUIRE(a.m.m2 == std::fma(4.0f, 0x1p33f * 0.2f, 24.0f));
    const auto equal = acc::Weights<float>::of(large, large),
               known = acc::Weights<float>::equal(static_cast<float>(large));
    REQUIRE(equal.right == known.right);
    REQUIRE(equal.cross == known.cross);
}

TEMPLATE_TEST_CASE("moments: groups of as many elements are merged without a division, to the same bits", "[moments]",
                   float, double) {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        const std::uint64_t count = 1 + accuracy::hash(seed, 1) % (max_n >> accuracy::hash(seed, 2) % 40);
        const auto x = vector_from<TestType>(Style::stratified, 4, seed, {-6, 3, false, false});
        acc::CountedMoments<TestType> fast{count, {x[0], x[1] * x[1]}};
        const acc::CountedMoments<TestType> right{count, {x[2], x[3] * x[3]}};
        auto divided = fast.m;
        divided.merge(right.m, acc::Weights<TestType>::of(count, count));
        fast.merge(right);
        INFO(count << " elements each");
        REQUIRE(fast.count == 2 * count);
        REQUIRE(same_bits(fast.m.mean, divided.mean));
        REQUIRE(same_bits(fast.m.m2, divided.m2));
    }
}

/// The elements have two values, which have few bits or are nearly equal. So many results are
/// numbers of the format, and others lie in the middle of two. Exponents are those that states
/// have.
TEST_CASE("moments: what two doubles say is what long integers say", "[moments][exact]") {
    namespace exact = acc::exact;
    constexpr int tries = 200000;
    int settled[3] = {}, all[3] = {};
    for (std::uint64_t seed = 0; seed < tries; ++seed) {
        const auto draw = [seed](std::uint64_t k) { return accuracy::hash(seed, k); };
        const std::uint64_t n = 2 + draw(1) % (std::uint64_t{1} << draw(2) % 40),
                            ddof = draw(3) % 3 == 0 ? 0 : draw(4) % n;
        const int bits = 1 + static_cast<int>(draw(5) % 60), unit = static_cast<int>(draw(6) % 1800) - 1000;
        // n₁ elements a and n − n₁ elements b, in units of 2^unit
        const auto number = [&](std::uint64_t k) { return static_cast<std::int64_t>(draw(k)) >> (63 - bits); };
        const __int128 a = number(7), b = draw(8) % 4 == 0 ? a + static_cast<std::int64_t>(draw(9) % 5) - 2 : number(9);
        const std::uint64_t first = draw(10) % (n + 1);
        const auto put = [](exact::Word* words, accuracy::cpp_int x, int at) { // at: a multiple of 32, of limb 0
            const bool negative = x < 0;
            if (negative) x = -x;
            for (int k = 0; x != 0; ++k, x >>= 32u) {
                const auto limb = static_cast<exact::Word>(x & 0xffffffffu);
                words[at / 32 + k] = negative ? -limb : limb;
            }
        };
        const accuracy::cpp_int A = a, B = b, sum = A * first + B * (n - first),
                                squares = A * A * first + B * B * (n - first);
        exact::Word s[exact::limbs] = {}, q[exact::product_limbs] = {};
        const int from = unit - exact::lowest_exponent, square_from = 2 * unit - exact::lowest_product_exponent;
        put(s, accuracy::cpp_int(sum << unsigned(from % 32)), from - from % 32);
        put(q, accuracy::cpp_int(squares << unsigned(square_from % 32)), square_from - square_from % 32);
        static exact::VarianceRoom<> room;
        const exact::Magnitude ms =
                                   exact::magnitude_of({s, exact::lowest_exponent, nullptr}, 0, exact::limbs, room.sum),
                               mq = exact::magnitude_of({q, exact::lowest_product_exponent, nullptr}, 0,
                                                        exact::product_limbs, room.squares);
        exact::Outcome long_variance[2] = {},
                       mean = exact::Outcome::of(exact::leading(ms)).finalized(Finalize::mean, n);
        for (const bool root : {false, true})
            long_variance[root] = exact::Outcome::of(exact::variance(ms, mq, n, ddof, root, room));
        int number_of_format = 0;
        for (const fp::AnyFormat& f :
             {fp::AnyFormat::of<double>(), fp::AnyFormat::of<float>(), fp::AnyFormat::of<float16>()}) {
            for (const bool root : {false, true}) {
                const exact::WantedMoments wanted{n, ddof, true, root, f};
                exact::Outcome o;
                CAPTURE(seed, n, ddof, f.bits, root);
                ++all[number_of_format];
                const int scale = mq.last == mq.first ? 0 : exact::scale_of(mq),
                          scale_of_sum = ms.last == ms.first ? 0 : exact::scale_of(ms);
                if (exact::settles_variance(exact::near_of(ms, scale / 2), exact::near_of(mq, scale), scale, wanted,
                                            o)) {
                    ++settled[number_of_format];
                    REQUIRE(exact::rounded(f, o) == exact::rounded(f, long_variance[root]));
                }
                if (exact::settles_mean(exact::near_of(ms, scale_of_sum), scale_of_sum, wanted, o))
                    REQUIRE(exact::rounded(f, o) == exact::rounded(f, mean));
            }
            ++number_of_format;
        }
    }
    for (int k = 0; k < 3; ++k) {
        CAPTURE(k, settled[k], all[k]);
        REQUIRE(settled[k] > all[k] / 4);
    }
}

/// Results are subnormal, or just normal. In the binade above a power of two a unit of subnormals
/// is as large as below it, and a bit of a double is twice as large.
TEMPLATE_TEST_CASE("moments: two doubles settle what both ends of what they may be round to", "[moments][exact]",
                   float16, bfloat16, float, float8_e4m3, float8_e5m2) {
    namespace exact = acc::exact;
    constexpr fp::AnyFormat f = fp::AnyFormat::of<TestType>();
    int settled = 0;
    for (std::uint64_t seed = 0; seed < 200000; ++seed) {
        const auto draw = [seed](std::uint64_t k) { return accuracy::hash(seed, k); };
        const int bits = 4 + static_cast<int>(draw(1) % static_cast<unsigned>(f.precision + 2));
        const double value = static_cast<double>(1 + draw(2) % (std::uint64_t{1} << bits)) / 16, // in units
            within = static_cast<double>(1 + draw(3) % 64) * std::ldexp(1, -4 - static_cast<int>(draw(4) % 20));
        exact::Outcome o;
        if (!exact::Near{value, 0, within}.settles(f, f.min_exponent, o)) continue;
        ++settled;
        const auto rounded_end = [&](double end) { return fp::round_to<TestType>(std::ldexp(end, f.min_exponent)); };
        CAPTURE(value, within);
        REQUIRE(same_bits(rounded_end(value - within), rounded_end(value + within)));
        REQUIRE(same_bits(rounded_end(value), exact::rounded<TestType>(o)));
    }
    REQUIRE(settled > 20000);
}
TEST_CASE("moments: variances just above a tie of subnormals", "[moments][exact]") {
    const auto bits = [](std::initializer_list<double> x) {
        return fp::to_bits(reduce_as<float16>(Op::variance, std::vector<double>(x)));
    };
    REQUIRE(bits({0x1.2630c55330021p+33, 0x1.2630c553302b1p+33, 0x1.2630c553301c8p+33}) == 5);
    REQUIRE(bits({0x1.261bfbc076226p+33, 0x1.261bfbc0763b1p+33, 0x1.261bfbc0763efp+33}) == 3);
}

/// n·Σx² has up to two limbs more than Σx²; the second of them only where there are more than 2^32
/// elements.
TEST_CASE("moments: the variance of 2^40 elements from its sums", "[moments]") {
    namespace exact = acc::exact;
    constexpr std::uint64_t n = std::uint64_t{1} << 40;
    constexpr std::int64_t odd = (std::int64_t{1} << 53) - 1;
    static exact::VarianceRoom<> room;
    for (int k = 0; k < 64; ++k) {
        exact::Word squares[exact::product_limbs] = {}, sum[exact::limbs] = {};
        exact::deposit(squares, odd, exact::lowest_exponent + k);
        const exact::Leading variance = exact::variance(
            exact::magnitude_of({sum, exact::lowest_exponent, nullptr}, 0, exact::limbs, room.sum),
            exact::magnitude_of({squares, -64, nullptr}, 0, exact::product_limbs, room.squares), n, 0, false, room);
        INFO("k " << k);
        REQUIRE(exact::rounded<double>(exact::Outcome::of(variance)) ==
                std::ldexp(static_cast<double>(odd), k - 64 - 40));
    }
}

} // namespace detreduce::proptests
