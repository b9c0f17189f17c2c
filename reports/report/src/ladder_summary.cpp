#include "ladder_tables.hpp"
#include "summary.hpp"
#include "text.hpp"

namespace detreduce::report {

Table ladder_summary_table(const Results& results) {
    Table table{"ladder-summary",
                "The ladder",
                {{"rung", false}, {"what changed", false}, {"GB/s"}, {"of reading"}, {"bit patterns"}, {"error, ulp"}},
                {}};
    const Cell absent{dash, "", Mood::absent};
    for (const LadderRow& r : results.ladder) {
        if (r.table != rungs_table) continue;
        table.rows.push_back({{r.rung},
                              {r.title},
                              r.gb_per_s ? Cell{gigabytes_per_second(r.gb_per_s)} : absent,
                              r.ratio_to_read ? Cell{fixed(r.ratio_to_read, 3)} : absent,
                              r.distinct ? Cell{integer(*r.distinct)} : absent,
                              r.error_ulp ? Cell{ulps(r.error_ulp)} : absent});
    }
    return table;
}

} // namespace detreduce::report
