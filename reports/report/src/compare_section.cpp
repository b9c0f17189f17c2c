// Two runs or more, side by side: where they come from, their bits, their speed.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "statistics.hpp"
#include "table.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

constexpr const char* this_run = "this run";

std::string device_of(const Provenance& p) {
    return p.gpu ? fmt::format("{} ({})", p.gpu->name, p.device) : fmt::format("{} ({})", p.cpu, p.device);
}

std::string cuda_of(const Provenance& p) {
    return p.gpu ? fmt::format("driver {}, runtime {}, CUB {}", p.gpu->driver, p.gpu->toolkit, p.gpu->cub) : "";
}

Table runs_table(const Provenance& here, const std::vector<Comparison>& runs) {
    Table table{"comparison-runs", "The runs", {{"", false}, {this_run, false}}, {}};
    for (const Comparison& c : runs)
        table.columns.push_back({c.run, false});
    const auto row = [&](const char* what, const std::string& mine, const auto& theirs) {
        table.rows.push_back({{what}, mine.empty() ? Cell{dash, "", Mood::absent} : Cell{mine}});
        for (const Comparison& c : runs) {
            const std::string text = theirs(c);
            table.rows.back().push_back(text.empty() ? Cell{dash, "", Mood::absent} : Cell{text});
        }
    };
    const auto of_both = [&](const char* what, std::string (*words)(const Provenance&)) {
        row(what, words(here), [&](const Comparison& c) { return words(*c.provenance); });
    };
    row("file", "", [](const Comparison& c) { return c.file; });
    of_both("device", device_of);
    of_both("date (UTC)", [](const Provenance& p) { return p.created; });
    of_both("version", [](const Provenance& p) {
        return fmt::format("detreduce {}, spec_version {}", p.version, p.spec_version);
    });
    of_both("commit", [](const Provenance& p) { return p.commit + (p.dirty ? " with uncommitted changes" : ""); });
    of_both("run", [](const Provenance& p) { return fmt::format("{}, seed {}", p.mode, p.seed); });
    of_both("CUDA", cuda_of);
    of_both("CPU", [](const Provenance& p) { return fmt::format("{}, {} threads, {}", p.cpu, p.cpu_threads, p.isa); });
    of_both("compiler", [](const Provenance& p) { return fmt::format("{}, {}", p.compiler, p.flags); });
    return table;
}

// ---- bits ----

const char* promise_of(const ComparedBits& r) {
    return r.promised ? "equal bits are promised" : "nothing is promised";
}

Table equal_table(const Comparison& c, std::size_t number) {
    Table table{fmt::format("comparison-bits-{}", number),
                fmt::format("Results with equal bits in this run and in {}", c.run),
                {{"candidate", false}},
                {}};
    const Crossing crossing(
        c.bits.rows, [](const ComparedBits& r) { return r.candidate; }, [](const ComparedBits& r) { return r.type; });
    for (const std::string& type : crossing.columns())
        table.columns.push_back({type});
    for (const auto& line : crossing.lines()) {
        std::vector<Cell> cells{{line.name}};
        for (const auto& rows : line.cells) {
            std::size_t equal = 0;
            Cell cell{dash, "", Mood::absent};
            for (const ComparedBits* r : rows) {
                equal += r->equal();
                // One that differs is what the cell is about, and most of all where it must not.
                const Mood mood = mood_of(r->promised, r->equal());
                const bool said = cell.mood == Mood::bad || (cell.mood == Mood::notable && mood != Mood::bad);
                if (!said) cell = {"", promise_of(*r), mood};
            }
            if (!rows.empty()) cell.text = fmt::format("{} of {}", equal, rows.size());
            cells.push_back(std::move(cell));
        }
        table.rows.push_back(std::move(cells));
    }
    return table;
}

Table results_table(const Comparison& c, std::size_t number, bool differing) {
    Table table{fmt::format("comparison-{}-{}", differing ? "differing" : "results", number),
                differing ? fmt::format("Results that differ between this run and {}", c.run)
                          : fmt::format("All results of this run and {}", c.run),
                {{"candidate", false}, {"type", false}, {"data", false}, {"n"}, {this_run}, {c.run}},
                {}};
    for (const ComparedBits& r : c.bits.rows)
        if (!differing || !r.equal())
            table.rows.push_back(
                {{r.candidate},
                 {r.type},
                 {r.data, r.kind},
                 {count_of(r.n)},
                 {r.bits, r.device},
                 {r.other_bits, fmt::format("{}\n{}", r.other_device, promise_of(r)), mood_of(r.promised, r.equal())}});
    table.folded = !differing;
    return table;
}

std::string only_one_has(std::size_t here, std::size_t there) {
    return fmt::format("Only this run has {} more, only the other {}.", here, there);
}

std::string bits_finding(const Comparison& c) {
    std::size_t promised = 0, broken = 0, others = 0, equal = 0;
    for (const ComparedBits& r : c.bits.rows) {
        promised += r.promised;
        broken += r.promised && !r.equal();
        others += !r.promised;
        equal += !r.promised && r.equal();
    }
    std::string text = fmt::format("Bits, {}: ", c.run);
    if (broken > 0) {
        text += fmt::format("{} of {} results whose equality is promised DIFFER: a defect. ", broken, promised);
    } else if (promised > 0) {
        text += fmt::format("all {} results whose equality is promised are equal. ", promised);
    }
    if (others > 0) text += fmt::format("Of {} without such a promise {} are equal. ", others, equal);
    if (c.bits.rows.empty()) text += "no result is in both. ";
    return text + only_one_has(c.bits.only_here, c.bits.only_there);
}

// ---- speed ----

std::string label(const ComparedSpeed& r) {
    return r.variant.empty() ? r.candidate : fmt::format("{}, {}", r.candidate, r.variant);
}

bool is_read(const ComparedSpeed& r) {
    return r.candidate == "read";
}

// Where the cost of starting anything no longer counts.
Table largest_table(const Comparison& c, std::size_t number) {
    Table table{fmt::format("comparison-speed-{}", number),
                fmt::format("Speed of this run relative to {}, {} data, largest n that both have; above 1 this run is "
                            "faster",
                            c.run, plain_data),
                {{"candidate", false}},
                {}};
    std::vector<ComparedSpeed> rows;
    std::copy_if(c.speed.rows.begin(), c.speed.rows.end(), std::back_inserter(rows),
                 [](const ComparedSpeed& r) { return r.data == plain_data; });
    const Crossing crossing(rows, label, [](const ComparedSpeed& r) { return r.dtype; });
    for (const std::string& dtype : crossing.columns())
        table.columns.push_back({dtype});
    for (const auto& line : crossing.lines()) {
        std::vector<Cell> cells{{line.name}};
        for (const auto& cell : line.cells) {
            const ComparedSpeed* largest = nullptr;
            for (const ComparedSpeed* r : cell)
                if (!largest || r->n > largest->n) largest = r;
            cells.push_back(largest
                                ? Cell{fixed(largest->ratio, 3),
                                       fmt::format("{} / {} GB/s\nn = {}", gigabytes_per_second(largest->gb_per_s),
                                                   gigabytes_per_second(largest->other_gb_per_s), count_of(largest->n))}
                                : Cell{dash, "", Mood::absent});
        }
        table.rows.push_back(std::move(cells));
    }
    return table;
}

std::string noise(const Metric& deviation) {
    return "± " + percent(deviation);
}

Table times_table(const Comparison& c, std::size_t number) {
    Table table{fmt::format("comparison-times-{}", number),
                fmt::format("Every speed of this run and {}, GB/s", c.run),
                {{"candidate", false}, {"dtype", false}, {"data", false}, {"n"}, {this_run}, {c.run}, {"ratio"}},
                {}};
    for (const ComparedSpeed& r : c.speed.rows)
        table.rows.push_back({{label(r)},
                              {r.dtype},
                              {r.data},
                              {count_of(r.n)},
                              {gigabytes_per_second(r.gb_per_s), noise(r.deviation)},
                              {gigabytes_per_second(r.other_gb_per_s), noise(r.other_deviation)},
                              {fixed(r.ratio, 3)}});
    table.folded = true;
    return table;
}

std::string words_of(const ComparedSpeed& r) {
    return fmt::format("{} ({} {}, {}, n = {}; noise {} here, {} there)", fixed(r.ratio, 3), r.dtype, label(r), r.data,
                       count_of(r.n), noise(r.deviation), noise(r.other_deviation));
}

std::string speed_finding(const Comparison& c) {
    std::vector<double> reads, ratios;
    const ComparedSpeed *gain = nullptr, *loss = nullptr;
    for (const ComparedSpeed& r : c.speed.rows) {
        (is_read(r) ? reads : ratios).push_back(r.ratio);
        if (is_read(r)) continue;
        if (r.ratio > 1 && (!gain || r.ratio > gain->ratio)) gain = &r;
        if (r.ratio < 1 && (!loss || r.ratio < loss->ratio)) loss = &r;
    }
    std::string text = fmt::format("Speed relative to {}: ", c.run);
    if (ratios.empty()) {
        text += "no time is of the same in both. ";
    } else {
        text += fmt::format("median {} in {} pairs", fixed(median(ratios), 3), ratios.size());
        if (!reads.empty()) text += fmt::format(", of the read-only pass {}", fixed(median(reads), 3));
        text += fmt::format(". Largest gain: {}; largest loss: {}. ", gain ? words_of(*gain) : "none",
                            loss ? words_of(*loss) : "none");
    }
    return text + only_one_has(c.speed.only_here, c.speed.only_there);
}

void add_tables(Section& section, const Comparison& c, std::size_t number) {
    if (!c.bits.rows.empty()) {
        section.tables.push_back(equal_table(c, number));
        if (Table differing = results_table(c, number, true); !differing.rows.empty())
            section.tables.push_back(std::move(differing));
        section.tables.push_back(results_table(c, number, false));
    }
    if (Table largest = largest_table(c, number); !largest.rows.empty()) section.tables.push_back(std::move(largest));
    if (!c.speed.rows.empty()) section.tables.push_back(times_table(c, number));
}

} // namespace

Section comparison_section(const Results& results, const std::vector<OtherRun>& others) {
    Section section{"comparison", "Comparison", {}, {}, {}, {}, {}};
    section.text = {
        "Bits: every result that both runs have of the same data, type and candidate, on whatever device: sums of "
        "data that is the same in every run (“reference”), edge cases (as shortest decimals), and files of --data with "
        "equal elements. Colours say whether the method's guarantee promises equal bits between any two devices under "
        "one spec_version, and whether they are equal.",
        "Speed: rows of the same dtype, candidate, variant, data, n and kind of device. A ratio is GB/s of this run / "
        "GB/s of the other. Other machines, and noise, make a difference as well: the read-only pass says how much "
        "faster the memory is. Noise is the median absolute deviation of a run's own times: a machine that others use "
        "may be slow for longer than that shows."};
    const std::vector<Comparison> runs = compare(results, others);
    section.tables = {runs_table(results.provenance, runs)};
    for (std::size_t i = 0; i < runs.size(); ++i) {
        section.findings.push_back(bits_finding(runs[i]));
        section.findings.push_back(speed_finding(runs[i]));
        add_tables(section, runs[i], i + 2);
    }
    return section;
}

} // namespace detreduce::report
