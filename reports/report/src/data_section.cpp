// The user's own numbers: what they are, and what each method makes of their sum.
#include <map>
#include <utility>

#include <fmt/format.h>

#include "table.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

Cell text_cell(const std::string& text) {
    return text.empty() ? Cell{dash, "", Mood::absent} : Cell{text};
}

Cell metric_cell(const Metric& value, std::string (*words)(const Metric&)) {
    return value ? Cell{words(value)} : Cell{dash, "", Mood::absent};
}

Table files_table(const Results& results) {
    Table table{"data-files",
                "The files",
                {{"file", false},
                 {"dtype", false},
                 {"n"},
                 {"condition number"},
                 {"true sum, rounded to f64"},
                 {"minimum"},
                 {"maximum"},
                 {"smallest |x| > 0"},
                 {"NaN"},
                 {"infinite"}},
                {}};
    for (const DataRow& r : results.data)
        table.rows.push_back({{r.file},
                              {r.dtype},
                              {count_of(r.n)},
                              metric_cell(r.condition, condition_of),
                              {r.sum},
                              text_cell(r.least),
                              text_cell(r.greatest),
                              text_cell(r.smallest),
                              {integer(r.nans)},
                              {integer(r.infinities)}});
    return table;
}

std::string label(const DataSumRow& r, const Results& results) {
    const std::string method = method_label(r.subject, results);
    return r.subject.output == r.subject.dtype ? method : fmt::format("{} to {}", method, r.subject.output);
}

Cell rounded_cell(const DataSumRow& r) {
    return {r.correctly_rounded ? "yes" : "no", "", mood_of(r.subject.method == "exact", r.correctly_rounded)};
}

Cell bound_cell(const DataSumRow& r) {
    Cell cell = metric_cell(r.error_over_bound, percent);
    if (r.error_over_bound && *r.error_over_bound > 1) cell.mood = Mood::bad;
    return cell;
}

using Sums = std::vector<DataSumRow>; // of one file

Table sums_table(const Results& results, const std::string& file, const Sums& sums, std::size_t number) {
    Table table{fmt::format("data-{}", number),
                fmt::format("{}: its sum by each method", file),
                {{"method", false},
                 {"result"},
                 {"bits"},
                 {"correctly rounded"},
                 {"error, ulp"},
                 {"relative error"},
                 {"a-priori bound"},
                 {"error / bound"}},
                {}};
    for (const DataSumRow& r : sums)
        table.rows.push_back({{label(r, results)},
                              {r.result},
                              {r.bits},
                              rounded_cell(r),
                              metric_cell(r.error_ulp, ulps),
                              metric_cell(r.relative_error, scientific),
                              metric_cell(r.bound, scientific),
                              bound_cell(r)});
    return table;
}

std::string finding(const Results& results, const DataRow& file, const Sums& sums) {
    std::string right, other;
    bool defect = false;
    for (const DataSumRow& r : sums) {
        std::string& list = r.correctly_rounded ? right : other;
        list += fmt::format("{}{}", list.empty() ? "" : ", ", label(r, results));
        if (!r.correctly_rounded && r.error_ulp) list += fmt::format(" ({} ulp)", ulps(r.error_ulp));
        defect = defect || bound_cell(r).mood == Mood::bad || rounded_cell(r).mood == Mood::bad;
    }
    const std::string condition =
        file.condition ? fmt::format("condition number {}", condition_of(file.condition)) : "no condition number";
    const std::string verdict = other.empty()   ? "Every result is correctly rounded."
                                : right.empty() ? fmt::format("No result is correctly rounded: {}.", other)
                                                : fmt::format("Correctly rounded: {}; not: {}.", right, other);
    return fmt::format("{}: {}. {}{}", file.file, condition, verdict,
                       defect ? " A result in red is a defect of its method, or of what is claimed of it." : "");
}

} // namespace

Section data_section(const Results& results) {
    Section section{"data", "Your data", {}, {}, {}, {}, {}};
    section.text = {
        "The files given with --data, each summed as one array in the order in which its elements lie in the file. The "
        "true sums, and with them errors and condition numbers, come from arithmetic without rounding (accuracy/), "
        "which is no part of the methods: that exact agrees with it to the last bit is measured here as well.",
        "The condition number Σ|x| / |Σx| says by how much the sum magnifies relative errors. The bound is what the "
        "method's theory allows at worst for these n, Σ|x| and Σx, as a relative error; a dash: a partial sum may "
        "overflow, or an element is not finite, and no bound holds. serial adds one element after the other, as "
        "std::accumulate and a plain loop do. Elements of 16 bits are summed to 16 bits and to f32."};
    section.tables = {files_table(results)};
    std::map<std::string, Sums> by_file;
    for (const DataSumRow& r : results.data_sums)
        by_file[r.file].push_back(r);
    for (const DataRow& file : results.data) {
        const Sums sums = std::exchange(by_file[file.file], {}); // a file is named once
        section.findings.push_back(finding(results, file, sums));
        section.tables.push_back(sums_table(results, file.file, sums, section.tables.size()));
    }
    return section;
}

} // namespace detreduce::report
