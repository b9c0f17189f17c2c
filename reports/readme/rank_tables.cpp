#include "rank_tables.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

#include <fmt/format.h>

#include "failure.hpp"
#include "sum_tables.hpp"
#include "summary.hpp"
#include "text.hpp"

namespace detreduce::readme {
namespace {

using namespace report;

struct Way {
    const char *axis, *exact, *others; ///< what adds up states, and floats
    bool on_gpus;
};
constexpr Way ways[] = {{"MPI ranks", "`mpi::all_reduce`", "`MPI_SUM` of floats", false},
                        {"NCCL ranks", "`nccl::all_reduce`", "`ncclSum` of floats", true}};

} // namespace

Table rank_table(const Results& results) {
    Table table{"ranks",
                "Ranks",
                {{"what adds up the ranks", false}, {"sum of a rank", false}, {"on", false}, {"numbers of ranks"}},
                {}};
    const Provenance& p = results.provenance;
    std::vector<DeterminismRow> rows;
    for (const DeterminismRow& r : results.determinism)
        if (r.runs && *r.runs > 0 &&
            std::any_of(std::begin(ways), std::end(ways), [&](const Way& w) { return r.axis == w.axis; }))
            rows.push_back(r);
    const std::vector<std::string> dtypes = distinct_of(rows, [](const DeterminismRow& r) { return r.subject.dtype; });
    for (const std::string& dtype : dtypes)
        table.columns.push_back({dtype});
    for (const Way& way : ways) {
        std::vector<DeterminismRow> of_way = rows;
        std::erase_if(of_way, [&](const DeterminismRow& r) { return r.axis != way.axis; });
        for (const auto& [method, of_method] :
             rows_by(of_way, [](const DeterminismRow& r) { return r.subject.method; })) {
            std::vector<Cell> cells{{method == "exact" ? way.exact : way.others},
                                    {code(method)},
                                    {way.on_gpus && p.gpu ? p.gpu->name : p.cpu},
                                    {fmt::format("{}", *of_method.front().runs)}};
            for (const std::string& dtype : dtypes) {
                const auto at = std::find_if(of_method.begin(), of_method.end(),
                                             [&](const DeterminismRow& r) { return r.subject.dtype == dtype; });
                cells.push_back(at == of_method.end() || !at->distinct ? Cell{dash, "", Mood::absent}
                                                                       : Cell{fmt::format("{}", *at->distinct)});
            }
            table.rows.push_back(std::move(cells));
        }
    }
    return table;
}

Table gpu_scaling_table(const std::string& printed, const std::string& source, const std::string& gpu) {
    static const std::regex wanted(
        R"(ranks (\d+), f32 exact sum of 2\^(\d+) each: alone ([-\d.]+) us, bare all-reduce of 74 )"
        R"(words ([-\d.]+) us, by all ([-\d.]+) us, that is ([-\d.]+) us more; all read (\d+) GB/s)");
    struct Times {
        std::string alone, message, all, more;
        double gb_per_s = 0;
    };
    std::map<int, std::map<int, Times>> by_ranks; // and by the logarithm of the elements
    std::istringstream lines(printed);
    std::smatch part;
    for (std::string line; std::getline(lines, line);)
        if (std::regex_match(line, part, wanted))
            by_ranks[std::stoi(part[1])][std::stoi(part[2])] = {part[3], part[4], part[5], part[6], std::stod(part[7])};
    if (by_ranks.empty())
        throw program::Failure(
            fmt::format("{} has no time of a sum; allowed is what detreduce_nccl_tests --time prints", source));
    Table table{"gpus",
                "Sums by several GPUs",
                {{"sum of f32", false},
                 {"GPUs"},
                 {"the sum of one, µs"},
                 {"bare all-reduce, µs"},
                 {"by all, µs"},
                 {"more than both, µs"},
                 {"GB/s"},
                 {"of one GPU's × GPUs"}},
                {}};
    for (const auto& [ranks, by_log] : by_ranks) {
        for (const auto& [log_n, t] : by_log) {
            const bool largest = log_n == by_log.rbegin()->first;
            if (!largest && log_n != by_log.begin()->first) continue;
            const auto one = by_ranks.begin()->second.find(log_n);
            const bool shares =
                largest && ranks > 1 && by_ranks.begin()->first == 1 && one != by_ranks.begin()->second.end();
            table.rows.push_back({{fmt::format("{} each, {}", count_of(std::uint64_t{1} << log_n), gpu)},
                                  {fmt::format("{}", ranks)},
                                  {t.alone},
                                  {t.message},
                                  {t.all},
                                  {t.more},
                                  {largest ? fmt::format("{:.0f}", t.gb_per_s) : ""},
                                  {shares ? fixed(t.gb_per_s / (ranks * one->second.gb_per_s), 3) : ""}});
        }
    }
    return table;
}

} // namespace detreduce::readme
