// What tables of errors have in common.
#pragma once

#include <fmt/format.h>

#include "table.hpp"
#include "text.hpp"

namespace detreduce::report {

/// exact promises the nearest number, but where the terms of a loss are rounded before they are
/// added.
[[nodiscard]] inline bool promises_nearest(const Subject& s) {
    return s.method == "exact" && s.op != "huber" && s.op != "bce_with_logits" && s.op != "cross_entropy";
}

/// The others promise their bound.
[[nodiscard]] inline bool broken(const ErrorRow& r) {
    return (r.error_over_bound && *r.error_over_bound > 1) ||
           (promises_nearest(r.subject) && r.correctly_rounded < r.trials);
}

/// The worst of one method on one kind of data, over all n.
struct Worst {
    Metric ulp, share;
    std::int64_t trials = 0, correctly_rounded = 0;
    bool is_nearest = false, is_broken = false;

    void take(const ErrorRow& r) {
        const auto raise = [](Metric& worst, const Metric& value) {
            if (value && (!worst || *value > *worst)) worst = value;
        };
        raise(ulp, r.error_ulp);
        raise(share, r.error_over_bound);
        trials += r.trials;
        correctly_rounded += r.correctly_rounded;
        is_nearest = promises_nearest(r.subject);
        is_broken = is_broken || broken(r);
    }
    [[nodiscard]] Cell cell() const {
        if (!ulp) return {dash, "", Mood::absent};
        std::string detail = fmt::format("{} of {} right", integer(correctly_rounded), integer(trials));
        if (share) detail = fmt::format("{} of bound\n{}", percent(share), detail);
        return {ulps(ulp), detail, is_broken ? Mood::bad : is_nearest ? Mood::good : Mood::plain};
    }
};

/// The table and the finding of ops other than the sum, if there are any.
void add_op_errors(Section& section, const Results& results);

} // namespace detreduce::report
