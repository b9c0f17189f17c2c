// Section 1, its last table: ops other than the sum.
#include <algorithm>

#include "error_cells.hpp"

namespace detreduce::report {
namespace {

Table op_table(const std::vector<ErrorRow>& rows, const Results& results) {
    Table table{
        "error-ops",
        "Other ops: largest error over all n, in ulp of the result (share of the bound; how many results are the "
        "correctly rounded one)",
        {{"op", false}, {"elements", false}, {"data", false}},
        {}};
    const Crossing crossing(
        rows, [](const ErrorRow& r) { return fmt::format("{}\n{}\n{}", r.subject.op, type_of(r.subject), r.family); },
        [&](const ErrorRow& r) { return method_label(r.subject, results); });
    for (const std::string& m : crossing.columns())
        table.columns.push_back({m});
    for (const auto& line : crossing.lines()) {
        std::vector<Cell> cells{{line.first->subject.op}, {type_of(line.first->subject)}, {line.first->family}};
        for (const auto& cell : line.cells) {
            Worst worst;
            for (const ErrorRow* r : cell)
                worst.take(*r);
            cells.push_back(worst.cell());
        }
        table.rows.push_back(std::move(cells));
    }
    return table;
}

std::string finding(const std::vector<ErrorRow>& rows) {
    std::size_t above = 0;
    std::int64_t trials = 0, right = 0;
    for (const ErrorRow& r : rows) {
        above += r.error_over_bound && *r.error_over_bound > 1;
        if (promises_nearest(r.subject)) trials += r.trials, right += r.correctly_rounded;
    }
    const std::string bounds = above > 0
                                   ? fmt::format("{} of {} points lie ABOVE their bound: a defect", above, rows.size())
                                   : std::string("all points that have a bound lie within it");
    if (trials == 0) return fmt::format("Other ops: {}.", bounds);
    return fmt::format(
        "Other ops: {}; {}.", bounds,
        right == trials ? fmt::format("exact is correctly rounded in all {} results that promise it", integer(trials))
                        : fmt::format("exact is NOT correctly rounded in {} of {} results: a defect",
                                      integer(trials - right), integer(trials)));
}

} // namespace

void add_op_errors(Section& section, const Results& results) {
    std::vector<ErrorRow> rows;
    for (const ErrorRow& r : results.error)
        if (r.subject.op != "sum") rows.push_back(r);
    if (rows.empty()) return;
    const auto folded =
        std::find_if(section.tables.begin(), section.tables.end(), [](const Table& t) { return t.folded; });
    section.tables.insert(folded, op_table(rows, results));
    section.findings.push_back(finding(rows));
    section.text.push_back(
        "Other ops: errors of means, norms, dot products, variances and losses against their true values; of 16-bit "
        "elements in f32. exact rounds the true value once, but of huber and bce_with_logits, whose terms are rounded "
        "first, and of cross entropy, where it adds the rows' losses.");
}

} // namespace detreduce::report
