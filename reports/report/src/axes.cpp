#include "axes.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace detreduce::report {

std::string binary_tics(AxisRange x) {
    const int low = static_cast<int>(std::floor(std::log2(x.low))),
              high = static_cast<int>(std::ceil(std::log2(x.high)));
    const int step = std::max(1, (high - low + 6) / 7);
    std::string tics;
    for (int e = low; e <= high; e += step)
        tics += fmt::format("{}'2^{{{}}}' {}", tics.empty() ? "" : ",", e, std::exp2(e));
    return fmt::format("set logscale x 2\nset xrange [{}:{}]\nset xtics ({})\n", x.low / 1.15, x.high * 1.15, tics);
}

std::string decimal_tics(const char* which, AxisRange range) {
    const int low = static_cast<int>(std::floor(std::log10(range.low))),
              high = static_cast<int>(std::ceil(std::log10(range.high)));
    const bool few = high - low <= 3;
    const int step = few ? 1 : std::max(1, (high - low + 5) / 6);
    std::string tics;
    const int first = low - (low % step + step) % step; // a multiple: 10^0, where it is within, has a tic
    for (int e = first; e <= high; e += step)
        for (const int digit : {1, 2, 5}) {
            const double value = digit * std::pow(10.0, e);
            if ((digit != 1 && !few) || value < range.low / 1.001 || value > range.high * 1.001) continue;
            const bool plain = (few && e >= -3 && e <= 5) || (low >= 0 && high <= 5);
            const std::string text = plain        ? fmt::format("{:g}", value)
                                     : digit == 1 ? fmt::format("10^{{{}}}", e)
                                                  : ""; // more digits would leave no room for the name of the axis
            tics += fmt::format("{}'{}' {:g}", tics.empty() ? "" : ",", text, value);
        }
    return fmt::format("set logscale {0}\nset {0}range [{1:g}:{2:g}]\nset {0}tics ({3})\n", which, range.low,
                       range.high, tics);
}

AxisRange rounded_outwards(AxisRange range, double floor) {
    if (floor > 0) return {floor, std::pow(10.0, std::ceil(std::log10(range.high * 1.2)))};
    const auto outwards = [](double value, bool up) { // to 1, 2 or 5 times a power of ten
        const double power = std::pow(10.0, std::floor(std::log10(value)));
        const double digit = value / power;
        if (up) return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
        return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
    };
    return {outwards(range.low / 1.05, false), outwards(range.high * 1.05, true)};
}

std::string close_tics(const char* which, AxisRange x) {
    x.add(1);
    const double span = x.high - x.low, step = span > 0.3 ? 0.1 : span > 0.12 ? 0.05 : span > 0.05 ? 0.02 : 0.01;
    return fmt::format("set {0}range [{1:.3f}:{2:.3f}]\nset {0}tics {3}\n", which,
                       std::floor(x.low / step - 0.2) * step, std::ceil(x.high / step + 0.2) * step, step);
}

std::string linear_tics(const char* which, AxisRange y) {
    const double low = std::floor(y.low * 10 - 0.2) / 10, high = std::ceil(y.high * 10 + 0.2) / 10;
    if (high - low > 4) { // a fixed step would make more tics than gnuplot can draw
        const double step = std::pow(10.0, std::floor(std::log10(high - low))) / 2;
        return fmt::format("set {0}range [0:{1:g}]\nset {0}tics {2:g}\n", which, high * 1.01, step);
    }
    return fmt::format("set {0}range [{1:.1f}:{2:.1f}]\nset {0}tics {3}\n", which, std::max(0.0, low), high,
                       high - low > 2     ? 0.5
                       : high - low > 0.8 ? 0.2
                                          : 0.1);
}

} // namespace detreduce::report
