// What each choice gives and costs: the figures of the other sections, method by method. For the
// page and for README.
#pragma once

#include <string>
#include <vector>

#include "table.hpp"

namespace detreduce::report {

/// Sums that hardly magnify rounding errors: what is wrong there is the method's doing.
inline constexpr double ordinary_condition = 100;

/// One method on elements of one type, those of 16 bits with results in f32, where what the method
/// does shows.
struct Choice {
    std::string dtype, method, label;
    Metric worst, worst_ordinary, median; ///< ulp
    std::int64_t right = 0, trials = 0;   ///< results that were the correctly rounded ones
    std::int64_t runs = 0, distinct = 0;  ///< along the axes that the method's guarantee promises
    std::int64_t other_distinct = 0;      ///< along the others, at most
    const CostRow* cost = nullptr;        ///< fastest variant at the largest size, on normal data; of the Results
    Metric to_peer;                       ///< the peer's time divided by this one's
};

[[nodiscard]] std::vector<Choice> choices_of(const Results& results);

/// A line a choice.
[[nodiscard]] Table summary_table(const std::vector<Choice>& choices, bool on_gpu);

/// How much of what is promised was seen to hold.
struct Proof {
    std::int64_t kept = 0, different = 0, runs = 0; ///< promises of one bit pattern
    std::int64_t sums = 0, not_nearest = 0; ///< results that promise to be the nearest number, and those that are not
    std::int64_t bounded = 0, above = 0;    ///< errors that have a bound, and those above it
    [[nodiscard]] bool is_broken() const { return different > 0 || not_nearest > 0 || above > 0; }
};
[[nodiscard]] Proof proof_of(const Results& results);
/// What held, or, where something did not, what did not. Empty: nothing was measured.
[[nodiscard]] std::string words_of(const Proof& proof);

/// The rungs of the ladder, a line each.
[[nodiscard]] Table ladder_summary_table(const Results& results);

/// The fastest variant of `candidate` on n elements of normal data; null: not measured.
[[nodiscard]] const CostRow* fastest_of(const Results& results, const std::string& dtype, std::uint64_t n,
                                        const std::string& candidate);
/// What the note begins with that other programs ran when times were taken.
inline constexpr const char* busy_note = "The machine was busy";
/// That note; empty: there is none.
[[nodiscard]] std::string busy_note_of(const Provenance& provenance);

[[nodiscard]] Metric time_ratio(const CostRow* over, const CostRow* under);

} // namespace detreduce::report
