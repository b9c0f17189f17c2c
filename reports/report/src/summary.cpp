#include "summary.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "text.hpp"

namespace detreduce::report {

const CostRow* fastest_of(const Results& results, const std::string& dtype, std::uint64_t n,
                          const std::string& candidate) {
    const CostRow* best = nullptr;
    for (const CostRow& r : results.cost)
        if (r.dtype == dtype && r.n == n && r.data == plain_data && r.candidate == candidate && r.gb_per_s &&
            (!best || *r.gb_per_s > *best->gb_per_s))
            best = &r;
    return best;
}

std::string busy_note_of(const Provenance& provenance) {
    for (const std::string& note : provenance.notes)
        if (note.starts_with(busy_note)) return note;
    return "";
}

Metric time_ratio(const CostRow* over, const CostRow* under) {
    if (!over || !under || !over->median_s || !under->median_s || *under->median_s == 0) return {};
    return *over->median_s / *under->median_s;
}

namespace {

constexpr std::size_t most_choices = 64; // of all dtypes

// Results of 16-bit elements are looked at as f32, where what the methods do shows.
bool belongs(const Subject& s) {
    const bool narrow = s.dtype == "f16" || s.dtype == "bf16";
    return s.op == "sum" && s.shape == "flat" && s.output == (narrow ? "f32" : s.dtype);
}

void raise(Metric& most, const Metric& value) {
    if (value && (!most || *value > *most)) most = value;
}

Metric median_of(std::vector<double> values) {
    if (values.empty()) return {};
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

void take_error(Choice& c, const Results& results) {
    std::vector<double> all;
    for (const ErrorRow& r : results.error) {
        if (!belongs(r.subject) || r.subject.dtype != c.dtype || r.subject.method != c.method) continue;
        raise(c.worst, r.error_ulp);
        if (r.condition && *r.condition <= ordinary_condition) raise(c.worst_ordinary, r.error_ulp);
        if (r.error_ulp) all.push_back(*r.error_ulp);
        c.right += r.correctly_rounded;
        c.trials += r.trials;
    }
    c.median = median_of(std::move(all));
}

void take_determinism(Choice& c, const Results& results) {
    for (const DeterminismRow& r : results.determinism) {
        if (!belongs(r.subject) || r.subject.dtype != c.dtype || r.subject.method != c.method || !r.runs || !r.distinct)
            continue;
        if (r.promised) {
            c.runs += *r.runs;
            c.distinct = std::max(c.distinct, *r.distinct);
        } else {
            c.other_distinct = std::max(c.other_distinct, *r.distinct);
        }
    }
}

std::uint64_t largest_n(const Results& results, const std::string& dtype, const std::string& candidate) {
    std::uint64_t n = 0;
    for (const CostRow& r : results.cost)
        if (r.dtype == dtype && r.candidate == candidate && r.data == plain_data && r.gb_per_s) n = std::max(n, r.n);
    return n;
}

void take_cost(Choice& c, const Results& results) {
    const std::uint64_t n = largest_n(results, c.dtype, c.method);
    c.cost = fastest_of(results, c.dtype, n, c.method);
    const bool on_gpu = results.provenance.device != "cpu";
    c.to_peer =
        time_ratio(fastest_of(results, c.dtype, n, on_gpu ? "cub::DeviceReduce::Sum" : "std::accumulate"), c.cost);
}

Cell bits_cell(const Choice& c) {
    if (c.runs == 0 && c.other_distinct == 0) return {dash, "", Mood::absent};
    const std::string others =
        c.other_distinct > 1 ? fmt::format("up to {} where nothing is promised", integer(c.other_distinct)) : "";
    if (c.runs == 0) return {integer(c.other_distinct), "nothing is promised", mood_of(false, c.other_distinct == 1)};
    return {integer(c.distinct), fmt::format("{} runs{}{}", integer(c.runs), others.empty() ? "" : "\n", others),
            mood_of(true, c.distinct == 1)};
}

Cell right_cell(const Choice& c) {
    if (!c.worst) return {dash, "", Mood::absent};
    return {ulps(c.worst), fmt::format("{} of {} right", integer(c.right), integer(c.trials)),
            c.method == "exact" && c.trials > 0 ? mood_of(true, c.right == c.trials) : Mood::plain};
}

std::vector<Cell> cells_of(const Choice& c) {
    const Cell absent{dash, "", Mood::absent};
    const bool timed = c.cost != nullptr;
    return {{c.label},
            {c.dtype},
            c.median ? Cell{ulps(c.median)} : absent,
            c.worst_ordinary ? Cell{ulps(c.worst_ordinary)} : absent,
            right_cell(c),
            bits_cell(c),
            timed ? Cell{gigabytes_per_second(c.cost->gb_per_s), c.cost->variant} : absent,
            timed && c.cost->ratio_to_read ? Cell{fixed(c.cost->ratio_to_read, 3)} : absent,
            c.to_peer ? Cell{fixed(c.to_peer, 2)} : absent};
}

} // namespace

std::vector<Choice> choices_of(const Results& results) {
    std::vector<Choice> list;
    for (const ErrorRow& r : results.error) {
        const auto known = [&](const Choice& c) { return c.dtype == r.subject.dtype && c.method == r.subject.method; };
        if (!belongs(r.subject) || list.size() == most_choices || std::any_of(list.begin(), list.end(), known))
            continue;
        Choice& c = list.emplace_back();
        c.dtype = r.subject.dtype;
        c.method = r.subject.method;
        c.label = method_label(r.subject, results);
        take_error(c, results);
        take_determinism(c, results);
        take_cost(c, results);
    }
    return list;
}

Table summary_table(const std::vector<Choice>& list, bool gpu) {
    Table table{
        "summary",
        fmt::format("What each choice gives and costs. Errors in ulp of the result (16-bit elements: of a result in "
                    "f32); speed at the largest size, normal data, relative to reading the same bytes and to {}",
                    gpu ? "cub::DeviceReduce::Sum" : "std::accumulate on 1 thread"),
        {{"method", false},
         {"elements", false},
         {"median error"},
         {fmt::format("worst, condition ≤ {:g}", ordinary_condition)},
         {"worst of all"},
         {"bit patterns"},
         {"GB/s"},
         {"× read"},
         {gpu ? "× CUB" : "× accumulate"}},
        {}};
    for (const Choice& c : list)
        table.rows.push_back(cells_of(c));
    return table;
}

} // namespace detreduce::report
