// Every op in one short call, on the CPU. The site shows the parts between the marks.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

#include <detreduce/detreduce.hpp>

namespace dr = detreduce;

static void expect(bool is_so, const char* what) {
    if (is_so) return;
    std::fprintf(stderr, "not so: %s\n", what);
    std::exit(EXIT_FAILURE);
}
#define EXPECT(...) expect(__VA_ARGS__, #__VA_ARGS__)

static void sums() {
    // --8<-- [start:sums]
    std::vector<double> x{1e308, 1e308, -1e308, 3};
    double sum = dr::sum(x);   // 1e308: nothing overflows on the way
    double mean = dr::mean(x); // 2.5e307
    double l1 = dr::asum(x);   // +inf: the true value is too large
    // --8<-- [end:sums]
    EXPECT(sum == 1e308 && mean == 2.5e307 && std::isinf(l1));
}

static void norms() {
    // --8<-- [start:norms]
    std::vector<double> x{3e300, -4e300};
    double l2 = dr::nrm2(x);        // 5e300, though no square is a double
    double largest = dr::nrminf(x); // 4e300
    std::vector<float> g{3, 4};
    float squares = dr::sumsq(g); // 25
    // --8<-- [end:norms]
    EXPECT(l2 == 5e300 && largest == 4e300 && squares == 25);
}

static void two_inputs() {
    // --8<-- [start:two]
    std::vector<float> x{1, 2, 3}, y{1, 0, -1};
    float dot = dr::dot(x, y);                               // −2
    float squares = dr::sumdiffsq(x, y);                     // 20
    float mse = dr::mse(x, y);                               // 20/3, rounded once
    float mae = dr::mae(x, y);                               // 2
    double wider = dr::reduce_as<double>(dr::Op::mse, x, y); // the same, rounded to a double
    // --8<-- [end:two]
    EXPECT(dot == -2 && squares == 20 && mse == 20.0f / 3 && mae == 2 && wider == 20.0 / 3);
}

static void moments() {
    // --8<-- [start:moments]
    std::vector<double> x{1e300, -1e300};
    double deviation = dr::stddev(x); // 1e300
    std::vector<float> y{1, 2, 3, 4};
    float variance = dr::variance(y, dr::Method::exact, 1); // over n − 1: 5/3
    auto both = dr::moments(y);                             // one pass: 2.5 and 1.25
    // --8<-- [end:moments]
    EXPECT(deviation == 1e300 && variance == 5.0f / 3 && both.mean == 2.5f && both.variance == 1.25f);
}

static void order() {
    // --8<-- [start:order]
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> x{2, nan, 5, -1, 5};
    float largest = dr::max(x, dr::NanPolicy::ignore);          // 5
    std::uint64_t where = dr::argmax(x, dr::NanPolicy::ignore); // 2: the first of equals
    std::uint64_t first_nan = dr::argmin(x);                    // 1: NaN propagate
    auto range = dr::minmax(x, dr::NanPolicy::ignore);          // −1 and 5, one pass
    // --8<-- [end:order]
    EXPECT(largest == 5 && where == 2 && first_nan == 1 && range.min == -1 && range.max == 5);
}

static void counts() {
    // --8<-- [start:counts]
    std::vector<float> x{0.0f, -0.0f, 2, 2, 7};
    std::uint64_t nonzero = dr::count_nonzero(x);  // 3
    std::uint64_t different = dr::count_unique(x); // 3: both zeros are one value
    // --8<-- [end:counts]
    EXPECT(nonzero == 3 && different == 3);
}

static void products() {
    // --8<-- [start:prod]
    std::vector<double> x{0x1p1000, 0x1p1000, 0x1p-1000};
    double product = dr::prod(x); // 2^1000: nothing overflows on the way
    // --8<-- [end:prod]
    EXPECT(product == 0x1p1000);
}

int main() {
    sums();
    norms();
    two_inputs();
    moments();
    order();
    counts();
    products();
    std::puts("ops: as expected");
}
