#include "performance.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "choice_tables.hpp"
#include "cpu_tables.hpp"
#include "failure.hpp"
#include "files.hpp"
#include "json.hpp"
#include "markdown_table.hpp"
#include "op_tables.hpp"
#include "origin.hpp"
#include "peers.hpp"
#include "read_csv.hpp"
#include "sum_tables.hpp"
#include "summary.hpp"
#include "text.hpp"
#include "verified.hpp"

namespace detreduce::readme {
namespace {

using namespace report;

constexpr const char *results_file = "results.json", *ladder_file = "ladder.json", *cpu_folder = "xeon-cpu",
                     *gpus_folder = "nvidia-h100-x2";

struct Folder {
    std::filesystem::path path;
    std::string link;

    [[nodiscard]] Results results(const char* file = results_file) const { return load_results(path / file); }
    [[nodiscard]] Results cpu_results() const { return load_results(path.parent_path() / cpu_folder / results_file); }
    [[nodiscard]] std::vector<CostRow> rows(const std::string& file) const { return load_cost(path / file); }

    [[nodiscard]] std::string link_to(const std::string& file) const {
        return fmt::format("[{}]({}/{})", file, link, file);
    }
    [[nodiscard]] std::string origin(const std::string& file) const {
        const std::string source = (path / "provenance.txt").string();
        return words_of(origin_of(file, read_file(source), source));
    }
    [[nodiscard]] std::string from(const std::string& file) const {
        return fmt::format("From {}: {}.\n\n", link_to(file), origin(file));
    }
    /// Of the CPU beside this folder, whose results say themselves where they come from.
    [[nodiscard]] std::string cpu_origin(const Provenance& p) const {
        return fmt::format("{}: {}, {}, commit {}, {}", cpu_link(), p.cpu, p.isa, p.commit.substr(0, 9),
                           p.created.substr(0, 10));
    }
    [[nodiscard]] std::string cpu_link() const {
        const std::string beside = (std::filesystem::path(link).parent_path() / cpu_folder).generic_string();
        return fmt::format("[{}/{}]({}/{})", cpu_folder, results_file, beside, results_file);
    }
    /// Another folder of results, beside this.
    [[nodiscard]] Folder beside(const char* name) const {
        return {path.parent_path() / name, (std::filesystem::path(link).parent_path() / name).generic_string()};
    }
    [[nodiscard]] std::string origin_commit(const std::string& file) const {
        const std::string source = (path / "provenance.txt").string();
        return origin_of(file, read_file(source), source).commit;
    }
};

std::string about_choices(const std::vector<Choice>& list, const std::string& which) {
    std::uint64_t most = 0; // bytes of the largest size, which is whose speed the table has
    for (const Choice& c : list)
        if (c.cost) most = std::max(most, c.cost->bytes);
    return fmt::format(
        "What each method gives and costs{}. Errors are in ulp of the result{}: one ulp is the distance between "
        "neighbouring numbers of its format, and the nearest number is at most 0.5 ulp away. The condition number "
        "Σ|x| / |Σx| is 1 where all numbers have one sign, and large where they cancel. Bit patterns: results with "
        "different bits that were seen along what the method's guarantee covers. Speed is that on {}; “× read” is "
        "relative to a kernel that only reads the same bytes.\n",
        which, which.empty() ? " (16-bit elements: of a result in f32)" : "", bytes_of(most));
}

std::string choices(const Folder& folder) {
    const Results results = folder.results();
    const std::vector<Choice> list = choices_of(results);
    return about_choices(list, "") + folder.from(results_file) +
           markdown(summary_table(list, results.provenance.device != "cpu"));
}

std::string choices_of_f32(const Folder& folder) {
    const Results results = folder.results();
    std::vector<Choice> list = choices_of(results);
    std::erase_if(list, [](const Choice& c) { return c.dtype != "f32"; });
    return about_choices(list, ", sums of f32") + folder.from(results_file) +
           markdown(summary_table(list, results.provenance.device != "cpu"));
}

std::string chooser(const Folder& folder) {
    const Results gpu = folder.results(), cpu = folder.cpu_results();
    return markdown(chooser_table(gpu, cpu)) +
           fmt::format(
               "\nSums of f32. GPU: speed on {}, relative to a kernel that only reads the same bytes ({}: {}). CPU, "
               "one thread: ns per element (`std::accumulate`: {}, `std::reduce`: {}; {}).\n",
               chooser_size(gpu), folder.link_to(results_file), folder.origin(results_file),
               cpu_cost(cpu, accumulate_name), cpu_cost(cpu, reduce_name), folder.cpu_origin(cpu.provenance));
}

std::string ladder(const Folder& folder) {
    return "The kernels by which reductions are taught (`kernels/ladder/`), f32, beside libraries and these methods: "
           "bandwidth, bit patterns in 1000 runs, and error of the last of them.\n" +
           folder.from(ladder_file) + markdown(ladder_summary_table(folder.results(ladder_file)));
}

// Of a dtype and an op, which data was the worst that a search found. A run that has not searched
// has no such file.
std::string adversaries(const Folder& folder) {
    const char* const file = adversaries_file;
    if (!std::filesystem::exists(folder.path / file)) return "";
    Table table;
    table.columns = {{"of 4 GiB", false}, {"data", false}, {"parameters", false}, {"speed"}};
    for (const CostRow& r : folder.rows(file)) {
        if (r.candidate == "read") continue;
        table.rows.push_back({{(r.candidate == "exact" ? "sum, " : "dot, ") + r.dtype},
                              {code(r.data)},
                              {r.variant},
                              {fixed(r.ratio_to_read, 3)}});
    }
    return "\nThe worst data for `exact` that a search found (`detreduce_gpu_bench --adversaries`), and its speed "
           "relative "
           "to reading.\n" +
           folder.from(file) + markdown(table);
}

std::string sums(const Folder& folder) {
    return "Sums of normal data: medians in µs of one run; the last columns are the speed relative to a kernel that "
           "only reads the same bytes.\n" +
           folder.from(sums_file) + markdown(sizes_table(folder.rows(sums_file)));
}

std::string data(const Folder& folder) {
    return "The time of `exact` depends on what the numbers are (its bits depend on nothing else).\n" +
           folder.from(sums_file) + markdown(data_table(folder.rows(sums_file))) + adversaries(folder);
}

std::string ops(const Folder& folder) {
    return "Ops over the same bytes: those of two inputs read half as x and half as y. Those that compare or count are "
           "the same by every method.\n" +
           folder.from(ops_file) + markdown(ops_table(folder.rows(ops_file), code));
}

std::string small_ops(const Folder& folder) {
    return "Ops on little data, where starting and finishing count: their time as a multiple of that of CUB's "
           "nearest algorithm, without what follows it (a root, a division); below 1 is faster.\n" +
           folder.from(small_ops_file) + markdown(ops_and_cub_table(folder.rows(small_ops_file), code));
}

std::string shapes(const Folder& folder) {
    return "Groups of the same elements. Many small tensors are fewer bytes, so that their time is given.\n" +
           folder.from(shapes_file) + markdown(shapes_table(folder.rows(shapes_file), code));
}

std::string row_ops(const Folder& folder) {
    return "Row ops by `tree`, and means of losses, of which one half of the bytes is the target. Those that write as "
           "much as they read are beside a copy of the same bytes (c).\n" +
           folder.from(row_ops_file) + markdown(row_ops_table(folder.rows(row_ops_file), code));
}

std::string edges(const Folder& folder) {
    return folder.from(results_file) + markdown(edge_table(folder.results()));
}

// That the machine was busy, which these figures suffer from; what was not timed is in no table.
std::string load_of(const Provenance& p) {
    for (const std::string& note : p.notes)
        if (note.starts_with("The machine was busy")) return "\n" + note + "\n";
    return "";
}

std::string cpu_sums(const Folder& folder) {
    const Results results = folder.cpu_results();
    return fmt::format("Sums on a CPU, normal data of the largest size, ns an element by one thread, the best "
                       "instruction set.\nFrom {}.\n\n",
                       folder.cpu_origin(results.provenance)) +
           markdown(cpu_sums_table(results)) + load_of(results.provenance);
}

std::string cpu_ops(const Folder& folder) {
    const Results results = folder.cpu_results();
    return fmt::format("Ops on a CPU, f32, ns an element by one thread, beside the nearest of the C++ standard "
                       "library.\nFrom {}.\n\n",
                       folder.cpu_origin(results.provenance)) +
           markdown(cpu_ops_table(results));
}

// Nothing is claimed of a machine that is not named here.
std::string verified(const Folder& folder) {
    const Results gpu = folder.results(), cpu = folder.cpu_results();
    Table table;
    std::string sources, notes;
    for (const Folder& f : {folder.beside(gpus_folder), folder}) {
        const std::string summary = read_file(f.path / "summary.txt");
        const Table runs = runs_table(read_file(f.path / "provenance.txt"), summary, f.origin_commit("summary.txt"));
        if (table.columns.empty()) {
            table = runs;
        } else {
            table.rows.insert(table.rows.end(), runs.rows.begin(), runs.rows.end());
        }
        sources += fmt::format("{}, {}, ", f.link_to("provenance.txt"), f.link_to("summary.txt"));
        notes += notes_of(summary);
    }
    add_report(table, gpu);
    add_report(table, cpu);
    return fmt::format("From {}{} and {}.\n\n", sources, folder.link_to(results_file), folder.cpu_link()) +
           markdown(table) + notes;
}

const std::map<std::string, std::string (*)(const Folder&)> tables{

    {"chooser", chooser}, {"choices", choices},   {"choices-f32", choices_of_f32},
    {"cpu-ops", cpu_ops}, {"cpu-sums", cpu_sums}, {"data", data},
    {"edges", edges},     {"ladder", ladder},     {"ops", ops},
    {"row-ops", row_ops}, {"shapes", shapes},     {"small-ops", small_ops},
    {"sums", sums},       {"verified", verified},
};

} // namespace

std::vector<std::string> table_names() {
    std::vector<std::string> names;
    for (const auto& [name, write] : tables)
        names.push_back(name);
    return names;
}

std::string table(const std::string& name, const std::filesystem::path& folder, const std::string& link) {
    const auto at = tables.find(name);
    if (at == tables.end())
        throw program::Failure(
            fmt::format("there is no table '{}'; allowed are {}", name, fmt::join(table_names(), ", ")));
    return at->second(Folder{folder, link});
}

} // namespace detreduce::readme
