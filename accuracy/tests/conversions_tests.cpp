// fp/convert.hpp against the oracle: every 16-bit pattern, every place at which a rounding changes,
// and random numbers.
#include <algorithm>
#include <cmath>
#include <limits>

#include <support/bits.hpp>
#include <support/property.hpp>

#include <detreduce/accuracy/oracle.hpp>
#include <detreduce/fp/convert.hpp>

using namespace detreduce;
using namespace detreduce::accuracy;
using namespace detreduce::proptests;

namespace {

/// What rounding x to T must give, by the oracle.
template <class T, class From>
T expected(From x) {
    ExactSum sum;
    sum.add(x);
    return sum.round<T>();
}

template <class T, class From>
bool rounds(From x) {
    return fp::to_bits(fp::round_to<T>(x)) == fp::to_bits(expected<T>(x)) &&
           fp::to_bits(fp::round_to<T>(fp::negated(x))) == fp::to_bits(expected<T>(fp::negated(x)));
}

template <class T>
T pattern(std::uint32_t bits) {
    return fp::from_bits<T>(static_cast<fp::Bits<T>>(bits));
}

template <class T>
void check_sums(const Scope& scope) {
    property("random sums", [&] {
        const double a = *value<double>(scope), b = *value<double>(scope);
        ExactSum sum;
        sum.add(a);
        sum.add(b);
        RC_ASSERT(fp::to_bits(fp::sum_rounded_to<T>(a, b)) == fp::to_bits(sum.round<T>()));
    });
}

} // namespace

TEMPLATE_TEST_CASE("every 16-bit number widens to the same value and comes back", "[fp]", float16, bfloat16) {
    using T = TestType;
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        const T x = pattern<T>(bits);
        const float wide = fp::widen(x);
        INFO(bits);
        if (fp::is_nan(x)) {
            REQUIRE(fp::is_nan(wide));
        } else if (fp::is_finite(x)) {
            REQUIRE(scaled_value(wide) == scaled_value(x));
        } else {
            REQUIRE(fp::magnitude_bits(wide) == fp::infinity_bits<float>);
        }
        REQUIRE(fp::is_negative(wide) == fp::is_negative(x));
        REQUIRE(fp::to_bits(fp::round_to<T>(wide)) == fp::to_bits(fp::canonical(x)));
        REQUIRE(fp::to_bits(fp::round_to<T>(static_cast<double>(wide))) == fp::to_bits(fp::canonical(x)));
    }
}

TEMPLATE_TEST_CASE("between all 16-bit numbers, the middle goes to the even one and all else to the nearer", "[fp]",
                   float16, bfloat16) {
    using T = TestType;
    for (std::uint32_t bits = 0; bits < fp::infinity_bits<T>; ++bits) {
        const double below = static_cast<double>(fp::widen(pattern<T>(bits)));
        const bool last = bits + 1 == fp::infinity_bits<T>; // above it, the middle to the number that would come next
        const double step = last ? below - static_cast<double>(fp::widen(pattern<T>(bits - 1)))
                                 : static_cast<double>(fp::widen(pattern<T>(bits + 1))) - below;
        const double middle = below + step / 2;
        const auto narrow = static_cast<float>(middle); // exact but where T's subnormals are float's
        INFO(bits);
        for (const double x :
             {below, next_up(below), next_down(middle), middle, next_up(middle), next_down(below + step)})
            REQUIRE(rounds<T>(x));
        for (const float x : {next_down(narrow), narrow, next_up(narrow)})
            REQUIRE(rounds<T>(x));
    }
}

TEMPLATE_TEST_CASE("any number rounds as the oracle says", "[fp]", float16, bfloat16, float, double) {
    using T = TestType;
    property("from double", [](const Value<double>& a) { RC_ASSERT(rounds<T>(a.x)); });
    property("from float", [](const Value<float>& a) { RC_ASSERT(rounds<T>(a.x)); });
    property("from float16", [](const Value<float16>& a) { RC_ASSERT(rounds<T>(a.x)); });
    property("from bfloat16", [](const Value<bfloat16>& a) { RC_ASSERT(rounds<T>(a.x)); });
    for (std::uint64_t i = 0; i < 100'000; ++i) {
        // exponents that T holds, and one beyond each of its ends
        constexpr int lowest = fp::Format<T>::min_exponent - 2, highest = fp::Format<T>::max_exponent + 1;
        constexpr Scope near_range{std::max(lowest, 1 - largest_exponent<double>),
                                   std::min(highest, largest_exponent<double>), false, false};
        const double x = fit(fp::from_bits<double>(accuracy::hash(1, i)), near_range);
        if (!rounds<T>(x)) FAIL(hexadecimal(x));
    }
}

TEMPLATE_TEST_CASE("every 8-bit number is what its fields say, and comes back", "[fp][8]", float8_e4m3, float8_e5m2) {
    using T = TestType;
    constexpr bool e4m3 = std::is_same_v<T, float8_e4m3>;
    constexpr int fraction_bits = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15, top = e4m3 ? 15 : 31;
    for (std::uint32_t bits = 0; bits < 256; ++bits) {
        const T x = pattern<T>(bits);
        const int field = static_cast<int>(bits >> fraction_bits) & top;
        const auto fraction = static_cast<int>(bits & ((1u << fraction_bits) - 1));
        const bool nan = e4m3 ? (bits & 0x7f) == 0x7f : field == top && fraction != 0;
        const bool infinite = !e4m3 && field == top && fraction == 0;
        INFO(bits);
        REQUIRE(fp::is_nan(x) == nan);
        REQUIRE(fp::is_finite(x) == (!nan && !infinite));
        REQUIRE(fp::is_negative(fp::widen(x)) == (bits >= 128));
        REQUIRE(fp::is_nan(fp::widen(x)) == nan);
        if (!nan) {
            const double significand = field == 0 ? fraction : fraction + (1 << fraction_bits);
            const double value = infinite ? std::numeric_limits<double>::infinity()
                                          : std::ldexp(significand, std::max(field, 1) - bias - fraction_bits);
            REQUIRE(double(fp::widen(x)) == (bits >= 128 ? -value : value));
        }
        REQUIRE(T(float(x)).bits == fp::canonical(x).bits);
        REQUIRE(T(double(x)).bits == fp::canonical(x).bits);
        if (fp::is_finite(x)) REQUIRE(rounds<T>(double(x)));
    }
}

TEMPLATE_TEST_CASE("between all 8-bit numbers, the middle goes to the even one and all else to the nearer", "[fp][8]",
                   float8_e4m3, float8_e5m2) {
    using T = TestType;
    for (std::uint32_t bits = 0; bits < fp::Format<T>::largest; ++bits) {
        const double below = double(pattern<T>(bits)), above = double(pattern<T>(bits + 1)),
                     middle = (below + above) / 2;
        INFO(bits);
        REQUIRE(T(middle).bits == bits + bits % 2);
        for (const double x : {next_up(below), next_down(middle)}) {
            REQUIRE(T(x).bits == bits);
            REQUIRE(rounds<T>(x));
        }
        for (const double x : {next_up(middle), next_down(above)}) {
            REQUIRE(T(x).bits == bits + 1);
            REQUIRE(rounds<T>(x));
        }
        REQUIRE(T(next_up(static_cast<float>(middle))).bits == bits + 1);
        REQUIRE(T(next_down(static_cast<float>(middle))).bits == bits);
    }
    property("from double", [](const Value<double>& a) { RC_ASSERT(rounds<T>(a.x)); });
    property("from float", [](const Value<float>& a) { RC_ASSERT(rounds<T>(a.x)); });
    check_sums<T>({fp::Format<T>::min_exponent - 60, fp::Format<T>::max_exponent + 1, false, false});
}

TEST_CASE("8-bit formats end as the OCP specification has it, without saturation", "[fp][8]") {
    REQUIRE(float8_e4m3(448.0).bits == 0x7e);
    REQUIRE(float8_e4m3(464.0).bits == 0x7e); // a tie with what would be 480
    REQUIRE(float8_e4m3(next_up(464.0)).bits == 0x7f);
    for (const double x : {480.0, 496.0, 512.0, 1e300, -480.0, std::numeric_limits<double>::infinity()})
        REQUIRE(float8_e4m3(x).bits == 0x7f);
    REQUIRE(float8_e5m2(57344.0).bits == 0x7b);
    REQUIRE(float8_e5m2(next_down(61440.0)).bits == 0x7b);
    REQUIRE(float8_e5m2(61440.0).bits == 0x7c); // a tie with what would be 65536
    REQUIRE(float8_e5m2(-1e300).bits == 0xfc);
    REQUIRE(float8_e5m2(std::numeric_limits<double>::quiet_NaN()).bits == 0x7e);
    REQUIRE(float8_e4m3(-0.0).bits == 0x80);
    REQUIRE(float8_e4m3(0x1p-10).bits == 0);
    REQUIRE(float8_e4m3(next_up(0x1p-10)).bits == 1);
    REQUIRE(float8_e5m2(0x1p-17).bits == 0);
}

TEMPLATE_TEST_CASE("16-bit numbers convert, explicitly, as fp/convert.hpp says", "[fp]", float16, bfloat16) {
    using T = TestType;
    // Nothing becomes one by itself, and no integer at all: it might be meant as bits.
    static_assert(std::is_constructible_v<T, float> && std::is_constructible_v<T, double>);
    static_assert(!std::is_convertible_v<float, T> && !std::is_convertible_v<double, T>);
    static_assert(!std::is_convertible_v<T, float> && !std::is_convertible_v<T, double>);
    static_assert(!std::is_constructible_v<T, int> && !std::is_constructible_v<T, unsigned> &&
                  !std::is_constructible_v<T, std::uint16_t> && !std::is_constructible_v<T, bool> &&
                  !std::is_constructible_v<T, std::int64_t> && !std::is_constructible_v<T, char>);
    static_assert(!std::is_constructible_v<int, T> && !std::is_constructible_v<bool, T>);
    static_assert(!std::is_constructible_v<float16, bfloat16> && !std::is_constructible_v<bfloat16, float16>);
    static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_copyable_v<T> &&
                  std::is_standard_layout_v<T> && sizeof(T) == 2 && alignof(T) == 2);
    union Shared { // as CUDA's shared memory: no constructor may run
        T x[2];
        std::uint32_t word;
    };
    static_assert(std::is_trivially_default_constructible_v<Shared>);
    static_assert(float(T(1.5f)) == 1.5f && double(T(-2.0)) == -2 && T{}.bits == 0 && T::from_bits(1).bits == 1);
    REQUIRE(T(2.0f).bits == 0x4000);
    REQUIRE(T(1.0f).bits == (std::is_same_v<T, float16> ? 0x3c00 : 0x3f80));

    for (std::uint32_t b = 0; b < 0x10000; ++b) {
        const T x = T::from_bits(static_cast<std::uint16_t>(b));
        const bool same = x.bits == b && fp::to_bits(float(x)) == fp::to_bits(fp::widen(x)) &&
                          fp::to_bits(double(x)) == fp::to_bits(double(fp::widen(x))) &&
                          T(float(x)).bits == fp::canonical(x).bits && T(double(x)).bits == fp::canonical(x).bits;
        if (!same) FAIL("bits " << b);
    }
    // By way of float this would be a tie.
    constexpr int p = fp::Format<T>::precision;
    const double half = std::ldexp(1.0, -p), above = 1 + half + 0x1p-50, below = 1 + half - 0x1p-50;
    REQUIRE(double(T(above)) == 1 + 2 * half);
    REQUIRE(double(T(below)) == 1);
    REQUIRE(double(T(1 + half)) == 1);
    REQUIRE(double(T(static_cast<float>(above))) == 1);
    property("from float", [](const Value<float>& a) { RC_ASSERT(T(a.x).bits == fp::round_to<T>(a.x).bits); });
    property("from double", [](const Value<double>& a) { RC_ASSERT(T(a.x).bits == fp::round_to<T>(a.x).bits); });
}

TEMPLATE_TEST_CASE("significands with a sticky bit are rounded once", "[fp]", float16, bfloat16, float, double) {
    using T = TestType;
    for (std::uint64_t i = 0; i < 100'000; ++i) {
        // half of them end in the bits of a tie
        const std::uint64_t word = accuracy::hash(2, i), top = std::uint64_t{1} << 63,
                            tie = std::uint64_t{1} << 63 >> word % 64;
        const std::uint64_t significand =
            top | (i % 2 ? accuracy::hash(3, i) : ((accuracy::hash(3, i) & ~(tie - 1)) | tie));
        constexpr int lowest = fp::Format<T>::min_exponent - 66, highest = fp::Format<T>::max_exponent - 60;
        const int exponent = lowest + static_cast<int>(word / 64 % static_cast<std::uint64_t>(highest - lowest));
        const bool negative = accuracy::hash(4, i) % 2, sticky = i / 2 % 2;
        cpp_int exact = cpp_int(significand) * 2 + (sticky ? 1 : 0);
        if (negative) exact = -exact;
        const T result = fp::round_significand<T>(negative, significand, exponent, sticky);
        if (fp::to_bits(result) != fp::to_bits(round_scaled<T>(exact, exponent - 1)))
            FAIL(significand << " " << exponent);
    }
    REQUIRE(fp::to_bits(fp::round_significand<T>(true, 0, 5, false)) == fp::sign_mask<T>);
}

TEMPLATE_TEST_CASE("a sum of two doubles is rounded once", "[fp]", float16, bfloat16, float, double) {
    using T = TestType;
    constexpr int highest = std::min(fp::Format<T>::max_exponent + 1, largest_exponent<double> - 1);
    constexpr int lowest = std::max(fp::Format<T>::min_exponent - 60, 1 - largest_exponent<double>);
    check_sums<T>({lowest, highest, false, false});
    check_sums<T>({-8, 8, true, false});
    for (std::uint64_t i = 0; i < 100'000; ++i) { // ties of T, and a little beside them
        const T x = fit(fp::from_bits<T>(static_cast<fp::Bits<T>>(accuracy::hash(5, i))), finite_bits<T>);
        if (fp::magnitude_bits(x) == fp::magnitude_bits(largest<T>)) continue;
        const double a = static_cast<double>(fp::widen(x));
        const double half = (static_cast<double>(fp::widen(next_up(magnitude(x)))) - std::fabs(a)) / 2;
        const double beside = std::ldexp(half, -static_cast<int>(accuracy::hash(6, i) % 200));
        for (const double b : {half, half + beside, half - beside, -half, beside, -beside}) {
            ExactSum sum;
            sum.add(a);
            sum.add(b);
            if (fp::to_bits(fp::sum_rounded_to<T>(a, b)) != fp::to_bits(sum.round<T>()))
                FAIL(hexadecimal(a) << " " << hexadecimal(b));
        }
    }
}

TEMPLATE_TEST_CASE("a sum that is beyond double is infinite", "[fp]", float16, bfloat16, float, double) {
    const double half_place = std::ldexp(1.0, 970);
    for (const double sign : {1.0, -1.0}) {
        const TestType result = fp::sum_rounded_to<TestType>(sign * largest<double>, sign * half_place);
        REQUIRE(fp::magnitude_bits(result) == fp::infinity_bits<TestType>);
        REQUIRE(fp::is_negative(result) == (sign < 0));
    }
}
