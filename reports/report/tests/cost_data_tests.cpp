// The data that timing uses: of the kind that its name says, in every format, and the same for
// ever.
#include <support/catch.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <detreduce/types.hpp>

#include "cost_data.hpp"

using namespace detreduce;
using report::Data;

namespace {

constexpr std::uint64_t slice = 1 << 14;

template <class T>
std::vector<T> sample_of(Data data, std::uint64_t n = slice) {
    std::vector<T> xs(n);
    for (std::uint64_t i = 0; i < n; ++i)
        xs[i] = report::element<T>(data, 1, i, slice);
    return xs;
}

template <class T>
int exponent_field(T x) {
    return static_cast<int>(fp::magnitude_bits(x) >> (fp::Format<T>::precision - 1));
}

template <class T>
std::pair<int, int> exponent_fields(const std::vector<T>& xs) {
    const auto less = [](T a, T b) { return exponent_field(a) < exponent_field(b); };
    const auto [low, high] = std::minmax_element(xs.begin(), xs.end(), less);
    return {exponent_field(*low), exponent_field(*high)};
}

template <class T>
void check_format() {
    using F = fp::Format<T>;
    for (const Data data : report::all_data) {
        if (data == Data::adversary) continue; // of which some are NaN
        INFO(report::name(data));
        const std::vector<T> xs = sample_of<T>(data);
        CHECK(std::all_of(xs.begin(), xs.end(), [](T x) { return fp::is_finite(x); }));
        std::set<fp::Bits<T>> different;
        for (const T x : xs)
            different.insert(fp::to_bits(x));
        CHECK(different.size() > 1000);
        const auto negative = std::count_if(xs.begin(), xs.end(), [](T x) { return fp::is_negative(x); });
        const auto share = static_cast<double>(negative) / slice;
        const double expected = data == Data::lognormal ? 0 : data == Data::half_zeros ? 0.25 : 0.5;
        CHECK(std::fabs(share - expected) < 0.03);
    }
    const auto [first, last] = exponent_fields(sample_of<T>(Data::worst));
    CHECK(first == 0);
    CHECK(last == 2 * F::max_exponent);
    const auto [low, high] = exponent_fields(sample_of<T>(Data::wide));
    CHECK(high - low + 1 == std::min(100, 2 * F::max_exponent));
    CHECK(low >= 1);
}

} // namespace

TEST_CASE("data for timing: every format", "[report]") {
    check_format<float16>();
    check_format<bfloat16>();
    check_format<float>();
    check_format<double>();
}

TEST_CASE("data for timing: normal numbers have mean 0 and variance 1", "[report]") {
    double sum = 0, squares = 0;
    for (const double x : sample_of<double>(Data::normal)) {
        CHECK(std::fabs(x) <= 6);
        sum += x, squares += x * x;
    }
    CHECK(std::fabs(sum / slice) < 0.03);
    CHECK(std::fabs(squares / slice - 1) < 0.03);
}

TEST_CASE("data for timing: zeros, and one outlier a slice", "[report]") {
    const auto zeros = sample_of<float>(Data::half_zeros);
    CHECK(std::fabs(static_cast<double>(std::count(zeros.begin(), zeros.end(), 0.0f)) / slice - 0.5) < 0.03);
    const auto xs = sample_of<float>(Data::outlier, 3 * slice);
    for (std::uint64_t s = 0; s < 3; ++s) {
        const auto* begin = xs.data() + s * slice;
        CHECK(std::count_if(begin, begin + slice, [](float x) { return std::fabs(x) > 6; }) == 1);
        CHECK(std::any_of(begin, begin + slice,
                          [](float x) { return std::fabs(x) > 0x1.fp63f && std::fabs(x) < 0x1p64f; }));
    }
    const auto halves = sample_of<float16>(Data::outlier);
    CHECK(std::count_if(halves.begin(), halves.end(), [](float16 x) {
              return fp::widen(fp::from_bits<float16>(fp::magnitude_bits(x))) > 32000;
          }) == 1);
}

TEST_CASE("data for timing: lognormal spreads as exp(3 x) does", "[report]") {
    std::vector<double> logs;
    for (const double x : sample_of<double>(Data::lognormal))
        logs.push_back(std::log(x));
    std::sort(logs.begin(), logs.end());
    CHECK(std::fabs(logs[slice / 2]) < 0.15);
    CHECK(std::fabs(logs[slice * 84 / 100] - 3) < 0.25); // one standard deviation
}

TEST_CASE("data for timing: the same for ever", "[report]") {
    std::uint64_t hash = 14695981039346656037u;
    for (const Data data : report::all_data) {
        if (data == Data::adversary) continue; // there are others with each search
        for (const double x : sample_of<double>(data, 1000))
            hash = (hash ^ fp::to_bits(x)) * 1099511628211u;
    }
    CHECK(hash == 0x572199a02fd7618du);
}

TEST_CASE("data for timing: the worst that was found", "[report]") {
    const auto halves = sample_of<float16>(Data::adversary, 100);
    for (std::size_t i = 0; i < halves.size(); ++i)
        CHECK(fp::is_nan(halves[i]) == (i % 10 == 0));
    const auto floats = sample_of<float>(Data::adversary, 80);
    CHECK(std::count_if(floats.begin(), floats.end(), [](float x) { return fp::to_bits(x) == 0x80000000u; }) == 10);
    const auto [low, high] = exponent_fields(sample_of<double>(Data::adversary));
    CHECK(high - low > 2000);
}

TEST_CASE("data for timing: names", "[report]") {
    for (const Data data : report::all_data)
        CHECK(report::parse_data(report::name(data)) == data);
    CHECK_FALSE(report::parse_data("uniform"));
}

TEMPLATE_TEST_CASE("adversaries: what their parameters say is what they are", "[report][data]", float16, bfloat16,
                   float, double) {
    using report::Adversary, report::Family;
    constexpr int bias = fp::Format<TestType>::max_exponent;
    const auto number = [](const Adversary& a, std::uint64_t i) { return report::element<TestType>(a, 1, i); };
    const Adversary windows{Family::windows, 4, 9, 0};
    for (std::uint64_t i = 0; i < 64; ++i)
        CHECK(exponent_field(number(windows, i)) == (i / 4 % 2 != 0 ? bias + 5 : bias - 4));
    for (int phase = 0; phase < 6; ++phase) {
        const std::uint64_t at = phase < 3 ? 0 : 16;
        for (std::uint64_t i = 0; i < 128; ++i) {
            CAPTURE(phase, i);
            const bool alone = i % 32 == at;
            const auto special = number({Family::specials, 32, 3, phase}, i),
                       zero = number({Family::minus_zeros, 32, 3, phase}, i),
                       outlier = number({Family::outliers, 32, 7, phase}, i);
            CHECK((fp::is_finite(special) && fp::magnitude_bits(special) != 0) == !alone);
            CHECK((exponent_field(zero) == 0 && fp::is_negative(zero)) == !alone);
            CHECK(exponent_field(outlier) == bias + (!alone ? 0 : phase % 2 != 0 ? -7 : 7));
        }
    }
    std::set<int> seen;
    for (std::uint64_t i = 0; i < 65536; ++i) {
        seen.insert(exponent_field(number({Family::limbs, 1, 1, 0}, i)));
        const int field = exponent_field(number({Family::drift, 1 << 20, 6, 0}, i)),
                  first = exponent_field(number({Family::drift, 1 << 20, 6, 0}, 0));
        CHECK(std::abs(field - first) <= 6);
    }
    CHECK(seen.size() == static_cast<std::size_t>(2 * bias + 1)); // infinity and NaN aside
}
