// Figures of others, for a column beside ours: reports/ladder/published.csv, compiled in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model.hpp"

namespace detreduce::report {

struct PublishedRow {
    std::string source; ///< where it was published
    std::string gpu;
    Metric peak_gb_per_s; ///< that the source gives for that GPU
    std::string table, rung;
    std::int64_t threads = 0, per_thread = 0;
    bool coalesced = true;
    Metric gb_per_s;
    friend bool operator==(const PublishedRow&, const PublishedRow&) = default;
};

[[nodiscard]] std::string_view embedded_published() noexcept;

/// All of them.
[[nodiscard]] const std::vector<PublishedRow>& published();

/// What was published for that row: same table, rung and parameters. Null if nothing was.
[[nodiscard]] const PublishedRow* published_for(const LadderRow& row);

} // namespace detreduce::report
