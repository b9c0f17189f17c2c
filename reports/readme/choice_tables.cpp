#include "choice_tables.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cpu_tables.hpp"
#include "peers.hpp"
#include "sum_tables.hpp"
#include "summary.hpp"
#include "text.hpp"

namespace detreduce::readme {
namespace {

using namespace report;

struct Situation {
    const char *words, *call, *guarantee;
    const char* method;  ///< whose cost it is
    const char* besides; ///< what comes on top of that
};

constexpr Situation situations[] = {
    {"The right answer, always the same. Start here", "`sum(x)`", "`order`: any order, any split; correctly rounded",
     "exact", ""},
    {"The numbers are on several GPUs or processes", "`mpi::all_reduce`, `nccl::all_reduce`",
     "`order`: any number of ranks; correctly rounded", "exact", ", one all-reduce"},
    {"A fixed order is enough. Short rows cost less than by `exact`", "`sum(x, Method::tree)`",
     "`device`: the same on every CPU and GPU", "tree", ""},
    {"As above, and large terms cancel", "`sum(x, Method::compensated)`", "`device`; nearly always the nearest number",
     "compensated", ""},
    {"For comparison only", "`sum(x, Method::atomic)`", "`none`", "atomic", ""},
};

std::uint64_t largest_f32(const Results& results) {
    std::uint64_t n = 0;
    for (const CostRow& r : results.cost)
        if (r.dtype == "f32" && r.data == plain_data && r.median_s) n = std::max(n, r.n);
    return n;
}

Cell gpu_cell(const Results& results, const Situation& s) {
    const CostRow* const row = fastest_of(results, "f32", largest_f32(results), s.method);
    return row && row->ratio_to_read ? Cell{fixed(row->ratio_to_read, 3) + s.besides} : Cell{dash, "", Mood::absent};
}

Cell cpu_cell(const Results& results, const Situation& s) {
    const std::string text = cpu_cost(results, s.method);
    return text == dash ? Cell{dash, "", Mood::absent} : Cell{text + s.besides};
}

} // namespace

std::string chooser_size(const Results& gpu) {
    return bytes_of(largest_f32(gpu) * sizeof(float));
}

std::string cpu_cost(const Results& cpu, const std::string& candidate) {
    const std::uint64_t n = largest_f32(cpu);
    const CostRow* const row = one_thread(cpu, "f32", n, candidate);
    return row ? fixed(*row->median_s / static_cast<double>(n) * 1e9, 2) : dash;
}

Table chooser_table(const Results& gpu, const Results& cpu) {
    Table table{"chooser",
                "Which method",
                {{"situation", false},
                 {"call", false},
                 {"guarantee", false},
                 {"speed, GPU, one array"},
                 {"ns per element, CPU"}},
                {}};
    for (const Situation& s : situations)
        table.rows.push_back({{s.words}, {s.call}, {s.guarantee}, gpu_cell(gpu, s), cpu_cell(cpu, s)});
    return table;
}

Table edge_table(const Results& results) {
    static const std::vector<std::string> shown{"exact", "tree", cub_name};
    Table table{"edges", "Edge cases", {{"sum of", false}, {"dtype", false}, {"true sum"}}, {}};
    for (const std::string& c : shown)
        table.columns.push_back({code(c)});
    for (const EdgeRow& first : results.edges) {
        if (first.candidate != shown.front()) continue;
        std::vector<Cell> cells{{first.data}, {first.dtype}, {first.exact}};
        for (const std::string& c : shown) {
            const auto at = std::find_if(results.edges.begin(), results.edges.end(), [&](const EdgeRow& r) {
                return r.candidate == c && r.data == first.data && r.dtype == first.dtype;
            });
            cells.push_back(at == results.edges.end() ? Cell{dash, "", Mood::absent} : Cell{at->result});
        }
        table.rows.push_back(std::move(cells));
    }
    return table;
}

} // namespace detreduce::readme
