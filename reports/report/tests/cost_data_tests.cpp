// The data that timing uses: of the kind that its name says, in every format, and the same for ever.
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
    for (const Data data : report::all_data)
        for (const double x : sample_of<double>(data, 1000))
            hash = (hash ^ fp::to_bits(x)) * 1099511628211u;
    CHECK(hash == 0x572199a02fd7618du);
}

TEST_CASE("data for timing: names", "[report]") {
    for (const Data data : report::all_data)
        CHECK(report::parse_data(report::name(data)) == data);
    CHECK_FALSE(report::parse_data("uniform"));
}
