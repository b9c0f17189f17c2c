#include "published.hpp"

#include "read_csv.hpp"

namespace detreduce::report {

const std::vector<PublishedRow>& published() {
    static const std::vector<PublishedRow> rows = published_from_csv(embedded_published(), "published.csv");
    return rows;
}

const PublishedRow* published_for(const LadderRow& row) {
    for (const PublishedRow& p : published())
        if (p.table == row.table && p.rung == row.rung && p.threads == row.threads && p.per_thread == row.per_thread &&
            p.coalesced == row.coalesced)
            return &p;
    return nullptr;
}

} // namespace detreduce::report
