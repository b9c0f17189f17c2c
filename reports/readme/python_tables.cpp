#include "python_tables.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "failure.hpp"
#include "text.hpp"

namespace detreduce::readme {
namespace {

using namespace report;

constexpr const char *ours = "detreduce", *torch = "torch", *numpy = "numpy", *c_call = "C";

std::optional<double> time_of(const PythonCase& c, const char* library) {
    const auto at = c.by_library.find(library);
    return at == c.by_library.end() ? std::nullopt : at->second.microseconds;
}

Cell cell(const std::optional<double>& value, int decimals) {
    return value ? Cell{fixed(value, decimals)} : Cell{dash, "", Mood::absent};
}

std::optional<double> ratio(const std::optional<double>& a, const std::optional<double>& b) {
    return a && b ? std::optional(*a / *b) : std::nullopt;
}

std::vector<PythonCase> of_part(const PythonRun& run, const std::string& part) {
    std::vector<PythonCase> list;
    for (const PythonCase& c : run.cases)
        if (c.part == part) list.push_back(c);
    return list;
}

// "a/b a/c" has one kind of first and two of second things: "1 / 2".
std::string kinds_of(const std::string& bits) {
    std::vector<std::set<std::string>> kinds;
    std::istringstream runs(bits);
    for (std::string run; runs >> run;) {
        std::istringstream things(run);
        std::size_t i = 0;
        for (std::string thing; std::getline(things, thing, '/'); ++i) {
            if (i == kinds.size()) kinds.emplace_back();
            kinds[i].insert(thing);
        }
    }
    std::vector<std::size_t> counts;
    for (const auto& k : kinds)
        counts.push_back(k.size());
    return fmt::format("{}", fmt::join(counts, " / "));
}

Cell kinds_cell(const PythonCase& c, const char* library) {
    const auto at = c.by_library.find(library);
    if (at == c.by_library.end() || at->second.bits.empty()) return {dash, "", Mood::absent};
    return {kinds_of(at->second.bits)};
}

} // namespace

PythonRun python_run(const std::string& text, const std::string& source) {
    try {
        const nlohmann::json json = nlohmann::json::parse(text);
        const nlohmann::json& p = json.at("provenance");
        PythonRun run;
        run.gpu = p.value("gpu", "");
        run.cpu = p.at("cpu");
        run.origin =
            fmt::format("Python {}, torch {}, NumPy {}, commit {}, {}", p.at("python").get<std::string>(),
                        p.value("torch", "none"), p.at("numpy").get<std::string>(),
                        p.at("commit").get<std::string>().substr(0, 9), p.at("date").get<std::string>().substr(0, 10));
        for (const nlohmann::json& row : json.at("rows")) {
            const auto library = row.value("library", "");
            if (library.empty()) continue; // of a whole part, or what was left out
            PythonCase c{row.at("part"),
                         row.at("case"),
                         row.value("dtype", ""),
                         row.value("device", ""),
                         row.value("elements", std::uint64_t{0}),
                         row.value("threads", std::uint64_t{0}),
                         {}};
            const auto same = std::find_if(run.cases.begin(), run.cases.end(), [&](const PythonCase& o) {
                return o.part == c.part && o.name == c.name && o.dtype == c.dtype && o.device == c.device &&
                       o.elements == c.elements && o.threads == c.threads;
            });
            PythonCase& to = same != run.cases.end() ? *same : run.cases.emplace_back(std::move(c));
            PythonFigure& figure = to.by_library[library];
            if (row.contains("microseconds")) figure.microseconds = row.at("microseconds").get<double>();
            figure.bits = row.value("bits", "");
        }
        return run;
    } catch (const nlohmann::json::exception& error) {
        throw program::Failure(fmt::format("{}: {}; reports/python writes it", source, error.what()));
    }
}

Table python_calls_table(const PythonRun& run) {
    Table table{"python-calls",
                "Calls of Python",
                {{"a call, µs", false}, {"on", false}, {"beside", false}, {"theirs"}, {"detreduce"}, {"more"}},
                {}};
    for (const PythonCase& c : of_part(run, "overhead")) {
        const auto mine = time_of(c, ours);
        for (const char* const library : {c_call, numpy, torch}) {
            const auto theirs = time_of(c, library);
            if (!mine || !theirs) continue;
            const std::string named = library == c_call ? "the call of C++" : library;
            table.rows.push_back({{c.name},
                                  {c.device},
                                  {named},
                                  cell(theirs, 2),
                                  cell(mine, 2),
                                  {fmt::format("{:+.1f}", *mine - *theirs)}});
        }
    }
    return table;
}

Table python_graphs_table(const PythonRun& run) {
    Table table{"python-graphs",
                "Sums in a graph",
                {{"sum, µs in a CUDA graph", false}, {"elements", false}, {"torch"}, {"detreduce"}, {"of torch"}},
                {}};
    for (const PythonCase& c : of_part(run, "graphs")) {
        const auto mine = time_of(c, ours), theirs = time_of(c, torch);
        table.rows.push_back(
            {{c.dtype}, {count_of(c.elements)}, cell(theirs, 2), cell(mine, 2), cell(ratio(mine, theirs), 2)});
    }
    return table;
}

Table python_steps_table(const PythonRun& run) {
    Table table{
        "python-steps",
        "Steps of training",
        {{"", false}, {"torch, ms"}, {"`reproducible()`, ms"}, {"of torch"}, {"bits, torch"}, {"bits, detreduce"}},
        {}};
    const auto milliseconds = [](const std::optional<double>& us) { return us ? std::optional(*us / 1000) : us; };
    for (const char* const part : {"step", "splits"}) {
        for (const PythonCase& c : of_part(run, part)) {
            const auto mine = time_of(c, ours), theirs = time_of(c, torch);
            table.rows.push_back({{c.name},
                                  cell(milliseconds(theirs), 1),
                                  cell(milliseconds(mine), 1),
                                  cell(ratio(mine, theirs), 3),
                                  kinds_cell(c, torch),
                                  kinds_cell(c, ours)});
        }
    }
    return table;
}

Table python_cpu_table(const PythonRun& run) {
    Table table{"python-cpu",
                "Python on a CPU",
                {{"µs, f32", false}, {"threads"}, {"numpy"}, {"torch"}, {"detreduce"}, {"of torch"}},
                {}};
    for (const PythonCase& c : of_part(run, "cpu")) {
        const auto mine = time_of(c, ours), theirs = time_of(c, torch);
        table.rows.push_back({{c.name},
                              {std::to_string(c.threads)},
                              cell(time_of(c, numpy), 0),
                              cell(theirs, 0),
                              cell(mine, 0),
                              cell(ratio(mine, theirs), 2)});
    }
    return table;
}

Table peers_table(const PythonRun& run, const std::string& part, const std::vector<std::string>& mine,
                  const std::vector<std::string>& theirs) {
    const std::vector<PythonCase> cases = of_part(run, part);
    if (cases.empty()) throw program::Failure(fmt::format("peers.json has nothing of '{}'", part));
    Table table{"peers", "Beside others", {{"their time / ours", false}}, {}};
    struct Key {
        std::string dtype, mine, theirs;
    };
    std::vector<Key> keys;
    std::vector<std::string> names;
    std::map<std::pair<std::string, std::string>, const PythonCase*> by_name_and_dtype;
    for (const PythonCase& c : cases) {
        by_name_and_dtype[{c.name, c.dtype}] = &c;
        if (std::find(names.begin(), names.end(), c.name) == names.end()) names.push_back(c.name);
    }
    for (const std::string& m : mine)
        for (const std::string& t : theirs)
            for (const PythonCase& c : cases)
                if (std::none_of(keys.begin(), keys.end(),
                                 [&](const Key& k) { return k.dtype == c.dtype && k.mine == m && k.theirs == t; }))
                    keys.push_back({c.dtype, m, t});
    for (const Key& k : keys)
        table.columns.push_back({k.dtype + " " + (mine.size() > 1 ? "`" + k.mine + "`" : k.theirs)});
    for (const std::string& name : names) {
        const std::size_t op = name.find_first_of(", ");
        auto& row = table.rows.emplace_back(std::vector<Cell>{{"`" + name.substr(0, op) + "`" + name.substr(op)}});
        for (const Key& k : keys) {
            const auto at = by_name_and_dtype.find({name, k.dtype});
            row.push_back(
                at == by_name_and_dtype.end()
                    ? cell(std::nullopt, 2)
                    : cell(ratio(time_of(*at->second, k.theirs.c_str()), time_of(*at->second, k.mine.c_str())), 2));
        }
    }
    return table;
}

Table python_shapes_table(const PythonRun& run) {
    const std::vector<std::string> libraries{"exact", "tree", torch, numpy, "xsum"};
    Table table{"python-shapes", "Shapes on a CPU", {{"ns an element", false}, {"dtype", false}}, {}};
    for (const std::string& library : libraries)
        table.columns.push_back({library == "exact" || library == "tree" ? "`" + library + "`" : library});
    for (const char* const heading : {"`exact` / torch", "`tree` / torch"})
        table.columns.push_back({heading});
    for (const PythonCase& c : of_part(run, "shapes")) {
        const auto each = [&](const std::optional<double>& us) {
            return us ? std::optional(*us * 1000 / static_cast<double>(c.elements)) : us;
        };
        auto& row = table.rows.emplace_back(std::vector<Cell>{{c.name}, {c.dtype}});
        for (const std::string& library : libraries)
            row.push_back(cell(each(time_of(c, library.c_str())), 2));
        for (const char* const method : {"exact", "tree"})
            row.push_back(cell(ratio(time_of(c, method), time_of(c, torch)), 2));
    }
    return table;
}

} // namespace detreduce::readme
