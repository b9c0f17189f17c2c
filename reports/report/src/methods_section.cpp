// Before the figures: what the methods are, in plain words.
#include <detreduce/types.hpp>

#include "table.hpp"

namespace detreduce::report {
namespace {

std::string depends_on(Guarantee guarantee) {
    switch (guarantee) {
    case Guarantee::order:
        return "the numbers alone: any order, any split, any machine";
    case Guarantee::device:
        return "the numbers and their order: any machine, any launch";
    case Guarantee::run_to_run:
        return "the machine and the launch as well";
    default:
        return "luck";
    }
}

std::string words(const MethodInfo& m) {
    switch (m.method) {
    case Method::exact:
        return "Adds without rounding: the sum is one long integer with a place for every bit of every number. It is "
               "rounded once, "
               "at the end, to the number nearest to the true sum.";
    case Method::compensated:
        return "Adds in pairs along a fixed tree. What each addition rounds away is known exactly; it is added up "
               "beside the sum "
               "and given back at the end. About as good as twice the digits.";
    case Method::kahan:
        return "The same, but each lane of the machine first adds its share one by one (Kahan; in Neumaier's form). "
               "Less work than "
               "compensated, a little more error.";
    case Method::tree:
        return "Adds in pairs along a fixed tree, each addition rounded: a number goes through few of them, so errors "
               "grow with "
               "log n.";
    case Method::serial:
        return "Adds one number after the other: errors may grow with n. On the CPU only, to compare with.";
    case Method::atomic:
        return "Parts of the sum meet in whatever order they are ready. To compare with.";
    default:
        break;
    }
    return std::string(m.summary);
}

} // namespace

Section methods_section() {
    Section section{"methods", "The methods", {}, {}, {}, {}, {}};
    Table table{"methods", "How each adds, and what can change the bits of its result", {}, {}};
    table.columns = {{"method", false}, {"its bits depend on", false}, {"how it adds", false}};
    for (const MethodInfo& m : methods())
        table.rows.push_back({{std::string(m.name)}, {depends_on(m.guarantee)}, {words(m)}});
    section.tables = {table};
    return section;
}

} // namespace detreduce::report
