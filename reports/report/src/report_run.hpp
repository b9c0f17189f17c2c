// `detreduce report` and `detreduce render` apart from their options, because CLI11 takes long to
// compile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <detreduce/accuracy/study.hpp>

namespace detreduce::program {

inline constexpr std::uint64_t min_report_n = 16, max_report_n = std::uint64_t{1} << 40; ///< of --max-n

struct ReportArguments {
    std::string out, device, results;
    std::vector<std::string> data, compare;
    bool quick = false, measure_only = false;
    std::uint64_t seed = 1, max_n = max_report_n;
    std::string program = "detreduce";
    std::vector<accuracy::OwnReduction> own = {};
    bool full = false;
    std::vector<std::string> sections, fresh_devices;
};

/// Measures and writes files. Throws UsageError, Failure and Interrupted.
void run_report(const ReportArguments& a);

/// Makes the page of a file of results. Throws Failure.
void run_render(const ReportArguments& a);

/// `detreduce fresh-sums`, on fresh_devices.
void print_fresh_sums(const ReportArguments& a);

/// The words, as a shell takes them, that `a` was read from.
[[nodiscard]] std::string command_line(const ReportArguments& a);

} // namespace detreduce::program
