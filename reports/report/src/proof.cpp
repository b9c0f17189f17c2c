#include "error_cells.hpp"
#include "summary.hpp"

namespace detreduce::report {

Proof proof_of(const Results& results) {
    Proof p;
    for (const DeterminismRow& r : results.determinism) {
        if (!r.promised || !r.runs || !r.distinct || *r.runs == 0) continue;
        (*r.distinct == 1 ? p.kept : p.different) += 1;
        p.runs += *r.runs;
    }
    for (const ErrorRow& r : results.error) {
        if (promises_nearest(r.subject)) p.sums += r.trials, p.not_nearest += r.trials - r.correctly_rounded;
        if (r.error_over_bound) ++p.bounded, p.above += *r.error_over_bound > 1;
    }
    return p;
}

std::string words_of(const Proof& p) {
    std::vector<std::string> good, bad;
    const auto say = [&](std::int64_t all, std::int64_t wrong, const std::string& kept, const std::string& broken) {
        if (all > 0) (wrong > 0 ? bad : good).push_back(wrong > 0 ? broken : kept);
    };
    const std::string promises = integer(p.kept + p.different), sums = integer(p.sums), bounded = integer(p.bounded);
    say(p.kept + p.different, p.different,
        fmt::format("bits stayed equal wherever that is promised ({} promises, {} runs)", promises, integer(p.runs)),
        fmt::format("bits differed in {} of {} places where equality is promised", integer(p.different), promises));
    say(p.sums, p.not_nearest, fmt::format("exact gave the nearest number in all of {} results", sums),
        fmt::format("exact did not give the nearest number in {} of {} results", integer(p.not_nearest), sums));
    say(p.bounded, p.above, fmt::format("all of {} errors were within their bounds", bounded),
        fmt::format("{} of {} errors were above their bounds", integer(p.above), bounded));
    return fmt::format("{}", fmt::join(bad.empty() ? good : bad, "; "));
}

} // namespace detreduce::report
