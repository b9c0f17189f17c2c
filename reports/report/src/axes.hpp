// Ranges and tics of the axes of plots, as commands of gnuplot. `which` is "x" or "y".
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

namespace detreduce::report {

struct AxisRange {
    double low = INFINITY, high = -INFINITY;
    void add(double value) { low = std::min(low, value), high = std::max(high, value); }
    [[nodiscard]] bool empty() const { return low > high; }
};

/// Tics at every 2^step of a log axis, at most 8 of them.
[[nodiscard]] std::string binary_tics(AxisRange x);

/// Of a log axis: powers of ten over many decades; 1, 2, 5 over few.
[[nodiscard]] std::string decimal_tics(const char* which, AxisRange range);

/// Of ratios that lie close together: 0.01, 0.02 or 0.05, and always 1, where nothing more than
/// reading is done.
[[nodiscard]] std::string close_tics(const char* which, AxisRange x);

/// Of ratios: from a multiple of 0.1 below the smallest to one above the largest.
[[nodiscard]] std::string linear_tics(const char* which, AxisRange y);

/// What a log axis shows: from the floor, or else from 1, 2 or 5 times a power of ten.
[[nodiscard]] AxisRange rounded_outwards(AxisRange range, double floor);

} // namespace detreduce::report
